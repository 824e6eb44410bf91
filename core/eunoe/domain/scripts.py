"""Letters of scripts that do not part words by spaces, as ranges for a class of a pattern."""

from __future__ import annotations

ABUGIDA_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer."""
HAN_KANA_LETTERS = "\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese and Japanese."""
HANGUL_LETTERS = "\uac00-\ud7af"
"""Korean, which has spaces, but glues particles to words, foreign ones too."""
