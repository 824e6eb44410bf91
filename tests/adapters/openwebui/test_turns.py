"""Which chat, which answer, which model: what the host's ids do not tell by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from eunoe.stages.accounting.forecast import RequestForecast

WORD = "river "


def talk(turns: int, first: str = "Question") -> list[dict[str, Any]]:
    messages = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{first} {turn}: " + WORD * 60})
        messages.append({"role": "assistant", "content": f"Answer {turn}: " + WORD * 60})
    return [*messages, {"role": "user", "content": "And now?"}]


def answered(plugin: Any, metadata: dict[str, Any], usage: Any = None, model: str = "") -> None:
    told = {"role": "assistant", "content": "Yes.", **({"usage": usage} if usage else {})}
    body = {"model": model or "gpt-4o", "messages": [told]}
    plugin.call("outlet", body, valves={"max_tokens": 4000}, __metadata__=metadata)


def asked(plugin: Any, metadata: dict[str, Any], messages: Any, model: str = "gpt-4o") -> list[Any]:
    body = {"model": model, "messages": messages}
    given = {"valves": {"max_tokens": 4000}, "__metadata__": metadata}
    return list(plugin.call("request", body, **given)["messages"])


@pytest.mark.parametrize("chat_id", ["temporary:socket", "local:socket"])
def test_a_new_temporary_chat_owes_nothing_to_the_one_before(plugin: Any, chat_id: str) -> None:
    asked(plugin, {"chat_id": chat_id}, talk(40))
    metadata = {"chat_id": chat_id}
    asked(plugin, metadata, talk(42))
    assert "from cache" in plugin.status  # the same chat goes on
    answered(plugin, metadata)
    asked(plugin, {"chat_id": chat_id}, talk(40, first="Another"))
    for words in ("prompt cache", "from cache"):
        assert words not in plugin.status
    asked(plugin, fresh := {"chat_id": chat_id}, [{"role": "user", "content": "!why Hello"}])
    [account] = [e["data"]["document"][0] for e in plugin.events if e["type"] == "citation"]
    assert "this chat so far: 1 request," in account
    assert "Hello" not in str(fresh["eunoe"]["chat"])


def test_a_temporary_chat_keeps_its_name_whatever_the_host_makes_of_its_first_question(
    plugin: Any,
) -> None:
    written = "!pin Which port?"
    given = f"<context>{WORD * 50}</context>\n\n{written}"
    names = []
    for messages in (
        [{"role": "user", "content": given}],
        [{"role": "user", "content": written}, *talk(1)],
    ):
        metadata: dict[str, Any] = {"chat_id": "temporary:a"}
        metadata["base_user_prompt"] = written if len(messages) == 1 else "And now?"
        call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        for _ in range(2):
            messages = asked(plugin, metadata, messages)
            names.append(metadata["eunoe"]["chat"])
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "c", "content": "Done."})
    assert names == names[:1] * 4


def test_an_answer_in_a_channel_goes_on_from_none(plugin: Any) -> None:
    for thread in range(3):
        prompt = f"You take part in a thread.\n{thread} " + WORD * 1500
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": "Ann: Hi"}]
        asked(plugin, {"chat_id": "channel:1"}, messages)
        assert "prompt cache" not in plugin.status


@pytest.mark.parametrize("clock", [False, True])
def test_what_the_host_changes_an_untouched_chat_would_lose_too(plugin: Any, clock: bool) -> None:
    for turns in (40, 42):
        metadata: dict[str, Any] = {"chat_id": "c"}
        system = {"role": "system", "content": f"It is {turns if clock else 40} o'clock."}
        asked(plugin, metadata, [system, *talk(turns)])
    forecast = RequestForecast.from_json(metadata["eunoe"]["forecasts"][0])
    assert forecast is not None
    for prompt in (forecast.untouched, forecast.window):
        assert (prompt.repeated > 10) is not clock


def test_an_arena_is_counted_and_priced_as_the_model_that_answered(plugin: Any) -> None:
    metadata: dict[str, Any] = {"chat_id": "c"}
    for turns in range(40, 46, 2):
        metadata = {"chat_id": "c"}
        asked(plugin, metadata, talk(turns))
        usage = {"prompt_tokens": int(metadata["eunoe"]["counted"] * 1.4)}
        answered(plugin, metadata, usage, model="arena-model")
    assert "saved ≈$" in plugin.status or "dearer" in plugin.status
    asked(plugin, {"chat_id": "c"}, talk(46))
    assert "×1.4" in plugin.status


def test_what_tools_are_shown_before_they_run_is_no_request(plugin: Any) -> None:
    waiting = talk(60)  # the host takes calls out that have no result yet
    metadata: dict[str, Any] = {"chat_id": "c", "tool_approval_resume": "tools"}
    assert asked(plugin, metadata, waiting) == waiting
    assert plugin.status == ""
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    sent = [*waiting, {"role": "assistant", "content": "", "tool_calls": [call]}]
    for step in range(1, 3):
        sent.append({"role": "tool", "tool_call_id": "c", "content": "Done."})
        sent = asked(plugin, metadata, sent)
        left_out = int(plugin.status.split(" · ")[-1].split(" ")[0])
        assert left_out == len(waiting) + 2 * step - len(sent)
        assert len(metadata["eunoe"]["forecasts"]) == step
        sent.append({"role": "assistant", "content": "", "tool_calls": [call]})


@pytest.mark.parametrize("rules", ["openai", "template"])
def test_what_the_first_step_did_counts_in_each_step(plugin: Any, rules: str) -> None:
    question = "!target=2500,pin On which port does our PostgreSQL database listen?"
    messages = talk(60)
    messages[2]["content"] = "Our PostgreSQL database listens on port 54329."
    messages[-1]["content"] = question
    given: dict[str, Any] = {"valves": {"max_tokens": 4000, "provider_rules": rules}}
    given["__metadata__"] = {"chat_id": "c"}
    first = plugin.call("request", {"model": "own", "messages": messages}, **given)["messages"]
    assert (first[-1]["content"].startswith("<recalled")) is (rules == "template")
    steps: list[dict[str, Any]] = []
    for step in range(3):
        for words in ("of 2.5k", "1 pinned", " recalled"):
            assert words in plugin.status
        call = {"id": f"c{step}", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        steps.append({"role": "assistant", "content": "", "tool_calls": [call]})
        steps.append({"role": "tool", "tool_call_id": f"c{step}", "content": "Nothing."})
        body = {"model": "own", "messages": [*first, *steps]}
        assert plugin.call("request", body, **given)["messages"] == [*first, *steps]
