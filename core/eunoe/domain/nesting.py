"""JSON text and copies of values that may be nested deeper than Python's own calls can go.

Lists in lists in arguments of a tool, thousands deep, are no chat that anybody writes, but they
arrive: whatever walks them by recursion raises ``RecursionError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

_AGAIN = '"[...]"'
"""What stands for a container inside itself."""


def json_text(
    value: object,
    *,
    ensure_ascii: bool = True,
    sort_keys: bool = False,
    separators: tuple[str, str] = (", ", ": "),
    indent: int | None = None,
) -> str:
    """The value as ``json.dumps`` writes it, however deep; as Python writes it if JSON has no form.

    Indentation is given up where the value is too deep for it.

    The text is the same whether or not the depth was too much for ``json.dumps``, which depends on
    who calls. Linear in the size of the text.
    """
    try:
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            sort_keys=sort_keys,
            separators=(separators[0].rstrip(), separators[1]) if indent else separators,
            indent=indent,
            default=_written_as,
        )
    except RecursionError:
        return _deep_json(value, ensure_ascii, sort_keys, separators)
    except (TypeError, ValueError):
        return written_text(value, repr)


def model_fields(value: object) -> dict[str, Any] | None:
    """The fields of a pydantic model, those left out that are None; None if it is no model."""
    write = getattr(type(value), "model_dump", None)
    if not callable(write) or isinstance(value, type):
        return None
    try:
        fields = write(value, exclude_none=True)
    except (TypeError, ValueError):  # it is named so only, or holds what pydantic cannot write
        return None
    return fields if isinstance(fields, dict) else None


def _held_in(value: object) -> dict[Any, Any] | list[Any] | tuple[Any, ...] | None:
    """What a container holds; None if the value is none."""
    if isinstance(value, (dict, list, tuple)):
        return value
    return dict(value) if isinstance(value, Mapping) else model_fields(value)


def _written_as(value: object) -> object:
    """What stands in JSON for a value that has no form there."""
    held = _held_in(value)
    return repr(value) if held is None else held


def written_text(value: object, write: Callable[[object], str] = str) -> str:
    """The value as Python writes it, or as JSON where it is too deep, or a number too long."""
    if isinstance(value, str) and write is str:
        return value
    try:
        return write(value)
    except (RecursionError, ValueError):
        return _deep_json(value, False, False, (", ", ": "))


def _deep_json(
    value: object, ensure_ascii: bool, sort_keys: bool, separators: tuple[str, str]
) -> str:
    quote = encode_basestring_ascii if ensure_ascii else encode_basestring
    comma, colon = separators
    pieces: list[str] = []
    held_by_id: list[object] = []  # an id is no other's while its object lives
    inside: set[int] = set()
    todo: list[tuple[str, Any]] = [("value", value)]
    while todo:
        kind, item = todo.pop()
        if kind == "text":
            pieces.append(item)
        elif kind == "end":
            inside.discard(item)
        elif (held := _held_in(item)) is None:
            pieces.append(_leaf_json(item, quote))
        elif id(item) in inside:
            pieces.append(_AGAIN)
        else:
            inside.add(id(item))
            held_by_id.append(held)
            pairs: Iterable[tuple[str, object]] = (("", v) for v in held)
            if isinstance(held, dict):
                keys = sorted(held, key=_key_text) if sort_keys else held
                pairs = [(quote(_key_text(k)) + colon, held[k]) for k in keys]
            opening, closing = "{}" if isinstance(held, dict) else "[]"
            after: list[tuple[str, Any]] = [("text", opening)]
            for n, (name, inner) in enumerate(pairs):
                after += [("text", (comma if n else "") + name), ("value", inner)]
            todo += [*after, ("text", closing), ("end", id(item))][::-1]
    return "".join(pieces)


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return key
    return _leaf_json(key, str) if isinstance(key, (bool, int, float, type(None))) else repr(key)


def _leaf_json(value: object, quote: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return quote(value)
    try:
        if isinstance(value, (bool, int, float, type(None))):
            return json.dumps(value)
        return quote(repr(value))
    except ValueError:  # a whole number of more digits than Python writes
        return quote(hex(value) if isinstance(value, int) else type(value).__name__)
    except RecursionError:
        return quote(type(value).__name__)


def with_strings_changed(value: Any, change: Callable[[str], str]) -> Any:
    """A copy with every string changed, keys included; other values stay.

    Mappings and pydantic models become dicts, tuples become lists.
    """
    root: list[Any] = [None]
    copies: dict[int, Any] = {}
    held_by_id: list[object] = []  # an id is no other's while its object lives
    todo: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while todo:
        item, holder, place = todo.pop()
        if isinstance(item, str):
            holder[place] = change(item)
        elif id(item) in copies:
            holder[place] = copies[id(item)]
        elif (held := _held_in(item)) is None:
            holder[place] = item
        elif isinstance(held, dict):
            held_by_id.append(held)
            made: dict[Any, Any] = {}
            holder[place] = copies[id(item)] = made
            named = [(change(k) if isinstance(k, str) else k, v) for k, v in held.items()]
            made.update((k, None) for k, _ in named)
            todo += [(v, made, k) for k, v in reversed(named)]
        else:
            row: list[Any] = [None] * len(held)
            holder[place] = copies[id(item)] = row
            todo += [(v, row, n) for n, v in enumerate(held)]
    return root[0]
