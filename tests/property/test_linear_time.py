"""Law: no text takes time out of proportion to its length, whatever it is made of."""

from __future__ import annotations

from time import process_time

import pytest

from ask import ask
from eunoe.stages.claims import ClaimSource
from eunoe.stages.clipping import clip_sources
from eunoe.stages.scoring.cues import find_cues, is_standing
from eunoe.stages.scoring.live_values import find_values
from eunoe.stages.structure.ghost import entity_type
from eunoe_backends.label_reading import read_labels
from judge import thirds
from strategies import Raw, assistant, calling, result, user

pytestmark = pytest.mark.property

_SIZE = 20_000
_PIECES = (
    "a", "A", "0", " ", "\n", " \n", "\t", ".", "-", "_", "/", ":", "'", '"', "(", "[{", "<a", "=",
    "漢", "ก", "e\u0301", "👍🏽", "aB", "Ab ", "0.", "1-", "a_", "a-", "a.", "\"a", "www", "://",
    "a@", "[a", "*", "| ", "19", "to be ", "<source>", "!",
)  # fmt: skip


def _in_a_result(text: str) -> list[Raw]:
    looked = [user("find invoice 4711"), calling("c0"), result("c0", text), assistant("found")]
    return [*looked, user("look it up again"), calling("c1"), result("c1", "x"), user("which?")]


def _in_an_answer(text: str) -> list[Raw]:
    return [user("the port is 5432"), assistant(text), user("ok"), user("which port was it?")]


def _in_the_question(text: str) -> list[Raw]:
    return [user("the port is 5432"), assistant("ok"), user(f"tell me {text} which I prefer?")]


def _seconds(chat: list[Raw], policy: str) -> float:
    before = process_time()
    ask(chat, 300, policy=policy, on_overflow="truncate")
    return process_time() - before


@pytest.mark.parametrize("where", [_in_a_result, _in_an_answer, _in_the_question])
@pytest.mark.parametrize("policy", ["stable", "lethe"])
def test_a_long_run_of_anything_takes_no_more_than_words_do(where, policy):
    usual = max(_seconds(where("word " * (_SIZE // 5)), policy) for _ in range(2))
    slow = {}
    for piece in _PIECES:
        took = _seconds(where(piece * (_SIZE // len(piece))), policy)
        if took > 20 * usual + 0.5:
            slow[piece] = took
    assert slow == {}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (find_values, "a" * 40_000),
        (find_cues, "\n" * 4_000),
        (is_standing, "prefer" + "\n" * 4_000),
        (entity_type, "_" * 24 + "/" + "_" * 24),
        (ClaimSource([]).lacks, "-" * 20_000),
        (lambda text: clip_sources(text, 9, thirds), "<source>x</source>" + "<source>" * 9_000),
        (lambda text: read_labels(text, 3), " " * 20_000),
        (lambda text: read_labels(text, 3), "K" + " " * 1_500 + "x"),
        (lambda text: read_labels(text, 3), "1" + "*" * 20_000),
    ],
)
def test_what_reads_texts_by_patterns_never_looks_at_a_place_over_and_over(read, text):
    before = process_time()
    read(text)
    assert process_time() - before < 1
