"""Where a message that is sent comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eunoe.domain.report import Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One message of the output.

    Attributes:
        index: its place in the input; None for text that eunoe wrote or quoted.
        message: what to send; the caller's own object unless ``changed``.
        changed: the message differs from the caller's (a clip, a stub, a merge, stripped flags).
        fate: KEPT, RECALLED (the quoted block), GIST, STUB or SUMMARISED.
    """

    index: int | None
    message: Mapping[str, Any]
    changed: bool = False
    fate: Fate = Fate.KEPT
