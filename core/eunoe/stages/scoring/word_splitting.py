"""Where written words begin and end, in any script."""

from __future__ import annotations

import re

from eunoe.domain.scripts import GLUED_LETTERS, JOINING_MARKS

_SPLIT_ANY = rf"\w[\w{JOINING_MARKS}]*(?:['’.\-_/\\:@+#&]+\w[\w{JOINING_MARKS}]*)*"
_SPLIT_PATTERN = re.compile(_SPLIT_ANY)
_SPLIT_PATTERN_ASCII = re.compile(r"[A-Za-z0-9_]++(?:['.\-/\\:@+#&]++[A-Za-z0-9_]++)*+")
_SPLIT_GLUED = re.compile(f"[{GLUED_LETTERS}]")
# "打开bill.py的第3章", "bill.py를": a name in other letters is a word of its own, a number stays
# with its sign.
_SPLIT_PATTERN_MIXED = re.compile(
    f"[{GLUED_LETTERS}]++(?=[A-Za-z])"
    r"|(?=[0-9_]*+[A-Za-z])[A-Za-z0-9_]++(?:['.\-/\\:@+#&]++[A-Za-z0-9_]++)*+"
    f"(?=[{GLUED_LETTERS}])"
    f"|{_SPLIT_ANY}"
)


def split_words(text: str) -> list[str]:
    """Written words in order; identifiers, paths and dotted names stay whole."""
    if text.isascii():
        return _SPLIT_PATTERN_ASCII.findall(text)
    mixed = _SPLIT_GLUED.search(text) is not None
    return (_SPLIT_PATTERN_MIXED if mixed else _SPLIT_PATTERN).findall(text)
