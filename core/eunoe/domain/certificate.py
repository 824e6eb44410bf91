"""How good what is sent is, proven; or why nothing is proven of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class CertificateBasis(StrEnum):
    """What a certificate speaks of.

    CHOSEN: what was chosen of the candidates. WHOLE: all that may be sent is sent. CLOSED: recall
    stayed closed, and what is in view is held against the best that the same room could hold.
    """

    CHOSEN = "chosen"
    WHOLE = "whole"
    CLOSED = "closed"


class Unproven(StrEnum):
    """Why a request has no certificate."""

    UNSCORED = "unscored"
    IRRELEVANT = "irrelevant"
    RECENCY = "recency"
    LATE = "late"
    NO_ROOM = "no_room"
    GAVE_WAY = "gave_way"
    SHORTENED = "shortened"
    OVER_BUDGET = "over_budget"
    UNWEIGHED = "unweighed"


_UNPROVEN = {
    Unproven.UNSCORED: "the history was not scored for this question",
    Unproven.IRRELEVANT: "nothing outside the window may be recalled for this question",
    Unproven.RECENCY: "the newest were taken, whatever they are worth",
    Unproven.LATE: "the deadline passed before the history was scored",
    Unproven.NO_ROOM: "no room was left to choose for",
    Unproven.GAVE_WAY: "a part of what was chosen had to make room",
    Unproven.SHORTENED: "the current turn alone had to be shortened",
    Unproven.OVER_BUDGET: "more is sent than is allowed",
    Unproven.UNWEIGHED: "what recall could have brought back was not weighed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """How good what is sent is under the scoring: ``value / upper_bound``, in [0, 1].

    It speaks of the objective, which stands for usefulness; it is no promise about answers.

    Attributes:
        value: of what was chosen; of what is in view where recall stayed closed; 1 where all is
            sent and nothing had to be weighed.
        upper_bound: no admissible choice is worth more.
        basis: what it speaks of.
    """

    value: float
    upper_bound: float
    basis: CertificateBasis = CertificateBasis.CHOSEN

    @property
    def ratio(self) -> float:
        """At least this share of the best possible value; 1 where nothing could be chosen."""
        return 1.0 if self.upper_bound <= 0 else min(1.0, self.value / self.upper_bound)

    @property
    def gap(self) -> float:
        """What the best admissible choice could be worth beyond this one at most, at least 0."""
        return max(0.0, self.upper_bound - self.value)

    def without(self, lost: float) -> Certificate:
        """The certificate of what is left where some of the choice was given up.

        Source: F is submodular, so that what is picked after it brings no less without it; F falls
        by no more than what it brought when it was picked.

        Args:
            lost: what it brought when it was picked, at least 0.
        """
        return replace(self, value=max(0.0, self.value - lost))

    def sentence(self) -> str:
        """What is proven, for people."""
        if self.basis is CertificateBasis.WHOLE:
            return "all that may be sent is sent: no choice is better"
        if self.upper_bound <= 0:
            return "nothing speaks to the question under this scoring: no choice is better"
        share = f"{100 * self.ratio:.0f} %"
        if self.basis is CertificateBasis.CLOSED:
            return (
                f"recall stayed closed: what is in view has at least {share} of the best possible "
                "value under this scoring"
            )
        return f"the choice has at least {share} of the best possible value under this scoring"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``json.dumps`` takes."""
        return {
            "value": self.value,
            "upper_bound": self.upper_bound,
            "ratio": self.ratio,
            "basis": str(self.basis),
        }


@dataclass(frozen=True, slots=True)
class NoCertificate:
    """Nothing is proven of what is sent.

    Attributes:
        reason: why not.
    """

    reason: Unproven

    @property
    def ratio(self) -> None:
        """None: no share of the best possible value is known."""
        return

    def sentence(self) -> str:
        """Why nothing is proven, for people."""
        return f"nothing is proven of the choice: {_UNPROVEN[self.reason]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``json.dumps`` takes."""
        return {"ratio": None, "reason": str(self.reason)}


class DeferredCertificate:
    """A certificate that is worked out when somebody looks at it, and once.

    Copied or pickled it is the certificate itself.

    Args:
        make: works it out; from values that do not change.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Certificate]) -> None:
        self._make = make
        self._made: Certificate | None = None

    @property
    def certificate(self) -> Certificate:
        """What was put off."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeferredCertificate):
            other = other.certificate
        return self.certificate == other

    def __hash__(self) -> int:
        return hash(self.certificate)

    def __reduce__(self) -> tuple[Callable[..., Certificate], tuple[float, float, str]]:
        made = self.certificate
        return _certificate_of, (made.value, made.upper_bound, made.basis.value)


def _certificate_of(value: float, upper_bound: float, basis: str) -> Certificate:
    return Certificate(value=value, upper_bound=upper_bound, basis=CertificateBasis(basis))


Proof = Certificate | NoCertificate | DeferredCertificate
"""What is proven of what is sent, worked out or not."""
UNSCORED = NoCertificate(Unproven.UNSCORED)
BY_RECENCY = NoCertificate(Unproven.RECENCY)
ALL_SENT = Certificate(value=1.0, upper_bound=1.0, basis=CertificateBasis.WHOLE)
"""The certificate of a request that sends all that may be sent."""
