"""Fill the marked parts of README.md from the code and from runs.

    python examples/update_readme.py                     settings, figures, picture
    python examples/update_readme.py figures:NAME FILE   one part from a file of Markdown

A part lies between `<!-- NAME -->` and `<!-- /NAME -->`; what lies between figures:NAME ends at
`<!-- /figures -->`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import draw_compare
from draw_compare import HOME, compare
from make_long_chat import needed_facts
from needed_facts import count_all

from eunoe import Settings
from eunoe.domain import settings as settings_module

README = HOME.parent / "README.md"


def replace_part(text: str, name: str, content: str) -> str:
    """The text with a marked part filled.

    Raises:
        ValueError: there is no such part.
    """
    end = "figures" if name.startswith("figures:") else name
    pattern = re.compile(
        f"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(end)} -->)", re.DOTALL
    )
    filled, found = pattern.subn(lambda m: m[1] + content.strip("\n") + "\n" + m[2], text)
    if found != 1:
        raise ValueError(f"{README.name} has {found} parts {name!r}; expected one")
    return filled


def settings_table() -> str:
    """Every field of ``Settings``: default, range, what its docstring says."""
    doc = re.sub(r"\s+", " ", (Settings.__doc__ or "").split("Attributes:")[1].split("Raises:")[0])
    ranges: dict[str, Any] = vars(settings_module)["_SETTING_RANGES"]
    lines = ["| setting | default | range | what it does |", "|---|---|---|---|"]
    names = [field.name for field in fields(Settings)]
    for field in fields(Settings):
        later = "|".join(re.escape(name) for name in names if name != field.name)
        match = re.search(rf" {field.name}: (.*?)(?= (?:{later}): | $|$)", doc)
        about = re.sub(r", in \[[^]]*\]", "", (match[1] if match else "").replace("``", "`"))
        allowed = "{:g} to {:,.10g}".format(*ranges[field.name]) if field.name in ranges else ""
        default = "none" if field.default == () else field.default
        lines.append(f"| `{field.name}` | {str(default).lower()} | {allowed} | {about} |")
    return "\n".join(lines)


def compare_table() -> str:
    """The comparison of the long chat, without times."""
    compared = compare(HOME / "long_chat.json")
    chat = compared["chats"][0]
    lines = [
        (
            f"`eunoe compare examples/long_chat.json`: {chat['messages']} messages, "
            f"{chat['requests']} requests, {chat['tokens']:,} tokens at the end, budget "
            f"{chat['budget']:,}."
        ),
        "",
        "| policy | tokens sent | repeated | over budget | refused | question lost | cost |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {label} | {row['sent']:,} | {100 * row['repeated_share']:.0f} % | {row['over']} | "
        f"{row['refused']} | {row['incomplete']} | {row['cost']:.2f} |"
        for label, row in compared["all"].items()
    ]
    return "\n".join(lines)


def facts_table() -> str:
    """How many of the facts that late answers need are in what is sent."""
    questions = len(needed_facts())
    whole = sum(map(len, needed_facts().values()))
    intro = (
        f"`examples/needed_facts.py`: {questions} late questions of that chat need {whole} facts "
        "from far back. How many are in what is sent:"
    )
    lines = [
        intro,
        "",
        "| policy | facts there | tokens a request |",
        "|---|--:|--:|",
    ]
    lines += [
        f"| {label} | {there} of {whole} | {tokens // questions:,} |"
        for label, (there, tokens) in count_all().items()
    ]
    return "\n".join(lines)


PARTS = {
    "settings": settings_table,
    "figures:compare": compare_table,
    "figures:facts": facts_table,
}


def main(arguments: list[str]) -> None:
    text = README.read_text(encoding="utf-8")
    if arguments:
        name, path = arguments
        text = replace_part(text, name, Path(path).read_text(encoding="utf-8"))
    else:
        for name, make in PARTS.items():
            text = replace_part(text, name, make())
        draw_compare.main()
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
