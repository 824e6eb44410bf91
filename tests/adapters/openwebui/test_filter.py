from __future__ import annotations

import asyncio
import copy
import json
import logging
import re
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import pytest

from eunoe_openwebui.firsttext import first_text
from plugin_host import load_plugin

WORD = "river "
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def chat(turns: int, size: int = 40) -> list[dict[str, Any]]:
    """A chat of so many questions and answers and a last question."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}: " + WORD * size})
        messages.append({"role": "assistant", "content": f"Answer {turn}: " + WORD * size})
    return [*messages, {"role": "user", "content": "And now?"}]


def body_of(messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": messages, **more}


# Fitting


@pytest.mark.parametrize("hook", ["request", "inlet"])
def test_a_long_chat_is_fitted_and_kept_messages_are_the_hosts_own(plugin: Any, hook: str) -> None:
    messages = chat(100)
    given = copy.deepcopy(messages)
    sent = plugin.call(hook, body_of(messages), valves={"max_tokens": "1000"})["messages"]
    assert 3 <= len(sent) < len(messages)
    assert messages == given
    assert sent[0] is messages[0]
    assert sent[-1] is messages[-1]
    assert plugin.status.startswith("sent ")
    assert "of 1k" in plugin.status
    assert "left out" in plugin.status


def test_a_short_chat_is_sent_as_it_is_and_other_keys_stay(plugin: Any) -> None:
    body = body_of(chat(2), temperature=0.3, metadata={"chat_id": "c"}, stream=True)
    body["messages"][1]["_of_another_filter"] = {"a": 1}
    given = copy.deepcopy(body)
    assert plugin.call("request", body) == given


def test_fitting_twice_changes_nothing(plugin: Any) -> None:
    body = plugin.call("request", body_of(chat(100)), valves={"max_tokens": 1000})
    once = list(body["messages"])
    assert plugin.call("request", body, valves={"max_tokens": 1000})["messages"] == once


def test_only_public_keys_are_sent(plugin: Any) -> None:
    messages = chat(100)
    messages[3] = {"role": "user", "content": "Our PostgreSQL database has port 54329."}
    messages[-1] = {"role": "user", "content": "Which port has our PostgreSQL database?"}
    sent = plugin.call("request", body_of(messages), valves={"max_tokens": 1000})["messages"]
    assert all(set(message) == {"role", "content"} for message in sent)


@pytest.mark.parametrize(
    ("more", "metadata"),
    [
        ({"max_tokens": 400}, {}),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "description": WORD * 300}}]},
            {},
        ),
        ({}, {"base_system_prompt": "You are a tutor. " + WORD * 300 + "\nBe brief."}),
    ],
)
def test_what_else_is_in_the_request_takes_room(plugin: Any, more: Any, metadata: Any) -> None:
    def kept(**extra: Any) -> int:
        body = body_of(chat(100), **extra.pop("body", {}))
        return len(plugin.call("request", body, valves={"max_tokens": 1500}, **extra)["messages"])

    assert kept(body=more, __metadata__=metadata) < kept(__metadata__={})


def test_the_chats_own_prompt_is_not_counted_twice(plugin: Any) -> None:
    plugin.call("request", body_of(chat(2)), __metadata__={"base_system_prompt": "Be brief."})
    once = plugin.status
    plugin.call("request", body_of(chat(2)), __metadata__={})
    assert plugin.status == once


def test_the_window_of_a_workspace_models_base_counts(plugin: Any) -> None:
    models = {"base": {"id": "base", "openai": {"max_model_len": 1000}}}
    state = types.SimpleNamespace(MODELS=models)
    request = types.SimpleNamespace(app=types.SimpleNamespace(state=state))
    model = {"id": "tutor", "info": {"base_model_id": "base", "params": {}}}
    body = {"model": "tutor", "messages": chat(100)}
    plugin.call("request", body, __model__=model, __request__=request)
    assert "of 850" in plugin.status


def test_a_user_can_only_ask_for_less(plugin: Any) -> None:
    plugin.call(
        "request", body_of(chat(100)), valves={"max_tokens": 2000}, user={"max_tokens": 500}
    )
    assert "of 500" in plugin.status
    plugin.call(
        "request", body_of(chat(100)), valves={"max_tokens": 500}, user={"max_tokens": 2000}
    )
    assert "of 500" in plugin.status


def test_a_user_can_switch_it_off(plugin: Any) -> None:
    messages = chat(100)
    body = plugin.call(
        "request", body_of(messages), valves={"max_tokens": 500}, user={"enabled": "false"}
    )
    assert body["messages"] is messages
    assert plugin.events == []


# Hosts


@pytest.mark.usefixtures("new_host")
def test_inlet_leaves_the_work_to_the_request_hook(plugin: Any) -> None:
    messages = chat(100)
    assert (
        plugin.call("inlet", body_of(messages), valves={"max_tokens": 500})["messages"] is messages
    )
    sent = plugin.call("request", body_of(messages), valves={"max_tokens": 500})["messages"]
    assert len(sent) < len(messages)


@pytest.mark.usefixtures("old_host")
def test_inlet_does_the_work_on_an_old_host(plugin: Any) -> None:
    messages = chat(100)
    sent = plugin.call("inlet", body_of(messages), valves={"max_tokens": 500})["messages"]
    assert len(sent) < len(messages)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.usefixtures("old_host")
def test_an_old_host_tells_the_models_prompt(
    plugin: Any, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    class Models:
        @staticmethod
        def get_model_by_id(model_id: str) -> Any:
            entry = types.SimpleNamespace(params={"system": WORD * 300})

            async def later() -> Any:
                return entry

            return later() if asynchronous else entry

    module = types.ModuleType("open_webui.models.models")
    module.__dict__["Models"] = Models
    plugin.call("inlet", body_of(chat(2)))
    without = plugin.status
    monkeypatch.setitem(sys.modules, "open_webui.models.models", module)
    plugin.call("inlet", body_of(chat(2)))
    assert plugin.status != without


def test_one_line_makes_it_a_switch(repository: Path) -> None:
    example = (repository / "examples" / "openwebui_function.py").read_text(encoding="utf-8")
    plain = load_plugin(example).Filter()
    (line,) = (x[1:].strip() for x in example.splitlines() if "toggle" in x)
    switch = load_plugin(f"{example}\n{line}\n").Filter()
    assert getattr(switch, "toggle", False) is True
    assert getattr(plain, "toggle", False) is False
    assert getattr(load_plugin(example).Filter(), "toggle", False) is False  # nothing stays behind


# Odd input


@pytest.mark.parametrize(
    "messages",
    [
        None,
        [],
        "text",
        [None],
        [{"content": "no role"}],
        [{"role": "user"}],
        [{"role": "user", "content": None}],
        [{"role": "wizard", "content": "hm"}],
        [{"role": 7, "content": "hm"}],
        [{"role": "user", "content": [{"type": "hologram", "data": [1]}, "bare", None]}],
        [{"role": "user", "content": {"text": "a mapping"}}],
        [{"role": "user", "content": "half a sign \ud83d and an other \udc00"}],
        [{"role": "tool", "tool_call_id": "lost", "content": "?"}],
        [{"role": "assistant", "content": None, "tool_calls": "what?"}],
        [{"role": "user", "content": "ok"}, 5],
    ],
)
def test_odd_messages_never_stop_a_chat(plugin: Any, messages: Any) -> None:
    body = {"model": None, "messages": messages}
    assert plugin.call("request", body) is body
    body = {"messages": [*messages, *chat(60)] if isinstance(messages, list) else messages}
    assert plugin.call("request", body, valves={"max_tokens": 300}) is body


def test_a_body_without_messages_is_left_alone(plugin: Any) -> None:
    assert plugin.call("request", {"model": "m"}) == {"model": "m"}
    assert plugin.events == []


@pytest.mark.slow
def test_a_monstrous_tool_result_is_done_with_within_the_deadline(plugin: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"line": "x1 y2"}' * 2_100_000},
    ]
    sent = plugin.call("request", body_of(messages), valves={"max_tokens": 8000})["messages"]
    assert sum(len(str(m.get("content"))) for m in sent) < 100_000
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    "extra",
    [
        {"__user__": None, "__metadata__": None, "__model__": None, "__event_emitter__": None},
        {"__user__": {}, "__metadata__": {"chat_id": None}, "__model__": {}},
        {"__user__": {"valves": object()}, "__model__": {"info": None}},
        {"__user__": {"valves": {"max_tokens": "junk"}}, "__request__": object()},
    ],
)
def test_a_caller_without_anything(plugin: Any, extra: dict[str, Any]) -> None:
    sent = plugin.call("request", body_of(chat(100)), valves={"max_tokens": 500}, **extra)
    assert len(sent["messages"]) < 100


# Faults


def test_a_fault_is_logged_once_without_text_and_the_chat_goes_through(
    plugin: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("what the user wrote")

    monkeypatch.setattr(plugin.instance, "_work", fail)
    messages = chat(3)
    with caplog.at_level(logging.DEBUG, "eunoe"):
        body = plugin.call("request", body_of(messages))
    assert body["messages"] is messages
    assert len(caplog.records) == 1
    assert "what the user wrote" not in caplog.text
    assert "fail:" in caplog.text  # where it happened
    assert plugin.status == "eunoe failed (RuntimeError): sent as it is"


def test_a_fault_in_what_is_told_does_not_cost_what_was_chosen(
    plugin: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("what the user wrote")

    monkeypatch.setattr(plugin.instance, "_shown", fail)
    sent = plugin.call("request", body_of(chat(100)), valves={"max_tokens": 500})["messages"]
    assert len(sent) < 100
    assert "what the user wrote" not in caplog.text


def test_a_slow_machine_sends_the_chat_as_it_is(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin.instance, "_work", lambda *_: time.sleep(0.5))
    messages = chat(3)
    body = plugin.call("request", body_of(messages), valves={"deadline_seconds": 0.1})
    assert body["messages"] is messages
    assert plugin.status == "eunoe took over 0.1 s: sent as it is"


def test_late_the_newest_turns_are_sent_and_the_line_says_so(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = plugin.instance._work

    def slow(request: Any, valves: Any, late: threading.Event) -> Any:
        late.set()
        return work(request, valves, late)

    monkeypatch.setattr(plugin.instance, "_work", slow)
    messages = chat(100)
    messages[3] = {"role": "user", "content": "Our PostgreSQL database has port 54329."}
    messages[-1] = {"role": "user", "content": "Which port has our PostgreSQL database?"}
    metadata: dict[str, Any] = {"chat_id": "c"}
    given = {"valves": {"max_tokens": 1000}, "__metadata__": metadata}
    sent = plugin.call("request", body_of(messages), **given)["messages"]
    assert sent[0] is messages[0]
    assert all(a is b for a, b in zip(reversed(sent[1:]), reversed(messages), strict=False))
    assert 500 < metadata["eunoe"]["counted"] <= 1000
    assert "deadline passed" in plugin.status
    assert "recalled" not in plugin.status


def test_an_emitter_that_fails_stops_nothing(plugin: Any) -> None:
    async def broken(event: dict[str, Any]) -> None:
        raise ConnectionError

    body = plugin.call(
        "request", body_of(chat(100)), valves={"max_tokens": 500}, __event_emitter__=broken
    )
    assert len(body["messages"]) < 100


def test_refusing_is_an_error_that_a_user_understands(plugin: Any) -> None:
    body = body_of([{"role": "user", "content": WORD * 3000}])
    with pytest.raises(Exception, match="500 are allowed"):
        plugin.call("request", body, valves={"max_tokens": 500, "on_overflow": "refuse"})


@pytest.mark.parametrize("mode", ["truncate", "keep"])
def test_a_question_that_is_too_long(plugin: Any, mode: str) -> None:
    body = body_of([{"role": "user", "content": WORD * 3000}])
    sent = plugin.call("request", body, valves={"max_tokens": 500, "on_overflow": mode})["messages"]
    assert (len(sent[0]["content"]) < 6 * 500) is (mode == "truncate")
    assert plugin.status


# Many at once


def test_users_at_the_same_time_get_what_they_get_alone(plugin: Any) -> None:
    chats = [chat(20 + 10 * n, size=20 + n) for n in range(8)]
    alone = [
        plugin.call("request", body_of(list(c)), valves={"max_tokens": 900})["messages"]
        for c in chats
    ]

    async def together() -> list[Any]:
        hook = plugin.instance.request
        return await asyncio.gather(*(hook(body=body_of(list(c))) for c in chats))

    assert [body["messages"] for body in asyncio.run(together())] == alone


def test_what_the_cache_gives_back_is_told(plugin: Any) -> None:
    messages = chat(20)
    given = {"__metadata__": {"chat_id": "c1"}}
    plugin.call("request", body_of(messages), **given)
    assert "from cache" not in plugin.status
    more = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "?"}]
    plugin.call("request", body_of([*messages, *more]), **given)
    assert re.search(r" · ≈[\d.]+k from cache", plugin.status)
    changed = [{"role": "system", "content": "Be long."}, *messages[1:], *more]
    plugin.call("request", body_of(changed), **given)
    assert "from cache" not in plugin.status


def test_recalled_messages_can_be_shown_as_sources(plugin: Any) -> None:
    messages = chat(100)
    messages[3] = {"role": "user", "content": "Our PostgreSQL database has port 54329."}
    messages[-1] = {"role": "user", "content": "Which port has our PostgreSQL database?"}
    plugin.call("request", body_of(messages), valves={"max_tokens": 1000, "show_sources": True})
    sources = [e["data"] for e in plugin.events if e["type"] == "citation"]
    assert 1 <= len(sources) <= 8
    fact = next(source for source in sources if "54329" in source["document"][0])
    assert fact["source"]["name"] == "Turn 2 (user)"
    assert all(source["metadata"][0]["source"] == source["source"]["name"] for source in sources)
    json.dumps(plugin.events)


@pytest.mark.parametrize(
    ("text", "valves", "shown"),
    [
        ("!full What now?", {"locked_flags": "!Full, target"}, "!full is locked"),
        ("!full What now?", {"locked_flags": "ful, full"}, "!full is locked"),
        ("!target=much What now?", {}, "target"),
        ("!full What now?", {}, ""),
        ("!full What now?", {"read_flags": False}, ""),
    ],
)
def test_a_flag_that_does_not_count_is_told(
    plugin: Any, text: str, valves: dict[str, Any], shown: str
) -> None:
    plugin.call("request", body_of([{"role": "user", "content": text}]), valves=valves)
    assert shown in plugin.status
    assert plugin.status.count("\N{MIDDLE DOT}") == bool(shown)


@pytest.mark.parametrize("with_pictures", [False, True])
def test_flags_count_in_every_step_of_a_tool_loop(plugin: Any, with_pictures: bool) -> None:
    messages = chat(100)
    messages[1]["content"] = "!pin Question 0: the colour is amber."
    budget = 2600 if with_pictures else 900
    messages[-1]["content"] = f"!target={budget} What now?"
    metadata: dict[str, Any] = {"chat_id": "c"}
    given = {"valves": {"max_tokens": 4000}, "__metadata__": metadata}
    if with_pictures:
        for message in (messages[1], messages[-1]):
            text = {"type": "text", "text": message["content"]}
            message["content"] = [{"type": "image_url", "image_url": {"url": PIXEL}}, text]
    sent = plugin.call("request", body_of(messages), **given)["messages"]
    assert "1 pinned" in plugin.status
    steps = []
    for step in range(3):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        steps.append({"role": "assistant", "content": "", "tool_calls": [call]})
        steps.append({"role": "tool", "tool_call_id": f"c{step}", "content": WORD * 100})
        later = plugin.call("request", body_of([*sent, *steps]), **given)["messages"]
        assert metadata["eunoe"]["counted"] <= budget
        texts = [first_text(message) for message in later]
        assert sum(text.endswith("What now?") for text in texts) == 1
        assert sum(text.endswith("the colour is amber.") for text in texts) == 1
        assert not any(text.startswith("!") for text in texts)
        assert "1 pinned" in plugin.status
        json.dumps(metadata)


@pytest.mark.parametrize("with_pictures", [False, True])
def test_flags_count_behind_documents(plugin: Any, with_pictures: bool) -> None:
    written = "!target=900,why What now?"
    messages = chat(100)
    text = "### Task: answer from the context.\n<context>Rivers.</context>\n" + written
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    content = [{"type": "text", "text": text}, picture] if with_pictures else text
    messages[-1] = {"role": "user", "content": content}
    metadata = {"chat_id": "c", "base_user_prompt": written}
    given = {"valves": {"max_tokens": 4000}, "__metadata__": metadata}
    sent = plugin.call("request", body_of(messages), **given)["messages"]
    assert "of 900" in plugin.status
    assert len([e for e in plugin.events if e["type"] == "citation"]) == 1
    assert "!target" not in str(sent)
    assert first_text(sent[-1]).endswith("<context>Rivers.</context>\nWhat now?")
    call = {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    step = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    step.append({"role": "tool", "tool_call_id": "c1", "content": "Nothing."})
    later = plugin.call("request", body_of([*sent, *step]), **given)["messages"]
    assert "of 900" in plugin.status
    assert "!target" not in str(later)
    assert len([e for e in plugin.events if e["type"] == "citation"]) == 1


def test_flags_alone_behind_documents_are_taken_out(plugin: Any) -> None:
    messages = [{"role": "user", "content": "<context>Rivers.</context>\n!why"}]
    given = {"__metadata__": {"base_user_prompt": "!why"}}
    [sent] = plugin.call("request", body_of(messages), **given)["messages"]
    assert sent["content"] == "\N{HORIZONTAL ELLIPSIS} <context>Rivers.</context>\n"
    assert [e["type"] for e in plugin.events].count("citation") == 1


@pytest.mark.parametrize("written", ["", "What now?", "!target=much What now?", "!nothing"])
def test_without_flags_behind_documents_nothing_changes(plugin: Any, written: str) -> None:
    messages = [{"role": "user", "content": f"<context>Rivers.</context>\n{written}"}]
    given = {"__metadata__": {"base_user_prompt": written}}
    assert plugin.call("request", body_of(messages), **given)["messages"] == messages


@pytest.mark.parametrize(
    "notes",
    [
        7,
        {},
        {"flags": 1},
        {"flags": [[1]]},
        {"flags": [[99, "!pin ", 3]]},
        {"flags": [[0, "!", 1]]},
    ],
)
def test_odd_notes_are_passed_over(plugin: Any, notes: Any) -> None:
    given = {"__metadata__": {"eunoe": notes}}
    assert plugin.call("request", body_of(chat(2)), **given)["messages"] == chat(2)


@pytest.mark.parametrize(
    ("text", "valves", "asked"),
    [
        ("!why What now?", {}, True),
        ("!why What now?", {"locked_flags": "why"}, False),
        ("!why What now?", {"read_flags": False}, False),
        ("!whyever What now?", {}, False),
    ],
)
@pytest.mark.parametrize("turns", [1, 100])
@pytest.mark.parametrize("in_parts", [False, True])
def test_why_is_answered_under_the_answer(
    plugin: Any, text: str, valves: dict[str, Any], asked: bool, turns: int, in_parts: bool
) -> None:
    content = [{"type": "text", "text": text}] if in_parts else text
    messages = [*chat(turns)[:-1], {"role": "user", "content": content}]
    plugin.call("request", body_of(messages), valves={"max_tokens": 1000, **valves})
    shown = [e["data"]["document"][0] for e in plugin.events if e["type"] == "citation"]
    assert len(shown) == asked
    assert all("policy stable" in account for account in shown)
    assert all("this chat so far: 1 request," in account for account in shown)
    assert all(len(account.split("\n")) < 70 for account in shown)


def test_overrides_by_model_reach_every_valve(plugin: Any) -> None:
    quiet = '{"gpt*": {"show_status": false, "max_tokens": 500}}'
    body = plugin.call("request", body_of(chat(100)), valves={"model_overrides": quiet})
    assert len(body["messages"]) < 100
    assert plugin.events == []


# What is learnt


def test_a_model_that_counts_more_gets_less_until_it_fits(plugin: Any) -> None:
    valves = {"max_tokens": 1000}
    sizes = []
    for _ in range(5):
        metadata: dict[str, Any] = {"chat_id": ""}
        body = plugin.call("request", body_of(chat(100)), valves=valves, __metadata__=metadata)
        sizes.append(sum(len(m["content"]) for m in body["messages"]))
        usage = {"prompt_tokens": int(metadata["eunoe"]["counted"] * 1.4)}
        answer = {"role": "assistant", "content": "Yes.", "usage": usage}
        told = {"model": "gpt-4o", "messages": [answer]}
        assert plugin.call("outlet", told, __metadata__=metadata) is told
    assert sizes[-1] < sizes[0] * 0.9
    assert "tokens counted ×1.4" in plugin.status  # other workers may count without
    plugin.call("request", {"model": "other", "messages": chat(100)}, valves=valves)
    assert "of 1k" in plugin.status
    assert "count" not in plugin.status


@pytest.mark.parametrize(
    ("usage", "model", "shown"),
    [
        ({"prompt_tokens": 640}, "my-own", "sent 640 of 1k"),
        (
            {"prompt_tokens": 640, "prompt_tokens_details": {"cached_tokens": 600}},
            "my-own",
            "sent 640 of 1k · 600 from cache",
        ),
        ({"prompt_tokens": 800}, "gpt-4o", "sent 800 of 1k · saved ≈$0.018 so far"),
        (
            {"prompt_tokens": 6752, "input_tokens": 24122},
            "my-own",
            "sent 6.8k of 1k · 24.1k in all",
        ),
        ({"prompt_n": 40, "cache_n": 600, "predicted_n": 9}, "my-own", "sent 640 of 1k · 600 from"),
    ],
)
def test_what_the_provider_reports_takes_the_place_of_the_estimate(
    plugin: Any, usage: Any, model: str, shown: str
) -> None:
    metadata: dict[str, Any] = {"chat_id": "c"}
    given = {"valves": {"max_tokens": 1000}, "__metadata__": metadata}
    plugin.call("request", {"model": model, "messages": chat(100)}, **given)
    left_out = plugin.status.split(" · ")[-1]
    answer = {"role": "assistant", "content": "Yes.", "usage": usage}
    plugin.call("outlet", {"model": model, "messages": [answer]}, **given)
    assert plugin.status.startswith(shown)
    assert plugin.status.endswith(left_out)


def test_no_line_after_the_answer_where_none_is_wanted(plugin: Any) -> None:
    metadata: dict[str, Any] = {"chat_id": "c"}
    given = {"valves": {"show_status": False}, "__metadata__": metadata}
    plugin.call("request", body_of(chat(2)), **given)
    answer = {"role": "assistant", "content": "Yes.", "usage": {"prompt_tokens": 640}}
    plugin.call("outlet", {"model": "gpt-4o", "messages": [answer]}, **given)
    assert plugin.events == []


@pytest.mark.parametrize("usage", [None, 7, {}, {"prompt_tokens": "many"}, {"prompt_tokens": -1}])
@pytest.mark.parametrize("counted", [None, "x", True, 500])
def test_an_odd_report_teaches_nothing(plugin: Any, usage: Any, counted: Any) -> None:
    valves = {"max_tokens": 500}
    plain_length = len(plugin.call("request", body_of(chat(100)), valves=valves)["messages"])
    metadata = {"eunoe": counted if counted == "x" else {"counted": counted}}
    for messages in (None, [], [None], [{"role": "assistant", "usage": usage}]):
        body = {"model": "gpt-4o", "messages": messages}
        for _ in range(3):
            assert plugin.call("outlet", body, __metadata__=metadata) is body
    assert plugin.call("outlet", {}, __metadata__=None) == {}
    after = plugin.call("request", body_of(chat(100)), valves=valves)["messages"]
    assert len(after) == plain_length


def test_a_later_tool_step_still_tells_what_the_first_one_left_out(plugin: Any) -> None:
    messages = chat(100)
    messages[3] = {"role": "user", "content": "Our PostgreSQL database has port 54329."}
    messages[-1] = {"role": "user", "content": "Which port has our PostgreSQL database?"}
    metadata = {"chat_id": "c", "base_system_prompt": "Be brief."}
    given = {"valves": {"max_tokens": 2000}, "__metadata__": metadata}
    sent = plugin.call("request", body_of(messages, model="own"), **given)["messages"]
    first = plugin.status
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    step = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Nothing found."},
    ]
    plugin.call("request", body_of([*sent, *step], model="own"), **given)
    assert "left out" in first
    assert "recalled" in first
    told = {text for text in first.split(" · ") if "recalled" in text or "left out" in text}
    assert told <= set(plugin.status.split(" · "))
    assert "from cache" in plugin.status
