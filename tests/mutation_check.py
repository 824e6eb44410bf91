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
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CORE = "core/eunoe"
STAGES = "tests/core/stages"
TABLES = {
    "atoms": [f"{STAGES}/test_atoms.py", "tests/core/pipeline/test_mending.py"],
    "validity": [f"{STAGES}/test_validity.py"],
    "window": [f"{STAGES}/test_window.py"],
    "flags": [f"{STAGES}/test_flags.py"],
    "clipping": [f"{STAGES}/test_clipping.py"],
    "graphemes": [f"{STAGES}/test_clipping.py"],
    "own_servers": [f"{STAGES}/test_own_servers.py", "tests/core/pipeline/test_call_ids.py"],
    "view": ["tests/core/pipeline/test_mending.py"],
    "continuity": ["tests/core/pipeline/test_continuity.py"],
    "nesting": ["tests/core/domain/test_nesting.py"],
    "checking": ["tests/core/domain/test_checking.py"],
    "ground": ["tests/core/pipeline/test_flags_at_work.py"],
    "quoting": [f"{STAGES}/test_quoting.py"],
    "slots": ["tests/core/pipeline/test_mending.py", "tests/core/pipeline/test_call_ids.py"],
    "arrangement": [f"tests/core/pipeline/test_{x}.py" for x in ("mending", "recalling")],
    "fitting": ["tests/core/pipeline/test_fitting.py"],
    "shortening": [f"tests/core/pipeline/test_{x}.py" for x in ("fitting", "shortening")],
    "carrying": ["tests/core/pipeline/test_carrying.py"],
    "stable": ["tests/core/pipeline/test_carrying.py", "tests/property/test_prefix.py"],
    "answering": ["tests/core/pipeline/test_fitting.py"],
    "asking": ["tests/core/pipeline/test_fitting.py"],
}
PIPELINE = [
    f"tests/core/pipeline/test_{name}.py"
    for name in ("mending", "fitting", "flags_at_work", "users")
]
LAWS = ["tests/property"]
_PATIENCE = 300
"""Seconds after which a run of tests is given up: nothing is proved then."""
_UNDECIDED = "undecided: the tests took too long"
_STALE = "its line is gone: mend the mutant"


@dataclass(frozen=True)
class Mutant:
    """One line made wrong: ``old`` stands once in the module and becomes ``new``."""

    module: str
    breaks: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """The module's own name."""
        return self.module.rpartition("/")[2]


def mutants_of(module: str, *changes: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(module, *change) for change in changes]


