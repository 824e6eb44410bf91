from __future__ import annotations

import pytest

from eunoe.domain.ordinals import ordinal


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (0, "1st"), (1, "2nd"), (2, "3rd"), (3, "4th"), (10, "11th"), (11, "12th"), (12, "13th"),
        (20, "21st"), (110, "111th"), (121, "122nd"), (1012, "1013th"),
    ],
)  # fmt: skip
def test_places_are_counted_from_one(index, said):
    assert ordinal(index) == said
