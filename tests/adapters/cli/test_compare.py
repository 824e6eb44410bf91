"""The tables: what stands in them is what happened."""

from __future__ import annotations

import json

import pytest

from eunoe_cli.compare import default_budget
from eunoe_cli.contenders import CONTENDERS, Contender, Contest
from eunoe_cli.replay import Tally, replay_chat, request_points
from eunoe_cli.ruler import Ruler


def test_requests_are_before_each_answer_and_at_the_end(chat_with_tools):
    assert request_points(chat_with_tools) == [1, 3, 5]
    assert request_points(chat_with_tools[:4]) == [1, 3]
    greeting = [{"role": "assistant", "content": "Hi, I am Bot."}, *chat_with_tools]
    assert request_points(greeting) == [2, 4, 6]
    assert request_points([]) == []


@pytest.mark.parametrize(
    ("total", "budget"), [(100_000, 8000), (16_000, 8000), (15_900, 8000), (4579, 2300), (31, 20)]
)
def test_the_default_budget(total, budget):
    assert default_budget(total)[0] == budget


def test_the_untouched_chat_repeats_all_but_what_is_new(chat):
    contest = Contest(messages=chat, budget=300, ruler=Ruler(chat))
    points = request_points(chat)
    tally = replay_chat(CONTENDERS[0], contest, points, lambda done: None)
    sizes = [contest.ruler.total(chat[:k]) for k in points]
    assert tally.requests == len(points)
    assert tally.sent == sum(sizes)
    assert tally.repeated == sum(size - 3 for size in sizes[:-1])
    assert tally.over == sum(size > 300 for size in sizes)
    assert tally.cost(1.0) == tally.sent
    assert tally.cost(0.0) == tally.sent - tally.repeated


def test_a_policy_that_fails_is_reported_not_counted(chat):
    def start(contest):
        def choose(k):
            raise ValueError("no idea")

        return choose

    contest = Contest(messages=chat, budget=300, ruler=Ruler(chat))
    points = request_points(chat)
    broken = Contender(name="x", label="x", start=start)
    tally = replay_chat(broken, contest, points, lambda done: None)
    assert (tally.requests, tally.failed, tally.fault) == (0, len(points), "no idea")


def test_accounts_add_up():
    a, b = Tally(requests=1, sent=10, fault="x"), Tally(requests=2, sent=5, repeated=1)
    a.add(b)
    assert (a.requests, a.sent, a.repeated, a.fault) == (3, 15, 1, "x")


def test_json_has_every_policy_and_the_same_numbers_twice(eunoe, write, chat):
    path = write(chat)
    runs = [eunoe("compare", path, "--budget", "400", "--json") for _ in range(2)]
    plain = [json.loads(out) for code, out, _ in runs if code == 0]
    for one in plain:
        for tally in [*one["all"].values(), *one["chats"][0]["policies"].values()]:
            tally.pop("cpu_ms")
    assert plain[0] == plain[1]
    assert list(plain[0]["all"]) == [c.label for c in CONTENDERS]
    ours = plain[0]["all"]["eunoe stable"]
    assert ours["over"] == ours["refused"] == ours["incomplete"] == ours["failed"] == 0
    assert plain[0]["all"]["untouched"]["cost"] == 1.0


def test_one_table_a_chat_and_one_over_all(eunoe, write, chat, chat_with_tools):
    path = write([{"messages": chat}, {"title": "Tools", "messages": chat_with_tools}])
    code, out, err = eunoe("compare", path, "--policies", "window,stable")
    assert (code, err) == (0, "")
    assert out.count("sliding window") == 3
    assert "chat.json #2 (Tools): 5 messages, 3 requests" in out
    assert "all 2 chats" in out
    assert "half of the chat" in out
    assert "langchain" not in out
    assert "untouched" in out
    assert "repeated: tokens that repeat" in out


def test_a_system_prompt_over_the_budget_is_said(eunoe, write):
    chat = [{"role": "system", "content": "rule " * 300}, {"role": "user", "content": "Hi"}]
    code, out, _ = eunoe("compare", write(chat), "--budget", "100")
    assert code == 0
    assert "System messages and tools alone take" in out


@pytest.mark.parametrize("width", ["30", "60", "120"])
def test_it_keeps_to_the_width(eunoe, write, chat, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    _, out, _ = eunoe("compare", write(chat, "c.json"), "--budget", "400")
    body = [line for line in out.split("\n") if not line.startswith("c.json")]
    assert max(map(len, body)) <= int(width)


def test_progress_goes_to_the_error_output_when_asked(eunoe, write, chat):
    _, out, err = eunoe("compare", write(chat), "--progress")
    assert "request 1 of 13" in err
    assert "request 1 of 13" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "many"], "write 8000 or 8k"),
        (["--budget", "0"], "write 8000 or 8k"),
        (["--price-cached", "2"], "from 0 to 1"),
        (["--price-cached", "x"], "from 0 to 1"),
        (["--policies", "best"], "best is no policy"),
        (["--provider", "nobody"], "invalid choice"),
    ],
)
def test_wrong_use_is_explained(eunoe, write, chat, arguments, words):
    code, _, err = eunoe("compare", write(chat), *arguments)
    assert code == 2
    assert words in err


def test_a_price_of_one_makes_cost_the_share_of_tokens(eunoe, write, chat):
    _, out, _ = eunoe("compare", write(chat), "--budget", "8k", "--price-cached", "1", "--json")
    plain = json.loads(out)
    assert plain["chats"][0]["budget"] == 8000
    assert all(tally["cost"] == 1.0 for tally in plain["all"].values())


def test_without_langchain_the_row_is_left_out_and_said(eunoe, write, chat, monkeypatch):
    monkeypatch.setattr("eunoe_cli.contenders.has_langchain", lambda: False)
    _, out, _ = eunoe("compare", write(chat))
    assert "langchain trim is left out: langchain-core is not installed." in out
    assert out.count("langchain trim") == 1


def test_a_chat_that_langchain_cannot_read_is_said(eunoe, write, chat):
    pytest.importorskip("langchain_core")
    odd = [{"role": "narrator", "content": "Once"}, *chat]
    _, out, _ = eunoe("compare", write(odd), "--policies", "langchain", "--budget", "400")
    assert "langchain trim: no list for 13 requests; cannot read this chat" in out
