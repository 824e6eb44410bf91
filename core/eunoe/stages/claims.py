"""What a text names that can be looked up: numbers, paths, identifiers, quotations.

A summary that names one which its source lacks has invented it. Words are not judged: a summary
says things in other words, but it has no other numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from eunoe.domain.scripts import GLUED_LETTERS

_SAME_MARKS = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "‑": "-", "\\": "/"}
)
_LIST_NUMBER = re.compile(r"\A\s*(?:[-*•]\s*)?\d{1,3}[.)]\s+")
_GROUPED = re.compile(r"(?<=\d)[,_'’ \u00a0\u202f](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_MARKED_WORD = re.compile(r"[\w./\\@:#+~$%&=?*-]+")
_ENDS_NO_WORD = ".@:#+~$%&=?*-"
_IS_NAMED = re.compile(
    r"[_@\\]|[a-zß-ÿ][A-Z]|[A-Za-z]\d|\d[A-Za-z]|/.*/|\A[~.]?/|://"
    r"|\w\w[.:#]\w*[A-Za-z]|\w[.:#]\w*[A-Za-z]\w"
)
_EITHER_OR = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)+")
_QUOTATION = re.compile(
    r'"([^"\n]{3,})"|“([^”\n]{3,})”|„([^“”\n]{3,})[“”]|«([^»\n]{3,})»|「([^」\n]{2,})」|『([^』\n]{2,})』'
    r"|`([^`\n]{2,})`|(?<![\w'])'([^'\n]{3,})'(?!\w)"
)
_GOES_ON = rf"[^\W{GLUED_LETTERS}]"
"""A letter, digit or underscore that makes a word longer; scripts without spaces glue to words."""
_GLUED = re.compile(rf"(?<=[{GLUED_LETTERS}])(?=[!-~])|(?<=[!-~])(?=[{GLUED_LETTERS}])")
_AROUND = " \t.,;:!?…\"'()[]"


class ClaimSource:
    """The text that claims are looked up in.

    Args:
        texts: any texts; a claim may not run from one into the next.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(_same_form(text) for text in texts)
        self._numbers = frozenset(_numbers(self._text))
        self._words = frozenset(re.findall(r"[^\W\d_]+", self._text))

    def lacks(self, line: str) -> list[str]:
        """The claims of a line that the source does not hold, as the line writes them."""
        text = _LIST_NUMBER.sub("", line)
        missing = [q for q in _quotations(text) if not self._holds(q)]
        rest = _QUOTATION.sub(" ", text)
        for run in _MARKED_WORD.findall(_GLUED.sub(" ", rest)):
            word = run.rstrip(_ENDS_NO_WORD)
            if not _IS_NAMED.search(word) or self._names(word):
                continue
            parts = _same_form(word).split("/")
            if not (_EITHER_OR.fullmatch(word) and self._words.issuperset(parts)):
                missing.append(word)
        named = "\n".join(missing)
        numbers = (n for n in _numbers(_same_form(rest)) if n not in self._numbers)
        return missing + [n for n in numbers if n not in named]

    def _names(self, word: str) -> bool:
        """Whether a word stands in the text as it is, not as a piece of a longer one.

        The end of a path or of a dotted name is a name too, and so is a folder on its way.
        """
        name = _same_form(word).strip(_AROUND).rstrip("/")
        if name not in self._text:
            return False
        dash = "-" if "/" in name else ""
        whole = rf"(?<!{_GOES_ON}){re.escape(name)}(?!{_GOES_ON}|[.{dash}]{_GOES_ON})"
        if dash:
            whole = rf"(?<!-){whole}"
        return re.search(whole, self._text) is not None

    def _holds(self, claim: str) -> bool:
        """Whether a quotation stands in the text, wherever."""
        return _same_form(claim).strip(_AROUND) in self._text


def _quotations(text: str) -> list[str]:
    return [next(filter(None, found)) for found in _QUOTATION.findall(text)]


def _numbers(text: str) -> list[str]:
    """The numbers of a text in one form: no thousands marks, no zeros in front."""
    plain = _GROUPED.sub("", text)
    return [n.lstrip("0") or "0" for n in _NUMBER.findall(plain)]


def _same_form(text: str) -> str:
    """Letter case, white space, quotation marks and dashes do not make a claim another one."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_SAME_MARKS)
    return " ".join(folded.split())
