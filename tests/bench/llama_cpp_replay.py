"""What a prompt cache really gives back: one chat replayed against a llama.cpp server.

    pip install xllamacpp gguf
    python tests/bench/llama_cpp_replay.py [--turns 40] [--budget 6000]

The server is the real one, in this process; its model is a few layers of random numbers, made here,
whose tokens are bytes. Nothing is downloaded and nothing that it says is read: what counts is how
many tokens of each prompt it had to compute (``prompt_n``), how many came from its cache
(``cache_n``) and how long that took. Each request is entered into a ledger, too; ``expected`` is
what the ledger would have taken for cached, had the server reported nothing.

Policies: ``untouched`` sends everything; ``window`` the newest turns that fit; ``stable`` cuts
rarely and deep.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

for folder in ("core", "adapters"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / folder))

from eunoe import BudgetError, ContextOrchestrator, Conversation, TokenBudget  # noqa: E402
from eunoe.stages.accounting import (  # noqa: E402
    Ledger,
    RequestForecast,
    account_requests,
    find_cache_bust,
    sent_parts,
)
from eunoe.stages.counting import read_usage  # noqa: E402

POLICIES = {"untouched": "off", "window": "window", "stable": "stable"}
LAYERS, WIDTH, HEADS, FORWARD = 2, 64, 4, 128
TEMPLATE = (
    "{% for m in messages %}{{ m['role'][0] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}a>{% endif %}"
)
WORDS = (
    "river stone lamp garden letter market engine winter paper signal copper harbour window "
    "thread basket mirror ladder orchard violin compass"
).split()


class ByteCounter:
    """One token for each byte, as the model made here has it."""

    name = "bytes"
    exact = True

    def count(self, text: str) -> int:
        """Bytes of the text."""
        return len(text.encode())

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Bytes of each text."""
        return [self.count(text) for text in texts]


def byte_letters() -> list[str]:
    """The letters by which byte-level vocabularies write the 256 bytes (Radford et al., 2019)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def write_model(path: Path, context: int) -> None:
    """Write a model of random numbers whose vocabulary is the 256 bytes."""
    import gguf
    import numpy as np

    rng = np.random.default_rng(7)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(257)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*byte_letters(), "<end>"])
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["a b"])  # there must be one; its result is no token, so it never is
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(256)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    def tensor(name: str, *shape: int) -> None:
        values = rng.standard_normal(shape, dtype=np.float32) * 0.05
        writer.add_tensor(name, np.ones(shape, np.float32) if len(shape) == 1 else values)

    tensor("token_embd.weight", 257, WIDTH)
    tensor("output_norm.weight", WIDTH)
    tensor("output.weight", 257, WIDTH)
    for k in range(LAYERS):
        for part in ("attn_norm", "ffn_norm"):
            tensor(f"blk.{k}.{part}.weight", WIDTH)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{k}.{part}.weight", WIDTH, WIDTH)
        tensor(f"blk.{k}.ffn_gate.weight", FORWARD, WIDTH)
        tensor(f"blk.{k}.ffn_up.weight", FORWARD, WIDTH)
        tensor(f"blk.{k}.ffn_down.weight", WIDTH, FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def start_server(model: Path, context: int) -> Any:
    """A server with one slot on a free port of this machine."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.warmup = False
    params.cache_ram_mib = 0  # one slot and nothing beside it: what is cached is the last prompt
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    return xllamacpp.Server(params)


def ask(address: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Send a list; return what the server reports."""
    body = {"messages": messages, "max_tokens": 1, "temperature": 0, "cache_prompt": True}
    request = urllib.request.Request(
        f"{address}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return dict(json.load(answer))


def make_trace(turns: int, policy: str) -> list[dict[str, str]]:
    """A chat in which every tenth question is about an earlier turn; the same for every policy.

    The first words differ, so that no policy finds the cache of another.
    """
    rng = random.Random(11)
    chat = [{"role": "system", "content": f"[{policy:10}] Answer shortly and truly."}]
    for turn in range(turns):
        about = turn if turn % 10 or not turn else rng.randrange(turn)
        what = f"item{about * 37 % 1009}"
        ask_back = about != turn
        text = f"What was {what} again?" if ask_back else f"Now we write down {what}."
        chat.append({"role": "user", "content": text})
        words = " ".join(rng.choice(WORDS) for _ in range(rng.randint(20, 60)))
        chat.append({"role": "assistant", "content": f"Noted: {what}. {words}."})
    return chat


def replay(address: str, name: str, turns: int, budget: int) -> dict[str, Any]:
    """Ask every question of the trace in turn, with the list that a policy makes of it."""
    orchestrator = ContextOrchestrator(TokenBudget(budget), token_counter=ByteCounter())
    chat = make_trace(turns, name)
    before: tuple[Any, ...] = ()
    row: dict[str, Any] = {"sent": 0, "cached": 0, "ms": 0.0, "busts": 0, "guess": 0, "asked": 0}
    ledger = Ledger()
    for stop in range(2, len(chat) + 1, 2):
        try:
            result = orchestrator.process_sync(
                Conversation.from_openai_messages(chat[:stop]), policy=POLICIES[name]
            )
        except BudgetError:
            continue
        messages = [dict(m) for m in result.conversation.to_openai_messages()]
        answer = ask(address, messages)
        usage = read_usage(answer.get("timings")) or read_usage(answer.get("usage"))
        if usage is None:
            raise SystemExit(f"the server reports no usage: {sorted(answer)}")
        forecast: RequestForecast = result.forecast
        ledger = ledger + account_requests([forecast], None, reported=usage)
        scale = usage.prompt / max(1, forecast.sent.prompt)
        after = sent_parts(messages)
        row["busts"] += find_cache_bust(before, after) is not None
        row["guess"] += round(forecast.sent.repeated * scale)
        row["asked"] += 1
        row["ms"] += answer.get("timings", {}).get("prompt_ms", 0.0)
        before = after
    sent = ledger.measured.sent
    row["sent"], row["cached"] = sent.prompt, sent.cached
    return row


def main() -> int:
    """Replay the trace under each policy and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--budget", type=int, default=6000, help="tokens (bytes) of a list")
    options = parser.parse_args()
    context = 1 << (options.turns * 420 + 4096).bit_length()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "random.gguf"
        write_model(model, context)
        server = start_server(model, context)
        print(f"{options.turns} turns, {options.budget} tokens allowed, reported by llama.cpp")
        print(
            f"{'policy':10} {'requests':>8} {'prompt':>9} {'cached':>9} {'computed':>9} "
            f"{'cached %':>8} {'expected':>9} {'prefill s':>9} {'prefix lost':>11}"
        )
        for name in POLICIES:
            row = replay(server.listening_address, name, options.turns, options.budget)
            share = 100 * row["cached"] / max(1, row["sent"])
            print(
                f"{name:10} {row['asked']:8,} {row['sent']:9,} {row['cached']:9,} "
                f"{row['sent'] - row['cached']:9,} {share:7.1f}% {row['guess']:9,} "
                f"{row['ms'] / 1000:9.2f} {row['busts']:11,}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
