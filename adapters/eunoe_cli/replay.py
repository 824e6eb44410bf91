"""Replay a chat request by request under a policy, and keep the accounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from eunoe import BudgetError
from eunoe_cli.contenders import Contender, Contest, RawMessages
from eunoe_cli.ruler import same_at_start


@dataclass(slots=True, kw_only=True)
class Tally:
    """The accounts of one policy.

    Attributes:
        requests: model calls.
        sent: tokens sent, tools and framing included.
        repeated: of these, tokens of whole messages that repeat the request before from its start.
        over: requests over the budget.
        refused: requests that the provider's rules forbid.
        incomplete: requests without any question, or without a system message of the chat.
        failed: requests for which the policy gave no list.
        seconds: CPU time of the choices.
        fault: what the last failure was.
    """

    requests: int = 0
    sent: int = 0
    repeated: int = 0
    over: int = 0
    refused: int = 0
    incomplete: int = 0
    failed: int = 0
    seconds: float = 0.0
    fault: str = ""

    def cost(self, cached_price: float) -> float:
        """Price of the input, in full-price tokens.

        Args:
            cached_price: price of a repeated token, as a share of a new one, in [0, 1].
        """
        return self.sent - self.repeated + cached_price * self.repeated

    def add(self, other: Tally) -> None:
        """Take another chat into the account."""
        for field in fields(self):
            ours, theirs = getattr(self, field.name), getattr(other, field.name)
            setattr(self, field.name, theirs or ours if field.name == "fault" else ours + theirs)

    def to_dict(self, untouched_cost: float, cached_price: float) -> dict[str, Any]:
        """Plain values for machines, with the shares worked out."""
        plain = asdict(self)
        seconds = plain.pop("seconds")
        return {
            **plain,
            "repeated_share": round(self.repeated / max(1, self.sent), 4),
            "cost": round(self.cost(cached_price) / max(1.0, untouched_cost), 4),
            "cpu_ms": round(1000 * seconds / max(1, self.requests), 3),
        }


def request_points(messages: RawMessages) -> list[int]:
    """Where the model was called: before each answer, and at the end if a question is open.

    Returns:
        Numbers of messages that are there at each call, ascending; calls before the first user
        message are left out.
    """
    first = next((i for i, m in enumerate(messages) if m["role"] == "user"), len(messages))
    points = [i for i, m in enumerate(messages) if m["role"] == "assistant" and i > first]
    if messages and messages[-1]["role"] != "assistant":
        points.append(len(messages))
    return points


def replay_chat(
    contender: Contender,
    contest: Contest,
    points: Sequence[int],
    on_request: Callable[[int], None],
) -> Tally:
    """Call a policy once for each request of a chat.

    Args:
        contender: the policy.
        contest: chat, budget, measure.
        points: as ``request_points`` gives them.
        on_request: told the number of requests that are done.
    """
    tally, ruler, before = Tally(), contest.ruler, ()
    view: RawMessages
    previous: RawMessages = before
    try:
        choose = contender.start(contest)
    except (ValueError, NotImplementedError, TypeError) as error:  # another library's reading
        tally.failed, tally.fault = len(points), f"cannot read this chat ({error})"
        return tally
    for done, k in enumerate(points, 1):
        start = time.process_time()
        try:
            view = choose(k)
        except (BudgetError, ValueError, TypeError) as error:
            tally.failed += 1
            tally.fault = str(error)
            continue
        tally.seconds += time.process_time() - start
        size = ruler.total(view)
        tally.requests += 1
        tally.sent += size
        if tally.requests > 1:
            tally.repeated += ruler.tokens_at_start(view, same_at_start(previous, view))
        tally.over += size > contest.budget
        tally.refused += ruler.is_refused(view)
        tally.incomplete += ruler.is_incomplete(view, contest.messages[:k])
        previous = view
        on_request(done)
    return tally
