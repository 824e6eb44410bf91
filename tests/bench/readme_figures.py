"""Fill the tables of README.md that come from referees: they and their chats may not be shipped.

    python tests/bench/readme_figures.py FOLDER [PART ...] [--write]

FOLDER holds the referees, with the chats in ``../data`` beside it. Parts: recall, cache, tools,
values, validity, latency; all of them take about an hour. Each is printed as a table; with
``--write`` it takes the place of the marked part of README.md. Latency wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

HOME = Path(__file__).parents[2]
sys.path.insert(0, str(HOME / "examples"))

from update_readme import README, replace_part  # noqa: E402

OURS, RANKED, MEANT = "make_selector", "make_relevance_selector", "make_minilm_selector"
RECALL_SETS = {"locomo": "LoCoMo", "realtalk": "REALTALK", "beam100k": "BEAM-100k"}
RECALL_ROWS = {
    "recency": "newest messages (also `trim_messages`)",
    "lethes-greedy": "lethes 1.0.2, greedy",
    "bm25": "BM25, stemmed, stop words",
    "minilm": "MiniLM cosine",
    "mmr": "MiniLM MMR 0.7",
    "dycp-topup": "spans as in DyCP, topped up",
    "hybrid": "BM25 and MiniLM by rank",
    f"plug_eunoe:{OURS}": "eunoe `stable`",
    f"plug_eunoe:{RANKED}": "eunoe `relevance`",
    f"minilm_selector:{MEANT}": "eunoe `relevance` with MiniLM",
}
CACHE_ROWS = {
    "untouched": "untouched (does not fit)",
    "window": "plain window",
    "step": "cut to half when full",
    "langchain": "LangChain `trim_messages`",
    "lethes": "lethes 1.0.2",
    "plug_eunoe:plug": "eunoe `stable`",
}
TOOL_ROWS = {
    "recency, call+result units": "newest calls with their results",
    "bm25, units": "BM25 over calls with their results",
    "identifier coverage, units": "most identifiers for each token",
    "eunoe": "eunoe `stable`",
    "eunoe relevance": "eunoe `relevance`",
}
VALUES_ROWS = {
    "plain window": "plain window",
    "cut to half": "cut to half when full",
    "eunoe": "eunoe `stable`",
    'eunoe {"recall": "never", "carry_share": 0}': (
        'eunoe `stable`, `recall="never"`, `carry_share=0`'
    ),
}
VALIDITY_ROWS = {
    "prefix_cost:window": "plain window",
    "prefix_cost:step": "cut to half when full",
    "plug_peers:langchain": "LangChain `trim_messages`, documented options",
    "plug_peers:lethes": "lethes 1.0.2",
    "plug_eunoe:plug": "eunoe",
}
FUZZED = 300
LATENCY_COLUMNS = ("lethes", "langchain_tiktoken", "langchain")
DASH = "–"

Run = Callable[..., str]


def run_referee(folder: Path, script: str, *arguments: str) -> str:
    """What a referee prints. Some end with 1 where something failed; that is part of the figure."""
    paths = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    path = script if Path(script).is_absolute() else str(folder / script)
    done = subprocess.run(
        [sys.executable, path, *arguments],
        cwd=tempfile.gettempdir(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode > 1:
        raise SystemExit(f"{script} ended with {done.returncode}")
    return done.stdout


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown: the first column to the left, all others to the right."""
    ruler = "|".join(["", "---", *["--:"] * (len(heads) - 1), ""])
    first, *others = (f"| {' | '.join(line)} |" for line in (heads, *rows))
    return "\n".join([first, ruler, *others])


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def recall(run: Run) -> str:
    """Evidence recall at 2,000 / 4,000 tokens, a column for each set."""
    columns: list[Mapping[str, str]] = []
    for name in RECALL_SETS:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "recall.json"
            plugs = [("--plug", row) for row in RECALL_ROWS if ":" in row]
            peers = [row for row in RECALL_ROWS if ":" not in row]
            which = ["--dataset", name, "--budgets", "2000", "4000", "--out", str(out)]
            run("recall.py", *which, *(a for plug in plugs for a in plug), "--selectors", *peers)
            found = json.loads(out.read_text(encoding="utf-8"))
        figures = {k: [f"{row['recall']:.1f}" for row in v["table"]] for k, v in found.items()}
        columns.append({row: " / ".join(pair) for row, pair in figures.items()})
    rows = [[label, *(c.get(row, DASH) for c in columns)] for row, label in RECALL_ROWS.items()]
    return table(["selector", *RECALL_SETS.values()], rows)


