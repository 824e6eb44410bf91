"""Counters of tokens in every form that LangChain's users have them, as one: messages to an int.

Source: langchain_core.messages.utils.trim_messages, argument ``token_counter``.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args, get_origin

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage

from eunoe import EunoeError
from eunoe.domain.nesting import json_text
from eunoe.domain.ports import TokenCounter
from eunoe.stages.counting.estimate import FAMILY_FACTORS
from eunoe.stages.counting.message_cost import REPLY_PRIMING, count_messages_batch
from eunoe.stages.counting.tokenizer import find_tokenizer
from eunoe.wire.openai import read_message
from eunoe_langchain.approximate import ApproximateCounter, approximate_tokens
from eunoe_langchain.reading import plan_dicts

ListCounter = Callable[[Sequence[BaseMessage]], int]
COUNTER_NAMES = ("approximate", "exact", *sorted(FAMILY_FACTORS))


class CounterError(EunoeError, ValueError):
    """A token counter was given that is none, or that answered with no whole number."""


def as_list_counter(counter: Any) -> ListCounter:
    """A counter of lists, from whatever ``trim_messages`` takes.

    Args:
        counter: one of ``COUNTER_NAMES``; a language model (its ``get_num_tokens_from_messages``);
            a function of a list of messages; or a function of one message, told apart by the type
            of its first parameter, resolved even where annotations are strings.

    Returns:
        A function of a sequence of messages; it raises what the counter raises. (A plan catches
        that, and counts approximately.)

    Raises:
        CounterError: the counter is none of these.
    """
    check_counter(counter)
    if counter == "approximate":
        return approximate_tokens
    if isinstance(counter, str):
        tokenizer = find_tokenizer("o200k" if counter == "exact" else counter)
        return lambda messages: _count_exactly(messages, tokenizer)
    if isinstance(counter, BaseLanguageModel):
        model = counter
        return lambda messages: _whole(model.get_num_tokens_from_messages(list(messages)))
    if _takes_one_message(counter):
        return lambda messages: sum(_whole(counter(message)) for message in messages)
    return lambda messages: _whole(counter(list(messages)))


def check_counter(counter: Any) -> None:
    """Refuse what is no counter.

    Raises:
        CounterError: it is no known name, no model and not callable.
    """
    known = counter in COUNTER_NAMES if isinstance(counter, str) else callable(counter)
    if not known and not isinstance(counter, BaseLanguageModel):
        names = ", ".join(map(repr, COUNTER_NAMES))
        raise CounterError(f"token_counter is {counter!r}; allowed: {names}, a model, a callable")


def named_counter(name: str) -> TokenCounter | None:
    """The counter behind a name; None leaves the choice of a tokenizer to the model's id."""
    if name == "approximate":
        return ApproximateCounter()
    return None if name == "exact" else find_tokenizer(name)


def sum_of_messages(messages: Sequence[BaseMessage], counter: TokenCounter) -> int:
    """Tokens of messages, the framing of each included, that of a list not."""
    read = [read_message(raw) for raw in plan_dicts(messages)]
    return sum(count_messages_batch(read, counter))


def schema_text(tool: object) -> str:
    """A tool's schema as it is sent, for counting."""
    return json_text(tool, ensure_ascii=False, separators=(",", ":"))


def _count_exactly(messages: Sequence[BaseMessage], tokenizer: TokenCounter) -> int:
    if not messages:
        return 0
    return sum_of_messages(messages, tokenizer) + REPLY_PRIMING


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CounterError(f"token_counter answered {value!r}; allowed: a whole number, 0 or above")
    return value


def _takes_one_message(counter: Callable[..., Any]) -> bool:
    """Whether a function wants one message: by its annotation, else by its parameter's name."""
    try:
        first = next(iter(inspect.signature(counter).parameters.values()), None)
    except (TypeError, ValueError):  # a built-in function without a signature
        return False
    if first is None:
        raise CounterError(f"token_counter {counter!r} takes no argument")
    hint = _hint_of(counter, first)
    if hint is inspect.Parameter.empty:
        return first.name in ("m", "msg", "message")
    if isinstance(hint, str):  # a name that only a type checker knows
        return hint.split("[")[0].rsplit(".", 1)[-1].endswith("Message")
    if get_origin(hint) in (list, tuple, Iterable, Sequence):
        return False
    types = get_args(hint) or (hint,)
    return all(isinstance(t, type) and issubclass(t, BaseMessage) for t in types)


def _hint_of(counter: Callable[..., Any], first: inspect.Parameter) -> Any:
    """The type of the first parameter, resolved where its module postpones annotations."""
    target = counter if inspect.isroutine(counter) else type(counter).__call__
    try:
        return typing.get_type_hints(target).get(first.name, first.annotation)
    except (NameError, TypeError, AttributeError):
        return first.annotation
