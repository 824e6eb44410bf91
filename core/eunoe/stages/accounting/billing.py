"""What a report of usage charges: of one call, or the sum over the calls of a tool loop.

The size of a context and the bill of a turn are two readings of one report. The context is the
prompt of the last call; what is charged is the sum. Source: Open WebUI merges the reports of a tool
loop: ``input_tokens`` and the details are sums, ``prompt_tokens`` and ``completion_tokens`` are of
the last call.
"""

from __future__ import annotations

from collections.abc import Mapping

from eunoe.stages.accounting.price import ReportedUse, TokenUse

_DETAIL_HOLDERS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")


def billed_use(usage: object, read: ReportedUse | None) -> TokenUse | None:
    """The tokens that are charged.

    Args:
        usage: the report as it came.
        read: the same, read as one call (``stages.counting.read_usage``).

    Returns:
        The sums, if the report is a merged one; else what was read; None if nothing was.
    """
    merged = _merged_use(usage)
    if merged is not None or read is None:
        return merged
    return TokenUse.of(read.prompt, read.cached, read.written, read.completion)


def _merged_use(usage: object) -> TokenUse | None:
    """A report in which ``input_tokens`` is a sum beside the last call's ``prompt_tokens``."""
    if not isinstance(usage, Mapping):
        return None
    last, whole = _count_in(usage, "prompt_tokens"), _count_in(usage, "input_tokens")
    if last is None or whole is None or whole <= last:
        return None
    if _count_in(usage, "cache_read_input_tokens") or _count_in(
        usage, "cache_creation_input_tokens"
    ):
        return None
    cached = _detail_count(usage, "cached_tokens", "cache_read")
    cached = max(cached, _count_in(usage, "cache_n") or 0)  # llama.cpp: of the last call alone
    written = _detail_count(usage, "cache_write_tokens", "cache_creation")
    answer = max(_count_in(usage, "output_tokens") or 0, _count_in(usage, "completion_tokens") or 0)
    return TokenUse.of(whole, cached, written, answer)


def context_tokens(usage: object, read: ReportedUse | None) -> int | None:
    """Size of the context at the last call, in tokens; None if the report does not say.

    In a merged report the details are sums and may exceed the last prompt; they play no part.
    """
    if _merged_use(usage) is not None and isinstance(usage, Mapping):
        return _count_in(usage, "prompt_tokens")
    return None if read is None else read.prompt


def _count_in(usage: Mapping[object, object], name: str) -> int | None:
    value = usage.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def _detail_count(usage: Mapping[object, object], *names: str) -> int:
    for holder in _DETAIL_HOLDERS:
        details = usage.get(holder)
        if isinstance(details, Mapping):
            for name in names:
                if (count := _count_in(details, name)) is not None:
                    return count
    return 0
