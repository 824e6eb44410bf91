"""Many chats in one process: does what is remembered stay under its bound?

    python tests/bench/soak.py [--chats 1000] [--turns 50] [--together 100] [--budget 4000]

``together`` chats take turns: each says something, then the next. With more of them than are
remembered, each request finds its chat forgotten. One row for each tenth of the chats: the resident
memory beyond what the process took with its first request, and what the memory itself accounts for,
in MB, beside its bound. Exit status 1 if either passes the bound. Linux alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "core"))

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory

WORDS = "harbour invoice weather error bicycle deadline budget river memory answer copper".split()
TEXT_WORDS = 45


def resident_bytes() -> int:
    """Memory of this process that is not swapped out."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def said(rng: random.Random, role: str) -> dict[str, str]:
    """A message of some 60 tokens; a fifth of its words occur nowhere else."""
    words = [
        rng.choice(WORDS) if rng.random() < 0.8 else f"{rng.choice(WORDS)}-{rng.randrange(10**6)}"
        for _ in range(TEXT_WORDS)
    ]
    return {"role": role, "content": " ".join(words)}


def requests_of(first: int, chats: int, turns: int) -> Iterator[list[dict[str, Any]]]:
    """The requests of some chats that take turns; each comes as new objects, as from a host."""
    sources = [random.Random(first + k) for k in range(chats)]
    lists: list[list[dict[str, str]]] = [[] for _ in range(chats)]
    for _ in range(turns):
        for rng, messages in zip(sources, lists, strict=True):
            messages.append(said(rng, "user"))
            yield json.loads(json.dumps(messages))
            messages.append(said(rng, "assistant"))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chats", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--together", type=int, default=100)
    parser.add_argument("--budget", type=int, default=4000)
    parser.add_argument("--megabytes", type=int, default=128, help="bound of the memory")
    given = parser.parse_args()
    memory = PipelineMemory(max_bytes=given.megabytes * 1_000_000)
    orchestrator = ContextOrchestrator(TokenBudget(given.budget), memory=memory)

    def answer(messages: list[dict[str, Any]]) -> None:
        orchestrator.process_sync(Conversation.from_openai_messages(messages), model_id="gpt-4o")

    answer([{"role": "user", "content": "hello"}])
    gc.collect()
    base, most, accounted, requests = resident_bytes(), 0, 0, 0
    start, mark = time.process_time(), max(1, given.chats // 10)
    print(f"bound {given.megabytes} MB, first request {base / 1e6:.0f} MB resident")
    print("chats  requests  resident +MB  accounted MB  CPU s")
    for first in range(0, given.chats, given.together):
        for messages in requests_of(first, min(given.together, given.chats - first), given.turns):
            answer(messages)
            requests += 1
            if requests % 500 == 0:
                most = max(most, resident_bytes() - base)
                accounted = max(accounted, memory.accounted_bytes)
        done = min(first + given.together, given.chats)
        if done % mark == 0 or done == given.chats:
            print(
                f"{done:5d} {requests:9d} {(resident_bytes() - base) / 1e6:13.1f}"
                f" {memory.accounted_bytes / 1e6:13.1f} {time.process_time() - start:6.0f}",
                flush=True,
            )
    print(f"at most {most / 1e6:.1f} MB resident, {accounted / 1e6:.1f} MB accounted")
    return int(max(most, accounted) > given.megabytes * 1_000_000)


if __name__ == "__main__":
    sys.exit(main())