MUTANTS = [
    *mutants_of(
        "stages/atoms",
        (
            "blank messages open no turn",
            "message.shape.substance < 2 or message.shape.approves",
            "message.shape.approves",
        ),
        ("approvals open no turn", "substance < 2 or message.shape.approves:", "substance < 2:"),
        (
            "pictures of results open no turn",
            "return not (after_result and",
            "return not (False and",
        ),
        (
            "results behind their call are its own",
            "self._give(call, i)\n            elif",
            "pass\n            elif",
        ),
        (
            "a second result goes to no other call",
            "elif call is None or message.answers not in ids:",
            "else:",
        ),
        (
            "one result for each id",
            "and same_id and result.answers not in got",
            "and same_id",
        ),
        (
            "tool calls take no function results",
            'return result.role == "tool" and same_id',
            "return same_id",
        ),
        ("an early result needs a fresh id", "not in used_before", "not in ()"),
        (
            "an early result needs one call of its id",
            "and called[answer] == 1",
            "and called[answer] >= 1",
        ),
        ("one stray of an id", "and loose[answer] == 1", "and loose[answer] >= 1"),
        ("the nearest call before", "self._give(calls.pop(), i)", "self._give(calls.pop(0), i)"),
        ("twin ids are broken", 'problem = "one id for two calls" if', 'problem = "" if'),
        (
            "missing results are named",
            "missing = tuple(c for c in ids if c not in got)",
            "missing = ()",
        ),
        (
            "an orphan is broken",
            "atoms.append(atom_of((i,), turn, broken=problem))",
            "atoms.append(atom_of((i,), turn))",
        ),
        ("approvals travel with their call", "travelling[i] = place", "pass"),
        (
            "approvals are not moved",
            "if place == i - 1 or (place < i and",
            "if place < i or (place < i and",
        ),
        (
            "system messages are known",
            "Atom(i, indices, turn, message.is_system)",
            "Atom(i, indices, turn, False)",
        ),
    ),
    *mutants_of(
        "stages/validity",
        ("unknown roles", "if m.role not in _ROLES or m.shape.problem", "if m.shape.problem"),
        (
            "orphans at the start",
            'yield Violation("orphan", i, f"a result',
            'yield from () and ("orphan", i, f"a result',
        ),
        ("double results", "elif answer in got:", "elif False:"),
        (
            "half answered at the end",
            "if missing and (got or j < len(messages)):",
            "if missing and j < len(messages):",
        ),
        (
            "open calls at the end are fine",
            "if missing and (got or j < len(messages)):",
            "if missing:",
        ),
        (
            "old calls without result",
            "elif j < last:\n                yield",
            "elif False:\n                yield",
        ),
        (
            "late systems",
            "if messages[i].is_system:\n                yield",
            "if False:\n                yield",
        ),
        ("user first", 'if body and messages[first].role != "user":', "if False:"),
        ("alternation", "if messages[i].role == messages[j].role:", "if False:"),
        (
            "tool flow does not alternate",
            'in ("user", "assistant") and not message.calls',
            'in ("user", "assistant")',
        ),
        (
            "blank where refused",
            "shape.substance == 1 and profile.blank_refused and message.role",
            "False and message.role",
        ),
        ("half characters", "if shape.half_character:", "if False:"),
        ("server tools", "if shape.server_result_alone or (", "if ("),
        ("thinking first", "if profile.thinking_first and shape.thinking_late:", "if False:"),
        ("reasoning pairs", "if profile.reasoning_pairs and shape.reasoning_last:", "if False:"),
        ("reasoning with calls", "and not shape.reasoning_field", "and False"),
        ("item ids", "items.update(ids)", "pass"),
    ),
    *mutants_of(
        "stages/window",
        ("cut to the low mark", "head + int(free * marks.low)", "head + int(free)"),
        ("system tokens are beside", "head = int(timeline.system_tokens[request])", "head = 0"),
        (
            "never past the current turn",
            '.searchsorted(needed, side="left")), current)',
            '.searchsorted(needed, side="left")), current + 1)',
        ),
        ("the turn before stays if it may", "found -= before <= (low + top) // 2", "pass"),
        ("the next turn is cut again", "place = later - 1", "break"),
        (
            "exactly full is not cut",
            'timeline.tokens.searchsorted(limit, side="right")',
            'timeline.tokens.searchsorted(limit, side="left")',
        ),
    ),
    *mutants_of(
        "pipeline/slots",
        ("broken atoms stay out", 'return "" if running else atom.broken', 'return ""'),
        (
            "a dead call under a used id stays out",
            "if self.repeated_ids.intersection(atom.unanswered)",
            "if False",
        ),
        (
            "a running call is left alone",
            "if len(atom.indices) == 1 and atom.indices[0] == last:",
            "if False:",
        ),
        (
            "stubs stand behind the results",
            "return [*slots[:behind], *stubs, *slots[behind:]]",
            "return [*slots, *stubs]",
        ),
        ("half characters are mended", "raw, changed = without_half_characters(raw), True", "pass"),
        ("empty results get a text", "if blank and message.is_result:", "if False:"),
        ("blank text goes where it is refused", "== 1 and self.profile.blank_refused", "== 3"),
        (
            "blocks' ids are rewritten too",
            "with_short_call_ids(raw, form.fits,",
            "(lambda r, f, n: r)(raw, form.fits,",
        ),
        (
            "old results too get a text",
            "if blank and message.is_result:",
            "if message.shape.substance == 0 and message.is_result:",
        ),
        ("moves are reported", "self._note_moves(atom)\n", "pass\n"),
        (
            "odd content becomes text",
            'if message.shape.problem.startswith("content is "):',
            "if False:",
        ),
        ("blank system messages stay", "or not message.is_system", "or True"),
    ),
    *mutants_of(
        "pipeline/arrangement",
        ("systems to the head", "if profile.system_at_head:", "if False:"),
        (
            "roles alternate",
            "if profile.alternate:\n        arranged",
            "if False:\n        arranged",
        ),
        ("a marker before a first answer", "arranged.insert(body, _marker(mark, read))", "pass"),
        ("a marker between answers", "out.append(_marker(PAUSE_MARK, read))", "pass"),
        (
            "users are merged in order",
            "merged_users([s.raw for s in self._slots])",
            "merged_users([s.raw for s in self._slots[::-1]])",
        ),
        (
            "merged messages are remembered",
            "parts = (*self._parts, *(i for s in self._slots for i in s.parts))",
            "parts = last.parts",
        ),
        ("steps before a merge are remembered", "self._parts += earlier.parts", "pass"),
        (
            "no list is empty",
            "elif profile.user_first or not arranged:",
            "elif profile.user_first:",
        ),
        (
            "the block stands before the question",
            "slots.insert(place, Slot(",
            "slots.insert(place + 1, Slot(",
        ),
        (
            "a block without a question parts nothing",
            "if question is None or place is None:",
            "if place is None:",
        ),
        ("a blank user parts no steps", "return _BLANK_LEFT_OUT\n    steps", "pass\n    steps"),
        (
            "the block is put into the question",
            "if question is not None and profile.alternate:",
            "if False:",
        ),
        (
            "calls are quoted in words",
            'said += [f"[calls {c.name}({c.arguments})]" for c in message.calls]',
            "pass",
        ),
    ),
    *mutants_of(
        "pipeline/fitting",
        (
            "over the budget gives way",
            "while request.allowed is not None and built.tokens > request.allowed:",
            "while False:",
        ),
        (
            "what a flag keeps goes last",
            "or a.turn > last_turn or not kept.isdisjoint(a.indices)",
            "or a.turn > last_turn",
        ),
        (
            "system messages never give way",
            "if a.system or a.turn > last_turn",
            "if a.turn > last_turn",
        ),
        ("a dropped turn is a cut", "view.cut = cut_at(request, start)\n", "pass\n"),
    ),
    *mutants_of(
        "pipeline/shortening",
        (
            "the newest results stay",
            "if atom is newest:",
            "if False:",
        ),
        ("stubs only where they save", "if text and size < whole:", "if text:"),
        ("shown pictures go with their result", "view.left_out.update(shown)", "pass"),
        ("shown pictures take room", "for k in (i, *shown))", "for k in (i,))"),
        (
            "what an approval says stays",
            "[i for i in behind if not messages[i].shape.approves]",
            "behind",
        ),
        (
            "short words stay beside elided pictures",
            "if text and (pictures or request.messages[i].media) and",
            "if False and",
        ),
        ("pictures are not text to be clipped", "tokens - pictures)", "tokens)"),
        ("what is left out takes nothing", "if i in view.left_out:\n        return 0", "pass"),
        (
            "stubs before clips",
            "for shorten in (_stub_results, _clip_results, _leave_out_steps):",
            "for shorten in (_clip_results, _leave_out_steps):",
        ),
        (
            "results are clipped",
            "for shorten in (_stub_results, _clip_results, _leave_out_steps):",
            "for shorten in (_stub_results, _leave_out_steps):",
        ),
        (
            "the question only if truncated",
            'if on_overflow == "truncate":',
            'if on_overflow != "keep":',
        ),
        ("raise raises", 'if on_overflow == "raise":', "if False:"),
        ("clips are said", "view.truncated = True\n    return max", "pass\n    return max"),
        ("the turn's cut is declared", "view.cut = cut_at(request, request.turn_start)", "pass"),
        (
            "what was said stays in part",
            "if any(s.parts and not s.message.is_system for s in without.slots):",
            "if True:",
        ),
        (
            "shortened steps are counted as they are",
            "return request.count([shortened_raw(request.raws[i], text, fate)])",
            "return request.counter.count(text) + 8",
        ),
    ),
    *mutants_of(
        "stages/own_servers",
        ("forms of ids", "not m.shape.legacy_call and not form.fits(c.id)", "False"),
        ("an answer last", 'last.role != "assistant" or last.calls:', "True:"),
        ("a prefix may stand last", "and not last.shape.prefix", "and True"),
        ("a blank at the end", "last.text[-1:].isspace()", "False"),
        ("the number of tools", "if most and len(tools) > most:", "if False:"),
        ("names in schemas", "isinstance(name, str) and not form.fits(name)", "False"),
        ("names of speakers", "message.name and not speaker.fits(message.name)", "False"),
    ),
    *mutants_of(
        "pipeline/carrying",
        ("dropped ones are not carried", "and barred.isdisjoint", "and True or barred.isdisjoint"),
        ("pinned ones are not carried", "if kept.isdisjoint(a.indices)", "if True"),
        ("the room for it is kept", "budget - BLOCK_TOKENS, barred", "1 << 30, barred"),
    ),
    *mutants_of(
        "pipeline/stable",
        ("what is carried is in the view", "_put_carried(view, carried)\n", "pass\n"),
        (
            "leaving it out is declared",
            "declared |= _has_room(",
            "declared |= False and _has_room(",
        ),
        (
            "recall does not hide it",
            "+ carried.tokens <= marks.room\n",
            "+ carried.tokens <= marks.room - marks.extra\n",
        ),
    ),
    *mutants_of(
        "pipeline/view",
        (
            "answers at the head go",
            "if not atoms or any(a.first >= request.turn_start for a in atoms):",
            "if True:",
        ),
        ("with their results", "gone = {i for a in atoms for i in a.indices}", "gone = set(early)"),
    ),
    *mutants_of(
        "pipeline/continuity",
        (
            "a mend that reaches back is declared",
            "if not _reaches_back(",
            "if True or not _reaches_back(",
        ),
        (
            "others are not",
            "return _outline(built.slots)[: len(outline)] != outline",
            "return True",
        ),
        (
            "room that is given back",
            "if request.allowed is not None and before.tokens > request.allowed:",
            "if False:",
        ),
        (
            "the place of the window stays",
            "replace(cut, declared=True)\n",
            "Cut(index=0, tokens_dropped=0, declared=True)\n",
        ),
    ),
    *mutants_of(
        "pipeline/asking",
        ("tools take room", "/ self.factor) - self.tool_tokens)", "/ self.factor))"),
        ("the reserve takes room", "(self.limit - self.reserve)", "(self.limit)"),
    ),
    *mutants_of(
        "pipeline/answering",
        (
            "errors count tools and reserve",
            "BudgetError(asked.in_all(error.needed), asked.limit)",
            "BudgetError(error.needed, asked.limit)",
        ),
    ),
    *mutants_of(
        "stages/quoting",
        ("closing tags are broken", '.replace("</", "<\\\\/")', ""),
        ("blocks of ours are broken", '.replace("<recalled", "<\\\\recalled")', ""),
        ("speakers are defused", "defuse(name).split()", "name.split()"),
    ),
    *mutants_of(
        "stages/flags",
        ("off is no flag", 'if name != "off")', ")"),
        ("pins do not stand", 'if sign == "+" and name not in MESSAGE_FLAGS:', 'if sign == "+":'),
        (
            "bad values spoil nothing",
            "return FlagReading(rest=text, problems=tuple(problems))",
            "return FlagReading(rest=text[place:], problems=tuple(problems))",
        ),
        ("locked flags are reset", "flags=replace(reading.flags, **back)", "flags=reading.flags"),
    ),
    *mutants_of(
        "stages/clipping",
        ("a clip fits", "if size <= max_tokens:", "if True:"),
    ),
    *mutants_of(
        "domain/graphemes",
        (
            "no cut before a vowel sign",
            'unicodedata.category(after) in ("Mn", "Me", "Mc") or',
            "False or",
        ),
        ("no cut inside a flag", "return (place - start) % 2 == 1", "return False"),
        ("no cut inside a line break", 'or (before == "\\r" and after == "\\n"):', ":"),
        ("no cut behind a joiner", 'or before == "\\u200d" or', "or"),
    ),
    *mutants_of(
        "domain/nesting",
        ("circles end", "elif id(item) in inside:", "elif False:"),
        ("keys are sorted", "sorted(item, key=_key_text) if sort_keys else item", "item"),
        ("siblings are no circle", "inside.discard(item)", "pass"),
        ("circles are copied once", "elif id(item) in copies:", "elif False:"),
    ),
    *mutants_of(
        "domain/checking",
        ("True is no number", "if isinstance(value, bool) or not", "if not"),
        ("no number is no number", "not above <= value", "value < above"),
    ),
    *mutants_of(
        "pipeline/ground",
        (
            "no flag above the cap",
            "most if full else min(most, target or most)",
            "0 if full else (target or most)",
        ),
    ),
]


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
