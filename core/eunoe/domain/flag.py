"""The flags that a user writes at the start of a message, as a value."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the flags of one message ask for. ``None``: not said.

    Attributes:
        full: send everything, this turn (never above the operator's cap).
        target: aim for this many tokens.
        context: keep only the newest so many turns.
        nosum: no summaries.
        pin: this message is never cut.
        drop: this message is left out.
        recent: keep the newest so many messages, whatever their weight.
        keep_tag: keep every message that carries this tag.
        tag: the tag of this message.
        weight: base weight of this message.
        tool_penalty: factor on tool messages, for this turn.
        pair_coherence: how much an answer inherits of its question's weight, for this turn.
        recall: True recalls whatever the gate says, False never; None leaves it to the gate.
        policy: name of the policy for this turn.
        why: explain this turn.
    """

    full: bool | None = None
    target: int | None = None
    context: int | None = None
    nosum: bool | None = None
    pin: bool | None = None
    drop: bool | None = None
    recent: int | None = None
    keep_tag: str | None = None
    tag: str | None = None
    weight: float | None = None
    tool_penalty: float | None = None
    pair_coherence: float | None = None
    recall: bool | None = None
    policy: str | None = None
    why: bool | None = None

    def over(self, standing: Flags) -> Flags:
        """These flags where they say something, else the standing ones."""
        said = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(standing, **said)


NO_FLAGS = Flags()
FLAG_NAMES = (*(f.name for f in fields(Flags)), "norecall")
"""As users write them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagReading:
    """What one message said in flags.

    Attributes:
        flags: for the turn that the message opens.
        standing: what stays in force, written with ``+``.
        switched_off: names switched off with ``-``.
        rest: the text without the flags.
        problems: one sentence for each known flag with a bad value (the text is then left alone).
    """

    flags: Flags = NO_FLAGS
    standing: Flags = NO_FLAGS
    switched_off: tuple[str, ...] = ()
    rest: str = ""
    problems: tuple[str, ...] = ()
