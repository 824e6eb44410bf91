"""Breaks the rules of the core one by one, in a copy, and shows that some test notices.

    python tests/mutation_check.py                    all mutants
    python tests/mutation_check.py atoms fitting      those of some modules
    python tests/mutation_check.py --list

By hand or with `make mutants`; too slow for every check. Exit status 0 if all are killed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutants import MUTANTS, Mutant

REPOSITORY = Path(__file__).resolve().parent.parent
CORE = "core/eunoe"
STAGES = "tests/core/stages"
PIPES = "tests/core/pipeline"


def _pipes(*names: str) -> list[str]:
    """The test modules of such names, wherever below the pipeline's they are."""
    found = [next((REPOSITORY / PIPES).rglob(f"test_{name}.py")) for name in names]
    return [str(path.relative_to(REPOSITORY)) for path in found]


TABLES = {
    "atoms": [f"{STAGES}/test_atoms.py", *_pipes("mending", "block_results")],
    "result_blocks": ["tests/core/wire/test_result_blocks.py", *_pipes("block_results")],
    "part_kinds": ["tests/core/wire/test_part_kinds.py", "tests/core/wire/test_openai.py"],
    "given_forms": ["tests/core/wire/test_given_forms.py"],
    "validity": [f"{STAGES}/test_validity.py", *_pipes("block_results")],
    "window": [f"{STAGES}/test_window.py"],
    "flags": [f"{STAGES}/test_flags.py"],
    "clipping": [f"{STAGES}/test_clipping.py"],
    "graphemes": [f"{STAGES}/test_clipping.py"],
    "own_servers": [f"{STAGES}/test_own_servers.py", *_pipes("call_ids")],
    "view": _pipes("mending", "carrying", "late_results", "fates"),
    "continuity": _pipes("continuity"),
    "nesting": ["tests/core/domain/test_nesting.py"],
    "profile": ["tests/core/domain/test_profile.py"],
    "checking": ["tests/core/domain/test_checking.py"],
    "linting": _pipes("linting"),
    "cost": ["tests/core/domain/test_cost.py", "tests/core/domain/test_report.py"],
    "priced_limit": [f"{STAGES}/accounting/test_priced_limit.py"],
    "request_cost": [f"{STAGES}/accounting/test_request_cost.py"],
    "arguments": _pipes("arguments"),
    "budget": ["tests/core/domain/test_budget.py", *_pipes("arguments")],
    "embedding": _pipes("advice"),
    "memory": _pipes("memory"),
    "transcript": _pipes("memory"),
    "flag_limits": _pipes("flags_at_work"),
    "quoting": [f"{STAGES}/test_quoting.py", *_pipes("mending")],
    "slots": _pipes("block_results", "mending", "call_ids", "late_results", "shortening"),
    "arrangement": _pipes("mending", "recalling", "shortening", "carrying"),
    "fitting": _pipes("fitting", "carrying", "proving"),
    "shortening": _pipes("fitting", "shortening"),
    "carrying": _pipes("carrying"),
    "recall_beside": _pipes("recalling", "winners"),
    "stable": [*_pipes("carrying"), "tests/property/test_prefix.py"],
    "request_flow": _pipes("fitting", "money"),
    "asked_request": _pipes("fitting"),
    "request": _pipes("late_results", "structuring"),
    "rewriting": ["tests/core/wire/test_rewriting.py", *_pipes("call_ids")],
    "openai": ["tests/core/wire/test_openai.py", "tests/core/wire/test_result_blocks.py"],
    "in_place": _pipes("flags_at_work"),
    "claims": [f"{STAGES}/test_claims.py"],
    "honest": ["tests/core/pipeline/summaries"],
    "shown_summary": ["tests/core/pipeline/summaries"],
    "writing": ["tests/core/pipeline/summaries", "tests/adapters/backends/test_redis_summaries.py"],
    "sent_windows": _pipes("sent_windows"),
    "calibration": _pipes("usage_book"),
    "gate": [f"{STAGES}/scoring/test_gate.py"],
    "stance": [f"{STAGES}/structure/test_stance.py"],
    "opinion_desk": _pipes("opinion_desk", "structuring"),
    "worker_queue": _pipes("worker_queue"),
    "lifting": _pipes("structuring", "lifting"),
    "proving": _pipes("proving"),
    "tiering": _pipes("tiering"),
    "short_forms": _pipes("short_forms", "tiering"),
    "lethe_walk": [f"{PIPES}/policies/presets/test_lethe_walk.py"],
}
PIPELINE = _pipes("mending", "fitting", "flags_at_work", "users")
LAWS = ["tests/property"]
_PATIENCE = 300
"""Seconds after which a run of tests is given up: nothing is proved then."""
_UNDECIDED = "undecided: the tests took too long"
_STALE = "its line is gone: mend the mutant"


def runs_for(mutant: Mutant) -> list[list[str]]:
    """Tests that may notice, the quickest first."""
    return [TABLES.get(mutant.name, []), PIPELINE, LAWS]


def survives(mutant: Mutant, copy: Path) -> tuple[str, float]:
    """-> who killed the mutant (empty: nobody), and seconds."""
    path = copy / CORE / f"{mutant.module}.py"
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return _STALE, 0.0
    started = time.monotonic()
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        for tests in filter(None, runs_for(mutant)):
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
            environment = {
                **os.environ,
                "PYTHONPATH": str(copy / "core"),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            try:
                run = subprocess.run(
                    command,
                    cwd=copy,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=_PATIENCE,
                )
            except subprocess.TimeoutExpired:
                return _UNDECIDED, time.monotonic() - started
            if run.returncode == 1:
                failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
                return (failed or ["FAILED ?"])[0].split("::")[-1].split(" - ")[0][
                    :60
                ], time.monotonic() - started
            if run.returncode != 0:
                return f"tests do not run ({run.returncode})", time.monotonic() - started
        return "", time.monotonic() - started
    finally:
        path.write_text(text, encoding="utf-8")


NO_SHRINKING = """

from hypothesis import Phase

settings.register_profile(
    "mutants",
    deadline=None,
    database=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("mutants")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="names such as atoms, fitting; default all")
    parser.add_argument("--list", action="store_true", help="names of the mutants, nothing is run")
    asked = parser.parse_args()
    chosen = [m for m in MUTANTS if not asked.modules or m.name in asked.modules]
    if asked.list:
        print(*(f"{m.name:12s} {m.breaks}" for m in chosen), sep="\n")
        return 0
    alive = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        skipped = shutil.ignore_patterns("__pycache__", "e2e", ".hypothesis")
        for name in ("core", "adapters", "standalone", "tests"):
            shutil.copytree(REPOSITORY / name, copy / name, ignore=skipped)
        shutil.copy(REPOSITORY / "pyproject.toml", copy)
        with (copy / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
            conftest.write(NO_SHRINKING)
        for number, mutant in enumerate(chosen, 1):
            killer, seconds = survives(mutant, copy)
            alive += killer in ("", _STALE, _UNDECIDED) or killer.startswith("tests do not")
            verdict = (
                killer
                if killer in (_STALE, _UNDECIDED)
                else f"killed by {killer}"
                if killer
                else "SURVIVED"
            )
            print(
                f"{number:3d}/{len(chosen)} {mutant.name:12s} {mutant.breaks:42s} "
                f"{seconds:5.1f} s  {verdict}",
                flush=True,
            )
    print(f"{len(chosen)} mutants, {alive} not killed")
    return bool(alive)


if __name__ == "__main__":
    sys.exit(main())
