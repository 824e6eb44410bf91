"""Call ids where the provider's own servers take only short ones."""

import pytest

from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget, lint


def chat(*ids: str, answered: int | None = None) -> list[dict]:
    calls = [
        {"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids
    ]
    results = [{"role": "tool", "tool_call_id": i, "content": "81 kg"} for i in ids[:answered]]
    return [
        {"role": "user", "content": "Weigh the crate."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *results,
        {"role": "assistant", "content": "It weighs 81 kg."},
        {"role": "user", "content": "Too heavy?"},
    ]


def sent(messages: list[dict], *, on: bool, profile: str = "mistral") -> list[dict]:
    orchestrator = ContextOrchestrator(settings=Settings(rewrite_call_ids=on))
    result = orchestrator.process_sync(Conversation.from_openai_messages(messages), profile=profile)
    return result.conversation.to_openai_messages()


@pytest.mark.parametrize(
    ("call_id", "fine"),
    [
        pytest.param("aB3dE6gH9", True, id="nine letters and digits"),
        pytest.param("call_Ab12Cd34Ef56Gh78", False, id="too long"),
        pytest.param("aB3dE6gH", False, id="too short"),
        pytest.param("aB3dE_gH9", False, id="a sign"),
        pytest.param("äB3dE6gH9", False, id="no ASCII"),
    ],
)
def test_lint_names_ids_of_the_wrong_form(call_id: str, fine: bool):
    found = lint(chat(call_id), "mistral")
    assert [v.code for v in found] == ([] if fine else ["call-id"])
    assert lint(chat(call_id), "openai") == ()


def test_ids_are_sent_as_they_are_unless_asked():
    messages = chat("call_Ab12Cd34")
    assert sent(messages, on=False) == messages


def test_both_sides_get_the_same_short_id():
    messages = chat("call_one_1", "aB3dE6gH9", "call_two_2")
    out = sent(messages, on=True)
    called = [c["id"] for c in out[1]["tool_calls"]]
    assert called == [m["tool_call_id"] for m in out if m["role"] == "tool"]
    assert called[1] == "aB3dE6gH9"
    assert len(set(called)) == 3
    assert lint(out, "mistral") == ()
    assert sent(out, on=True) == out


def test_a_stub_for_a_missing_result_gets_the_short_id_too():
    out = sent(chat("call_one_1", "call_two_2", answered=1), on=True)
    assert lint(out, "mistral") == ()


def test_other_providers_keep_their_ids():
    messages = chat("call_Ab12Cd34")
    assert sent(messages, on=True, profile="openai") == messages


def in_blocks(call_id: str) -> list[dict]:
    use = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
    return [
        {"role": "user", "content": "Weigh the crate."},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
        {"role": "tool", "tool_call_id": call_id, "content": "81 kg"},
        {"role": "assistant", "content": "81 kg."},
        {"role": "user", "content": "Too heavy?"},
    ]


@pytest.mark.parametrize(
    ("profile", "call_id"),
    [
        ("openai", "c" * 60),
        ("responses", "c" * 80),
        ("anthropic", "functions.look:0"),
        ("mistral", "toolu_01A"),
    ],
)
@pytest.mark.parametrize("make", [chat, in_blocks])
def test_each_form_is_mended_on_both_sides_also_in_blocks(make, profile, call_id):
    messages = make(call_id)
    assert [v.code for v in lint(messages, profile)] == ["call-id"]
    out = sent(messages, on=True, profile=profile)
    assert lint(out, profile) == ()
    assert len(out) == len(messages)
    assert sent(out, on=True, profile=profile) == out


def test_a_message_whose_id_is_rewritten_is_mended_in_other_ways_too():
    messages = chat("call_one_1")
    messages[2]["content"] = None
    out = sent(messages, on=True)
    assert out[2]["content"] == "[no output]"
    assert lint(out, "mistral") == ()


def test_a_result_whose_id_is_rewritten_can_be_shortened():
    messages = chat("call_one_1")[:3]
    messages[2]["content"] = "81 kg " * 2_000
    orchestrator = ContextOrchestrator(TokenBudget(400), settings=Settings(rewrite_call_ids=True))
    result = orchestrator.process_sync(
        Conversation.from_openai_messages(messages), profile="mistral"
    )
    assert result.report.truncated
    assert result.token_count <= 400
    assert lint(result.conversation.to_openai_messages(), "mistral") == ()
