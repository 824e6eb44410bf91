"""Places in a list as people count them: from one. Brackets, as in ``[4]``, count from zero."""

from __future__ import annotations

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(index: int) -> str:
    """The place with an index, such as ``5th`` for 4, which nobody takes for an index."""
    place = index + 1
    ending = "th" if place % 100 in (11, 12, 13) else _ENDINGS.get(place % 10, "th")
    return f"{place}{ending}"
