"""Law: what is fine stays as it is; the same input gives the same bytes, in any process."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, bytes_of, sent_by
from eunoe import BudgetError
from judge import count_list, current_turn, faults
from strategies import budgets, chats, policies, profiles

pytestmark = pytest.mark.property


def reasons(messages) -> bool:
    return any("reasoning_content" in m for m in messages)


@settings(max_examples=150)
@given(messages=chats(), profile=profiles, policy=policies, room=st.integers(0, 500))
def test_a_valid_list_that_fits_comes_back_object_by_object(messages, profile, policy, room):
    size = ask(messages).report.tokens_before
    broken = bool(faults(messages, profile, thinking=reasons(messages)))
    try:
        result = ask(messages, size + room, profile, policy=policy)
    except BudgetError:
        assert broken  # what mends it takes room too
        return
    if broken:
        assert result.report.mended or result.report.cut or sent_by(result) == messages
        return
    assert [id(m) for m in sent_by(result)] == [id(m) for m in messages]
    assert result.report.mended == ()
    assert not any(p.changed for p in result.placements)


@settings(max_examples=150)
@given(messages=chats(flags=True), profile=profiles, policy=policies, data=st.data())
def test_applied_twice_is_applied_once(messages, profile, policy, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    try:
        once = sent_by(ask(messages, budget, profile, policy=policy, on_overflow="truncate"))
        twice = sent_by(ask(once, budget, profile, policy=policy, on_overflow="truncate"))
    except BudgetError:
        return
    assert bytes_of(twice) == bytes_of(once)


@settings(max_examples=60)
@given(messages=chats(flags=True, odd=True), profile=profiles, policy=policies, data=st.data())
def test_a_copy_gives_the_same_bytes(messages, profile, policy, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    answers = []
    for chat in (messages, copy.deepcopy(messages)):
        try:
            result = ask(chat, budget, profile, policy=policy)
            answers.append(bytes_of([sent_by(result), result.report.to_dict()]))
        except BudgetError as error:
            answers.append(f"{error.needed} {error.allowed}")
    assert answers[0] == answers[1]


_MANY = """
import hashlib, json
from random import Random
from ask import ask, bytes_of, sent_by
from eunoe import BudgetError
from judge import count_list
from strategies import ENDINGS, POLICIES, PROFILE_NAMES, STEPS, build_chat
draw, seen = Random(5), hashlib.sha256()
for case in range(60):
    steps = [(draw.choice(list(STEPS)), draw.randrange(120), draw.randrange(120)) for _ in range(9)]
    ending = (draw.choice(list(ENDINGS)), draw.randrange(120), draw.randrange(120))
    chat = build_chat(1, steps, ending)
    budget = int(count_list(chat) * draw.random()) + 1
    profile, policy = draw.choice(PROFILE_NAMES), draw.choice(POLICIES)
    try:
        result = ask(chat, budget, profile, policy=policy, on_overflow="truncate")
        seen.update(bytes_of([sent_by(result), result.report.to_dict()]).encode())
    except BudgetError as error:
        seen.update(str(error).encode())
print(seen.hexdigest())
"""


def test_other_processes_with_other_hash_seeds_give_the_same_bytes(repository: Path):
    paths = [str(repository / folder) for folder in ("core", "tests")]
    digests = set()
    for seed in ("0", "1", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", _MANY],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        digests.add(run.stdout)
    assert len(digests) == 1
