"""The errors of the house, by what the caller can do about them.

EunoeError
├── BudgetError      (ValueError)   what may not be cut is larger than the budget
├── SettingsError    (ValueError)   a setting is out of range or unknown
├── ConversationError (ValueError)  the input is not a list of messages
├── ChatFileError    (ValueError)   a chat file cannot be read; says file and place
├── BackendError     (RuntimeError) a service outside the process failed
├── TimeIsOverError  (TimeoutError) a step was given up; the pipeline answers without it
└── CounterFaultError (RuntimeError) a token counter failed; the pipeline counts by its own

try:
    result = orchestrator.process_sync(conversation)
except BudgetError as error:
    print(f"{error.needed - error.allowed} tokens too many")
"""

from __future__ import annotations

from eunoe.domain.cost import money_text
from eunoe.domain.nesting import written_text

_MOST_SHOWN = 200


class EunoeError(Exception):
    """Base of every error that the library raises on purpose."""


class BudgetError(EunoeError, ValueError):
    """What may not be cut (system messages, the current turn, tools) exceeds the budget.

    Attributes:
        needed: tokens that this part takes, results of a running turn at their shortest; a
            budget of so many tokens is enough.
        allowed: tokens that the budget allows.
        reserve: tokens of these that are left for the answer.
        most_usd: dollars that the input may cost, where that is what allows no more; else 0.
    """

    def __init__(self, needed: int, allowed: int, reserve: int = 0, most_usd: float = 0.0) -> None:
        answer = f", with {reserve} left for the answer" if reserve else ""
        money = f": more may cost over {money_text(most_usd)}" if most_usd else ""
        super().__init__(
            f"system messages, tools and the current turn take {needed} tokens{answer}, "
            f"{allowed} allowed{money}"
        )
        self.needed, self.allowed, self.reserve = needed, allowed, reserve
        self.most_usd = most_usd

    def __reduce__(self) -> tuple[type[BudgetError], tuple[int, int, int, float]]:
        """Pickle by the numbers, not by the sentence."""
        return type(self), (self.needed, self.allowed, self.reserve, self.most_usd)


class SettingsError(EunoeError, ValueError):
    """A setting has a value that is not allowed.

    Attributes:
        name: the setting.
        value: what was given.
        allowed: what would be right, in words.
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} is {_shown(value)}; allowed: {allowed}")
        self.name, self.value, self.allowed = name, value, allowed

    def __reduce__(self) -> tuple[type[SettingsError], tuple[str, object, str]]:
        """Pickle by the three parts, not by the sentence."""
        return type(self), (self.name, self.value, self.allowed)


def _shown(value: object) -> str:
    """The value as Python writes it; of a long one the beginning."""
    text = written_text(value, repr)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({type(value).__name__})"


class ConversationError(EunoeError, ValueError):
    """The input is not a list of chat messages."""


class ChatFileError(EunoeError, ValueError):
    """A chat file cannot be read.

    Attributes:
        path: the file.
        place: where in it, such as ``line 12`` or ``messages[3]``; may be empty.
    """

    def __init__(self, path: str, place: str, problem: str) -> None:
        super().__init__(f"{path}{': ' + place if place else ''}: {problem}")
        self.path, self.place, self.problem = path, place, problem

    def __reduce__(self) -> tuple[type[ChatFileError], tuple[str, str, str]]:
        """Pickle by the three parts, not by the sentence."""
        return type(self), (self.path, self.place, self.problem)


class BackendError(EunoeError, RuntimeError):
    """A service outside the process (Redis, an endpoint) failed or did not answer in time."""


class TimeIsOverError(EunoeError, TimeoutError):
    """A step was given up because the request's time is over; never reaches the caller."""


class CounterFaultError(EunoeError, RuntimeError):
    """A caller's token counter failed; our own counts instead; never reaches the caller."""
