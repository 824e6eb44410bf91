"""How strongly two texts are tied where a judge says that one supports or contradicts the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple


class Stance(NamedTuple):
    """Probabilities, each in [0, 1], sum 1, that one text supports another, or contradicts it.

    Attributes:
        support: It follows from it.
        neutral: It says nothing of it.
        contradiction: They cannot both hold.
    """

    support: float
    neutral: float
    contradiction: float


def stance_of(values: Sequence[float]) -> Stance:
    """A stance from what a judge says, scaled so that the three sum to 1.

    Args:
        values: Support, neutral, contradiction, each in [0, 1].

    Raises:
        TypeError: They are no numbers.
        ValueError: They are not three, out of range, or all 0.
    """
    numbers = [float(value) for value in values]
    good = len(numbers) == 3 and all(isfinite(x) and 0.0 <= x <= 1.0 for x in numbers)
    total = sum(numbers) if good else 0.0
    if total <= 0.0:
        raise ValueError(f"stance is {numbers!r}, allowed: three numbers in [0, 1], not all 0")
    return Stance(*(x / total for x in numbers))


def stance_kernel(
    similarity: float, support: float, contradiction: float, confidence: float
) -> float:
    """Edge strength from similarity and stance, in [0, 1].

    ``c h + (1-c) sim (1-contra)`` with ``h = support (1-contra)``: a contradiction weakens both
    terms, without confidence only similarity counts.

    Args:
        similarity: In [0, 1].
        support: Probability that one text supports the other.
        contradiction: Probability that it contradicts it.
        confidence: Trust in the two, in [0, 1].

    Source of formula: H5, the kernel of Lethe's SIMILAR_TO edges, reconstructed from its prose.
    """
    held = support * (1.0 - contradiction)
    return confidence * held + (1.0 - confidence) * similarity * (1.0 - contradiction)


def stance_confidence(stance: Stance) -> float:
    """How far a judge has decided: ``c = 1 - neutral = support + contradiction``, in [0, 1] (H5b).

    The original names no source of its confidence; this one is free of further constants.
    """
    return min(1.0, stance.support + stance.contradiction)


def stance_strength(similarity: float, stance: Stance | None) -> float:
    """Strength of the tie between two similar texts, in [0, 1]: H5 with the confidence of H5b.

    ``(1-contra) (support + neutral sim)``. Support enters the kernel as its share of what was
    decided, ``support/c``: since ``c`` holds support already, support itself would count squared,
    and a text half supported would be tied less than one of which nothing is known.

    Args:
        similarity: In [0, 1].
        stance: None where nothing is known: then it is the similarity.

    Note:
        Contradiction never raises it, support never lowers it, whatever they grow at the cost of.
    """
    if stance is None:
        return similarity
    confidence = stance_confidence(stance)
    share = min(1.0, stance.support / confidence) if confidence > 0.0 else 0.0
    return stance_kernel(similarity, share, stance.contradiction, confidence)