def cache(run: Run) -> str:
    """Repeated share, requests over budget or refused, and cost at each price."""
    printed = run("prefix_cost.py", "--plug", "plug_eunoe:plug").split("all suites\n")[1]
    rows = []
    for line in printed.splitlines():
        row = line.replace("|", " ").split()
        if not row or row[0] not in CACHE_ROWS:
            continue
        _, _, _, repeated, _, over, bad, _, *costs, _ = row[: 8 + 5]
        share = f"{float(repeated.rstrip('%')):.1f} %"
        rows.append([CACHE_ROWS[row[0]], share, over, bad, *costs])
    heads = ["policy", "repeated", "over budget", "refused by the provider"]
    return table([*heads, "0.1", "0.25", "0.5", "0.1, writes 1.25"], rows)


def tools(run: Run) -> str:
    """Values of the next call that are there, at 500 / 1,000 / 2,000 tokens."""
    plugs = [a for name in (OURS, RANKED) for a in ("--plug", f"plug_eunoe:{name}")]
    there: dict[str, list[str]] = {}
    for line in run("tool_recall.py", *plugs).splitlines():
        name, _, support, *_ = [*cells(line), "", ""]
        there.setdefault(name, []).append(support)
    rows = [[label, " / ".join(there[name])] for name, label in TOOL_ROWS.items()]
    return table(["selector", "values there"], rows)


def values(run: Run, folder: Path) -> str:
    """Cost, and values of the next call that are there, at 3,000 and 4,000 tokens."""
    script = str(Path(__file__).with_name("values_at_calls.py"))
    without = '{"recall": "never", "carry_share": 0}'
    figures: dict[str, list[str]] = {}
    for line in run(script, str(folder), "--settings", without).splitlines():
        _, name, cost, there, *_ = [*cells(line), "", "", ""]
        figures.setdefault(name, []).append(f"{cost}, {there} %")
    rows = [[label, *figures[name]] for name, label in VALUES_ROWS.items()]
    heads = [f"{budget} tokens: cost, values there" for budget in ("3,000", "4,000")]
    return table(["policy", *heads], rows)


def validity(run: Run) -> str:
    """How many of the same nasty conversations fail, and how many fault cases."""
    rows = []
    for plug, label in VALIDITY_ROWS.items():
        with tempfile.TemporaryDirectory() as out:
            fuzzed = run(
                "fuzz.py", "--plug", plug, "--cases", str(FUZZED), "--seed", "1", "--out", out
            )
        failing = re.findall(r"(\d+) failing", fuzzed)[-1]
        judged = run("run_cases.py", "--plug", plug)
        counts = re.findall(r"(\d+) passed, (\d+) failed, (\d+) skipped", judged)[-1]
        rows.append([label, failing, " / ".join(counts)])
    heads = ["", f"failing of the first {FUZZED} conversations"]
    return table([*heads, "fault cases passed / failed / not applicable"], rows)


def latency(run: Run) -> str:
    """CPU ms of one request, cold / warm, ours beside the peers."""
    printed = run("latency.py", "--plug", "plug_eunoe:make", "--repeats", "7")
    rows = []
    for part in printed.split("\nn=")[1:]:
        figures: dict[str, tuple[str, str, str]] = {}
        for line in part.splitlines()[2:]:
            if m := re.match(
                r"\s+(\S+)\s+([\d.]+)\s+\S+ to \S+\s+([\d.]+)\s+\d+\s+\d+\s+(\S+)", line
            ):
                figures[m[1]] = m[2], m[3], m[4]
        mine = figures["plug_eunoe:make"]
        pairs = [mine, *(figures[name] for name in LATENCY_COLUMNS)]
        peaks = f"{mine[2]} / {figures['lethes'][2]}"
        size = f"{int(part.split()[0]):,}"
        rows.append([size, *(f"{cold} / {warm}" for cold, warm, _ in pairs), peaks])
    heads = ["messages", "eunoe cold / warm", "lethes 1.0.2", "`trim_messages`, tiktoken"]
    return table([*heads, "`trim_messages`, approximate", "peak MB, eunoe / lethes"], rows)


def main() -> None:
    """Print the tables, and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    folder = args.folder.resolve()
    run = partial(run_referee, folder)
    makers: dict[str, Callable[[Run], str]] = {
        "recall": recall,
        "cache": cache,
        "tools": tools,
        "values": partial(values, folder=folder),
        "validity": validity,
        "latency": latency,
    }
    for name in args.parts or makers:
        made = makers[name](run)
        print(f"\n{name}\n\n{made}", flush=True)
        if args.write:
            text = README.read_text(encoding="utf-8")
            README.write_text(replace_part(text, f"figures:{name}", made), encoding="utf-8")


if __name__ == "__main__":
    main()
