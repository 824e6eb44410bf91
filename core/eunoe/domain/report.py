"""What was sent and why: a decision for every message of the input, and the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, overload

from eunoe.domain.certificate import (
    UNSCORED,
    Certificate,
    DeferredCertificate,
    NoCertificate,
    Proof,
)
from eunoe.domain.cost import NO_COST, CostAccount, RequestCost


class Fate(StrEnum):
    """What became of one message.

    KEPT: word for word, in place. RECALLED: word for word, in the quoted block. GIST: an excerpt.
    SUMMARISED: stands in a summary, of the chat's beginning or its own. STUB: the call is there and
    the result is elided, or one line names it. DROPPED: the model does not see it.
    """

    KEPT = "kept"
    RECALLED = "recalled"
    GIST = "gist"
    SUMMARISED = "summarised"
    STUB = "stub"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The fate of one input message.

    Attributes:
        index: its place in the list that was given.
        fate: what became of it.
        score: how much it matters to the question, in [0, 1]; 0 where nothing was scored.
        tokens: its size, framing included.
        reason: one clause for people.
    """

    index: int
    fate: Fate
    score: float
    tokens: int
    reason: str


USUAL_REASONS = {
    Fate.KEPT: "in the window",
    Fate.RECALLED: "the question needs it",
    Fate.GIST: "shortened to what matters",
    Fate.SUMMARISED: "stands in the summary",
    Fate.STUB: "its result was elided",
    Fate.DROPPED: "before the window, and the question does not need it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionColumns:
    """What became of the messages, by column; each has one entry a message, as ``Decision`` has."""

    fates: list[Fate]
    scores: list[float]
    tokens: list[int]
    reasons: list[str]


class DecisionList(Sequence[Decision]):
    """One decision for each input message, made when it is looked at: a long chat costs nothing."""

    __slots__ = ("_fates", "_reasons", "_scores", "_tokens", "_usual")

    def __init__(
        self,
        tokens: Sequence[int],
        fates: Mapping[int, Fate],
        scores: Sequence[float] = (),
        reasons: Mapping[int, str] | None = None,
        left_out: str = "",
    ) -> None:
        self._tokens, self._fates, self._scores = tokens, fates, scores
        self._reasons: Mapping[int, str] = reasons or {}
        self._usual = {**USUAL_REASONS, Fate.DROPPED: left_out} if left_out else USUAL_REASONS

    def __len__(self) -> int:
        return len(self._tokens)

    @overload
    def __getitem__(self, index: int) -> Decision: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Decision, ...]: ...
    def __getitem__(self, index: int | slice) -> Decision | tuple[Decision, ...]:
        if isinstance(index, slice):
            return tuple(self._decision(i) for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"decision {index} of {len(self)}")
        return self._decision(index % len(self))

    def __iter__(self) -> Iterator[Decision]:
        """Each in turn, in a fifth of the time that they take one by one."""
        c = self.columns()
        for i, (fate, score, size) in enumerate(zip(c.fates, c.scores, c.tokens, strict=True)):
            yield Decision(index=i, fate=fate, score=score, tokens=size, reason=c.reasons[i])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecisionList) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(len(self))

    def _decision(self, i: int) -> Decision:
        fate = self._fates.get(i, Fate.DROPPED)
        return Decision(
            index=i,
            fate=fate,
            score=round(float(self._scores[i]), 6) if i < len(self._scores) else 0.0,
            tokens=int(self._tokens[i]),
            reason=self._reasons.get(i, self._usual[fate]),
        )

    @property
    def sizes(self) -> Sequence[int]:
        """Tokens of each message."""
        return self._tokens

    def with_more_tokens(self, index: int, tokens: int) -> DecisionList:
        """The same where one message is larger than what was counted of it."""
        sizes = list(self._tokens[:])
        sizes[index] += tokens
        left_out = self._usual[Fate.DROPPED]
        return DecisionList(sizes, self._fates, self._scores, self._reasons, left_out)

    def columns(self) -> DecisionColumns:
        """The same by column, in a fraction of the time that single decisions take."""
        size = len(self)
        fates = [self._fates.get(i, Fate.DROPPED) for i in range(size)]
        reasons = [self._usual[fate] for fate in fates]
        for i, reason in self._reasons.items():
            if 0 <= i < size:
                reasons[i] = reason
        scores = [round(float(score), 6) for score in self._scores[:size]]
        return DecisionColumns(
            fates=fates,
            scores=scores + [0.0] * (size - len(scores)),
            tokens=[int(n) for n in self._tokens[:]],
            reasons=reasons,
        )

    def counts(self) -> dict[str, int]:
        """How many messages met each fate; fates that nobody met are left out."""
        seen: dict[str, int] = {}
        for fate in self._fates.values():
            seen[fate.value] = seen.get(fate.value, 0) + 1
        dropped = len(self) - sum(seen.values())
        return {**seen, Fate.DROPPED.value: dropped} if dropped else seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the window begins.

    Attributes:
        index: the first message after the head that is still in the window.
        tokens_dropped: tokens of the history before it.
        declared: this request does not begin with the view of the one before, because the window
            was cut, or because a mend reaches back (``Report.mended`` names it).
    """

    index: int
    tokens_dropped: int
    declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrun:
    """What may not be cut is larger than the budget: tokens needed (and sent), tokens allowed."""

    needed: int
    allowed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The account of one request.

    Attributes:
        decisions: one for each input message, in order.
        tokens_before: the list as given, framing and tools included.
        tokens_after: the list to send, counted again.
        budget: tokens allowed; 0 without a limit.
        tool_tokens: of these, the tools' schemas.
        reserve: tokens left for the answer, already taken from the budget.
        tokenizer: what counted.
        estimated: the counter is not the model's own tokenizer.
        policy, profile: which policy ran, for which provider.
        cut: where the window begins; None if it begins with the chat and continues the view before.
        recalled: messages in the quoted block, those shown in part too.
        recall_reason: why there was a recall, or why not.
        proof: of how good what is sent is; see ``certificate``.
        mended: what was repaired in the history, a sentence each.
        warnings: what the caller should know, a sentence each.
        violations: rules of the provider that are still broken (nothing could mend them).
        truncated: some message was clipped.
        infeasible: set where the forced part is over the budget and the list went on anyway.
        calibrated: provider's tokens for each that we count, by which the budget was divided; 1 if
            no report says that it counts more than we do. All counts here are ours.
        cache_lost: why the provider must read anew what it had read before, if somebody who knows
            the request before this one says so; a cut of ours is no reason (see ``cut``).
        costing: works out ``cost``.
    """

    decisions: DecisionList
    tokens_before: int
    tokens_after: int
    budget: int
    tool_tokens: int = 0
    reserve: int = 0
    tokenizer: str = ""
    estimated: bool = True
    policy: str = "stable"
    profile: str = "openai"
    cut: Cut | None = None
    recalled: int = 0
    recall_reason: str = ""
    proof: Proof = UNSCORED
    mended: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    truncated: bool = False
    infeasible: Overrun | None = None
    calibrated: float = 1.0
    cache_lost: str = ""
    costing: CostAccount = field(default=NO_COST, repr=False)

    @property
    def cost(self) -> RequestCost | None:
        """What it costs, beside two other ways; made when looked at. None if nobody planned."""
        return self.costing.cost

    @property
    def certificate(self) -> Certificate | NoCertificate:
        """How good what is sent is, proven, or why nothing is proven of it."""
        proof = self.proof
        return proof.certificate if isinstance(proof, DeferredCertificate) else proof

    def counts(self) -> dict[str, int]:
        """How many messages met each fate; fates that nobody met are left out."""
        return self.decisions.counts()

    def explain(self) -> str:
        """The report as lines that a person reads."""
        limit = f" of {self.budget:,} allowed" if self.budget else ", no limit"
        about, cost = "about " if self.estimated else "", self.cost
        lines = [
            (
                f"sent {about}{self.tokens_after:,} tokens{limit}; "
                f"the whole chat has {self.tokens_before:,}"
            ),
            *([f"cost: {cost.describe()}"] if cost is not None else []),
            f"policy {self.policy}, rules of {self.profile}, counted by {self.tokenizer}",
            "messages: "
            + (", ".join(f"{n} {fate}" for fate, n in self.counts().items()) or "none"),
        ]
        if self.recall_reason:
            lines.append(f"recall: {self.recall_reason}")
        lines.append(f"proof: {self.certificate.sentence()}")
        if self.calibrated != 1:
            lines.append(
                f"the provider counts up to {self.calibrated:g} tokens for each of ours; "
                "so much less is sent"
            )
        if self.cache_lost:
            lines.append(f"prompt cache lost: {self.cache_lost}")
        lines += [f"mended: {x}" for x in self.mended]
        lines += [f"still broken: {x}" for x in self.violations]
        lines += [f"warning: {x}" for x in self.warnings]
        lines += [
            f"  [{d.index}] {d.fate.value:10s} {d.tokens:6d} tokens  {d.score:.2f}  {d.reason}"
            for d in self.decisions
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report for machines: plain values that ``json.dumps`` takes."""
        bare = replace(self, decisions=DecisionList((), {}), costing=NO_COST, proof=UNSCORED)
        plain = asdict(bare)
        del plain["costing"], plain["proof"]
        plain["cost"] = None if self.cost is None else asdict(self.cost)
        plain["decisions"] = [{**asdict(d), "fate": str(d.fate)} for d in self.decisions]
        plain["certificate"] = self.certificate.to_dict()
        return plain
