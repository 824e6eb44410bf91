"""What a language model answers when it is asked for labels, read in three ways."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

LABEL_WORTH = {"K": 1.0, "H": 0.75, "M": 0.5, "S": 0.25, "D": 0.05}
"""Keep, high, medium, slight, drop."""

_WORDS = {"KEEP": "K", "HIGH": "H", "MEDIUM": "M", "SLIGHT": "S", "SMALL": "S", "DROP": "D"}
_NUMBERED = re.compile(
    r"(?<![\w.\-])(\d{1,6})[\"'\])*`]{0,8}\s*(?:[:=.)\-–>|*`]{1,8}|(?=\s[KHMSD]\s*(?:[,;\n]|$)))\s*"
    r"[\"'(\[*`]*([KHMSDkhmsd])\b"
)
_LETTERS = re.compile(r"\s*+[\[(]?\s*+[KHMSD](?:[\s,;|\"']++[KHMSD])*+\s*+[\])]?\s*+\.?\s*+")
"""Without a way back: a model in trouble may answer with blanks without end."""
_MOST_CHARACTERS = 200_000
_DEEPEST = 8


def read_labels(text: str, count: int) -> list[float | None] | None:
    """The worth of messages 1 to `count` as an answer has it: object, array or letters.

    ``{"1": "K", "2": "D"}`` (also inside ``{"labels": ...}`` or a code block), ``["K", "D"]`` or
    ``[{"id": 1, "label": "K"}, ...]``, or text such as ``1: K`` line by line or ``K D M``.

    Returns:
        One value or None for each message; None if nothing could be read.
    """
    text = text[:_MOST_CHARACTERS]
    for value in _json_values(text):
        found = _from_json(value, count)
        if any(label is not None for label in found):
            return found
    found = [None] * count
    for number, letter in _NUMBERED.findall(text):
        if 1 <= int(number) <= count:
            found[int(number) - 1] = LABEL_WORTH[letter.upper()]
    if any(label is not None for label in found):
        return found
    letters = re.findall(r"[KHMSD]", text) if _LETTERS.fullmatch(text) else []
    return [LABEL_WORTH[letter] for letter in letters] if len(letters) == count else None


def read_numbers(text: str, most: int) -> list[int]:
    """The first whole numbers of the first JSON list of an answer, else of its text, each once."""
    for value in _json_values(text[:_MOST_CHARACTERS]):
        held = next(iter(value.values()), None) if isinstance(value, Mapping) else value
        if isinstance(held, list):
            numbers = [int(str(n).lstrip("Tt")) for n in held if str(n).lstrip("Tt").isdecimal()]
            return list(dict.fromkeys(numbers))[:most]
    numbers = [int(n) for n in re.findall(r"(?<![\w.])[Tt]?(\d{1,6})\b", text[:_MOST_CHARACTERS])]
    return list(dict.fromkeys(numbers))[:most]


def _json_values(text: str) -> list[Any]:
    """The JSON object and the JSON array that a text holds, whichever begins first first."""
    found: list[tuple[int, Any]] = []
    decoder = json.JSONDecoder()
    for opening in "{[":
        place = text.find(opening)
        if place >= 0:
            try:
                found.append((place, decoder.raw_decode(text, place)[0]))
            except (ValueError, RecursionError):
                continue
    return [value for _, value in sorted(found, key=lambda pair: pair[0])]


def _from_json(value: Any, count: int) -> list[float | None]:
    found: list[float | None] = [None] * count
    for number, label in _pairs_in(value, count):
        if str(number).isdecimal() and 1 <= int(str(number)[:7]) <= count:
            found[int(number) - 1] = _worth(label)
    return found


def _pairs_in(value: Any, count: int, depth: int = 0) -> list[tuple[Any, Any]]:
    """(Number, label) as an object or an array has them, or one in the other."""
    if isinstance(value, Mapping):
        if value and all(_worth(k) is not None and isinstance(v, list) for k, v in value.items()):
            return [(number, label) for label, numbers in value.items() for number in numbers]
        if any(str(key).isdecimal() for key in value):
            return list(value.items())
        inner = next((v for v in value.values() if isinstance(v, Mapping | list)), None)
        deeper = inner is not None and depth < _DEEPEST
        return _pairs_in(inner, count, depth + 1) if deeper else []
    if not isinstance(value, list):
        return []
    rows = [list(v.values()) if isinstance(v, Mapping) else v for v in value]
    if rows and all(isinstance(row, list) and len(row) >= 2 for row in rows):
        return [(next((x for x in row if str(x).isdecimal()), ""), row) for row in rows]
    return list(enumerate(value, 1)) if len(value) == count else []


def _worth(label: Any) -> float | None:
    """The worth of a label; of a list or an object that of the first label in it."""
    if isinstance(label, Mapping | list):
        held = list(label.values()) if isinstance(label, Mapping) else label
        return next((w for x in held if isinstance(x, str) and (w := _worth(x)) is not None), None)
    word = re.match(r"\W*([A-Za-z]+)", str(label))
    name = word[1].upper() if word else ""
    return LABEL_WORTH.get(_WORDS.get(name, name))
