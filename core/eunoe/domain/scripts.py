"""Letters of scripts that do not part words by spaces, as ranges for a class of a pattern."""

from __future__ import annotations

ABUGIDA_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer."""
HAN_KANA_LETTERS = "\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese and Japanese."""
HANGUL_LETTERS = "\uac00-\ud7af"
"""Korean, which has spaces, but glues particles to words, foreign ones too."""
GLUED_LETTERS = ABUGIDA_LETTERS + HAN_KANA_LETTERS + HANGUL_LETTERS
"""All of these: a name in other letters may stand right beside them."""
JOINING_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0971-\u0df3"
    "\u0e30-\u0e4e\u0eb0-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
)
"""Marks inside words that are no letters themselves, with the letters between them."""
