"""Tool loops through the real host: the filter runs before every call of the model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from e2e.talk import FILTER, PLAIN_MODEL, as_messages, long_chat, office_chat, words
from e2e.upstream import Json, Reply, Upstream
from e2e.webapi import WebApi

BUDGET = 2500
STEP = 600
"""More tokens than a step of the tool below adds."""
TOOL = '''
class Tools:
    def look_up(self, topic: str) -> str:
        """
        Look a topic up in the archive.
        :param topic: what to look for
        """
        return f"Found about {topic}: " + "archive line with some words. " * 80
'''


@pytest.fixture
def archive(admin: WebApi) -> Iterator[str]:
    """A workspace tool whose answers have about 500 tokens each -> its id."""
    form = {"id": "archive", "name": "Archive", "content": TOOL, "meta": {"description": ""}}
    admin.call("POST", "/api/v1/tools/create", form)
    yield "archive"
    admin.call("DELETE", "/api/v1/tools/id/archive/delete")


def _looks_up(hops: int, calls: int) -> Callable[[Json], Reply]:
    """A model that looks something up so many times before it answers."""

    def answer(body: Json) -> Reply:
        newest = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user")
        done = sum(bool(m.get("tool_calls")) for m in body["messages"][newest:])
        if done >= hops:
            return Reply("That is all.")
        topics = [("look_up", {"topic": f"topic {done}-{n}"}) for n in range(calls)]
        return Reply(calls=tuple(topics))

    return answer


@pytest.mark.parametrize(("hops", "calls"), [(6, 1), (2, 3)])
def test_every_hop_of_a_tool_loop_fits(
    admin: WebApi, fresh: Upstream, archive: str, hops: int, calls: int
) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    fresh.answer = _looks_up(hops, calls)
    tools = {"tool_ids": [archive], "params": {}}
    with admin.workspace_model("worker", PLAIN_MODEL) as worker:
        last = admin.import_chat(worker, long_chat(40))
        turn = admin.ask(worker, "Look six topics up and report.", last, **tools)
        fresh.answer = lambda body: Reply("Done.")
        again = admin.ask(worker, "Thanks. Go on.", (turn.chat_id, turn.answer_id), **tools)
    assert turn.message["content"].endswith("That is all.")
    assert again.message["content"] == "Done."
    assert len(fresh.requests) == hops + 2
    for seen in fresh.requests:
        assert seen.problems == ()
        assert seen.tokens <= BUDGET, [s.tokens for s in fresh.requests]
        assert "Look six topics up" in str(seen.messages) or seen is fresh.requests[-1]
    assert len(turn.status_lines) == hops + 1


def test_calls_that_wait_for_a_permission_count_once(
    admin: WebApi, fresh: Upstream, archive: str
) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    fresh.answer = _looks_up(2, 1)
    with admin.workspace_model("careful", PLAIN_MODEL) as worker, admin.with_permissions():
        told = long_chat(40)
        chat, last = admin.import_chat(worker, told)
        question = {"id": "q1", "parentId": last, "childrenIds": [], "role": "user"}
        question |= {"content": "Look two topics up.", "timestamp": 0, "models": [worker]}
        given = {"tool_ids": [archive], "params": {"tool_approval_mode": "ask"}}
        turn = admin.start(worker, question, chat, **given)
        for number in range(2):
            admin.allow_call(turn, number)
        turn = admin.finished(turn)
    assert turn.message["content"].endswith("That is all.")
    assert len(fresh.requests) == len(turn.status_lines) == 3
    for line in turn.status_lines:
        assert 0 < int(line.rpartition(" · ")[2].split()[0]) <= len(as_messages(told)), line
    for seen in fresh.requests:
        assert seen.problems == ()
        assert seen.tokens <= BUDGET


def test_what_was_recalled_stays_through_a_tool_loop(
    admin: WebApi, fresh: Upstream, archive: str
) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    fresh.answer = _looks_up(2, 1)
    with admin.workspace_model("worker", PLAIN_MODEL) as worker:
        last = admin.import_chat(worker, office_chat())
        question = "On which port does our database listen, and since when? Look it up."
        admin.ask(worker, question, last, tool_ids=[archive], params={})
    assert len(fresh.requests) == 3
    for before, after in itertools.pairwise(fresh.requests):
        if before.tokens + STEP <= BUDGET:  # else it makes room
            assert after.messages[: len(before.messages)] == before.messages
    for seen in fresh.requests:
        assert seen.problems == ()
        assert seen.tokens <= BUDGET
        assert "54329" in str(seen.messages)


def test_flags_count_in_every_step(admin: WebApi, fresh: Upstream, archive: str) -> None:
    admin.set_valves(FILTER, {"max_tokens": 3 * BUDGET})
    fresh.answer = _looks_up(3, 1)
    with admin.workspace_model("worker", PLAIN_MODEL) as worker:
        last = admin.import_chat(worker, office_chat() * 2)
        question = f"!target={BUDGET} Look the notes up."
        turn = admin.ask(worker, question, last, tool_ids=[archive], params={})
    assert all(" of 2.5k" in line for line in turn.status_lines)
    assert len(fresh.requests) == 4
    for seen in fresh.requests:
        assert seen.problems == ()
        assert seen.tokens <= BUDGET
        assert "!target" not in str(seen.messages)


def test_the_schemas_of_the_hosts_own_tools_count(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"default_window": 16_000})
    fresh.reset(window=16_000 * 85 // 100)
    last = admin.import_chat(PLAIN_MODEL, long_chat(300))
    turn = admin.ask(PLAIN_MODEL, "And now?", last, params={})
    assert turn.message["content"] == "echo: And now?"
    assert len(fresh.requests[0].body["tools"]) > 10
    assert fresh.requests[0].problems == ()


def test_broken_pairs_of_a_program_are_mended(admin: WebApi, fresh: Upstream) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    messages = [
        *as_messages(long_chat(2)),
        {"role": "tool", "tool_call_id": "lost", "content": words(20, 1)},
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "user", "content": "Never mind. What now?"},
    ]
    admin.complete(PLAIN_MODEL, messages)
    assert fresh.requests[0].problems == ()
