"""Write examples/long_chat.json from the script long_chat.txt and the results of the tools.

    python examples/make_long_chat.py

The same input always gives the same bytes. Lines `@needs a | b` in the script name what the answer
to the question above takes from far back; `eunoe compare` does not see them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from long_chat_results import RESULTS

HOME = Path(__file__).resolve().parent
SCRIPT = HOME / "long_chat.txt"
TARGET = HOME / "long_chat.json"


def read_blocks() -> Iterator[tuple[str, str, str]]:
    """The blocks of the script: mark, the rest of its line, the text below it."""
    mark, rest, lines = "", "", []
    for line in [*SCRIPT.read_text(encoding="utf-8").split("\n"), "@end"]:
        if line.startswith("@"):
            if mark:
                yield mark, rest, "\n".join(lines).strip()
            mark, _, rest = line[1:].partition(" ")
            lines = []
        else:
            lines.append(line)


def read_script() -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
    """The chat in OpenAI form, and what `@needs` says: place of a question -> needed texts."""
    messages: list[dict[str, Any]] = []
    needs: dict[int, list[str]] = {}
    calls = 0
    for mark, rest, text in read_blocks():
        if mark == "call":
            calls += 1
            tool, _, arguments = rest.partition(" ")
            call = {
                "id": f"call_{calls:03d}",
                "type": "function",
                "function": {"name": tool, "arguments": arguments},
            }
            if messages[-1]["role"] == "assistant":  # words and call are one message
                messages[-1]["tool_calls"] = [call]
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif mark == "result":
            answers = {"tool_call_id": f"call_{calls:03d}", "content": RESULTS[rest]()}
            messages.append({"role": "tool", **answers})
        elif mark == "needs":
            needs[len(messages) - 1] = [fact.strip() for fact in rest.split(" | ")]
        else:
            messages.append({"role": mark, "content": text})
    return messages, needs


def make_messages() -> list[dict[str, Any]]:
    """The chat in OpenAI form."""
    return read_script()[0]


def needed_facts() -> dict[int, list[str]]:
    """Place of a question in the chat -> texts from far back that its answer takes."""
    return read_script()[1]


if __name__ == "__main__":
    made = make_messages()
    TARGET.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(made)} messages")
