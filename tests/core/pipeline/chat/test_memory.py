"""What is remembered between requests is bounded, shared by threads, and never wrong."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from sys import getsizeof

import pytest

from ask import ask, bytes_of, orchestrator, sent_by
from eunoe import ContextOrchestrator, Conversation, lint
from eunoe.pipeline.chat.memory import ContentMemory, content_key, count_entries, key_bytes
from eunoe.pipeline.chat.transcript import PipelineMemory, Transcript
from judge import ThirdsCounter
from strategies import assistant, calling, part, result, user

FACT = "the gate code of the garden is 7391"


def long_chat(name: str, turns: int = 30):
    filler = [
        m
        for i in range(turns)
        for m in (user(f"{name} {i}: " + "lorem " * 20), assistant(f"{name} {i} " + "dolor " * 20))
    ]
    return [
        user(f"{FACT} of {name}"),
        assistant("ok"),
        *filler,
        user("what is the gate code of the garden?"),
    ]


class Halves(ThirdsCounter):
    """Counts a token for every two characters."""

    name = "halves"

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return -(-len(text) // 2)


def test_equal_contents_are_read_once():
    memory = ContentMemory(1_000_000)
    one, two = memory.read_all([user("x"), {"content": "x", "role": "user"}])
    assert one is two
    assert memory.read_all([user("x")])[0] is one
    assert memory.read_all([{"role": "assistant", "content": "x"}])[0] is not one


@pytest.mark.parametrize(
    "raw",
    [
        user("x", name="ann"),
        {"role": "user", "content": [part("x")]},
        {"role": ["odd"], "content": "x"},
        {"role": "user", "content": {1: {"a", "b"}}},
        {"role": "user", "content": object},
        calling("a"),
        {},
    ],
)
def test_odd_contents_are_remembered_too(raw):
    memory = ContentMemory(1_000_000)
    [one] = memory.read_all([raw])
    [two] = memory.read_all([dict(raw)])
    assert one is two


def test_keys_tell_contents_apart_and_are_the_same_as_bytes_everywhere():
    messages = [
        user("x"),
        assistant("x"),
        result("a", "x"),
        result("b", "x"),
        user("x", name="ann"),
        {"role": "user", "content": "x", "name": True},
        {"role": "user", "content": "x", "name": 1},
        {"role": "user", "content": None},
        {"role": "x"},
        {1: "x"},
        {True: "x"},
        user("half \ud83d"),
        user("half ?"),
        {"role": "user\0", "content": "x"},
        {"role": "user", "content": "\0x"},
    ]
    keys = [content_key(m) for m in messages]
    assert len(set(map(repr, keys))) == len(set(map(key_bytes, keys))) == len(messages)
    assert key_bytes(content_key(user("x"))) == b"4 userx"
    assert content_key(result("a", "x")) == tuple(result("a", "x").items())


@pytest.mark.parametrize("change", [{"content": "y"}, {"tool_call_id": "b"}, {"more": "z"}])
def test_a_result_that_was_changed_is_read_again(change):
    calls = [user("task"), calling("a"), result("a", "x"), assistant("done"), user("and now?")]
    later = [*calls, assistant("ok"), user("so?")]
    changed = [*later[:2], {**later[2], **change}, *later[3:]]
    by = orchestrator(700, memory=PipelineMemory())
    ask(calls, 700, by=by)
    warm = ask(changed, 700, by=by).report
    assert warm.to_dict() == ask(changed, 700, by=orchestrator(700)).report.to_dict()


def test_forgetting_changes_nothing():
    memory = ContentMemory(3000)
    chat = [user(f"message {i} " + "x" * 50) for i in range(200)]
    first = memory.read_all(chat)
    count_entries(first, ThirdsCounter())
    again = memory.read_all(chat)
    count_entries(again, ThirdsCounter())
    assert any(a is not b for a, b in zip(first, again, strict=True))
    assert [e.tokens for e in first] == [e.tokens for e in again]
    assert len(memory._young) + len(memory._old) < 50


def test_counters_share_no_facts_and_only_the_last_few_are_kept():
    memory = PipelineMemory()
    chat = long_chat("a")
    thirds = ask(chat, 700, by=orchestrator(700, memory=memory)).report
    halves = ask(chat, 700, by=orchestrator(700, memory=memory, counter=Halves())).report
    assert halves.tokens_before > thirds.tokens_before
    assert ask(chat, 700, by=orchestrator(700, memory=memory)).report.to_dict() == thirds.to_dict()
    kept = memory.contents("thirds")
    for i in range(3):
        memory.contents(f"counter {i}")
    assert memory.contents("thirds") is kept
    for i in range(9):
        memory.contents(f"counter {i}")
    assert memory.contents("thirds") is not kept


def test_many_threads_and_counters_get_the_answers_of_one():
    chats = [long_chat(name) for name in ("garden", "harbour", "violin")]
    chats += [chat[:21] for chat in chats]
    chats += [
        [*chat, calling("a"), result("a", name * 9)]
        for chat, name in zip(chats, "xyz", strict=False)
    ]
    work = [(chat, counter) for chat in chats for counter in (ThirdsCounter(), Halves())]

    def answer(by, chat):
        answered = ask(chat, 700, by=by)
        report = answered.report.to_dict()
        # one chat opens another: who answered that before may know of a break that this one makes
        report["cut"] = {k: v for k, v in (report["cut"] or {}).items() if k != "declared"}
        del report["cost"]["sent"]["cached"]
        return bytes_of([sent_by(answered), report])

    expected = [answer(orchestrator(700, counter=counter), chat) for chat, counter in work]
    memory = PipelineMemory(max_chats=4)
    shared = {
        c.name: orchestrator(700, counter=c, memory=memory) for c in (ThirdsCounter(), Halves())
    }
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(answer, shared[c.name], chat) for _ in range(6) for chat, c in work]
        assert [job.result() for job in jobs] == expected * 6


class Failing(ThirdsCounter):
    """Fails when it meets a certain word."""

    name = "failing"

    def count_batch(self, texts):
        """Tokens of each text."""
        if any("poison" in text for text in texts):
            raise RuntimeError("no tokens today")
        return super().count_batch(texts)


def test_a_counter_that_fails_leaves_nothing_half_done():
    memory = PipelineMemory()
    by = orchestrator(700, memory=memory, counter=Failing())
    chat = long_chat("a")
    expected = sent_by(ask(chat, 700, by=by))
    poisoned = [*chat, assistant("poison"), user("next")]
    assert "RuntimeError" in ask(poisoned, 700, by=by).report.warnings[0]
    assert sent_by(ask(chat, 700, by=by)) == expected
    healed = [*chat, assistant("fine"), user("next")]
    assert sent_by(ask(healed, 700, by=by)) == sent_by(ask(healed, 700, counter=Failing()))


def test_a_branch_that_goes_on_inside_a_turn_is_read_as_if_it_were_new():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    opening = [
        {"role": "user", "content": "Weigh the crate."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "One moment."},
    ]
    late = {"role": "tool", "tool_call_id": "c1", "content": "81 kg"}
    question = {"role": "user", "content": "Too heavy?"}

    def sent(asked: ContextOrchestrator, messages: list[dict]) -> list[dict]:
        answer = asked.process_sync(Conversation.from_openai_messages(messages))
        return answer.conversation.to_openai_messages()

    warm = ContextOrchestrator(memory=PipelineMemory())
    sent(warm, [*opening, question])
    longer = [*opening, late, question]
    cold = ContextOrchestrator(memory=PipelineMemory())
    assert sent(warm, longer) == sent(cold, longer)
    assert sent(cold, longer) == [opening[0], opening[1], late, opening[2], question]


def test_a_result_before_its_call_is_not_trusted_once_another_of_its_id_stands_alone():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Weigh the crate."},
        {"role": "tool", "tool_call_id": "c1", "content": "12 kg"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "Still there?"},
        {"role": "tool", "tool_call_id": "c1", "content": "81 kg"},
        {"role": "assistant", "content": "It weighs 81 kg."},
        {"role": "user", "content": "Too heavy?"},
    ]
    answer = ContextOrchestrator().process_sync(Conversation.from_openai_messages(messages))
    out = answer.conversation.to_openai_messages()
    assert lint(out) == ()
    assert messages[1] not in out


def test_a_chat_that_failed_half_way_is_not_remembered():
    memory = PipelineMemory()
    asked = ContextOrchestrator(memory=memory)
    broken = assistant("fine")
    messages = [user("one"), broken, user("two"), assistant("three"), user("four")]
    entries = memory.contents("thirds").read_all(messages)
    count_entries(entries, ThirdsCounter())
    state = memory.chats.find(entries[:4], "thirds", lambda: Transcript("thirds"))
    with pytest.raises(AttributeError):
        state.grow([*entries[:3], None])  # type: ignore[list-item]
    memory.chats.release(state)
    again = memory.chats.find(entries[:4], "thirds", lambda: Transcript("thirds"))
    assert again is not state
    assert len(again.entries) == 0
    assert asked.process_sync(Conversation.from_openai_messages(messages)).report.mended == ()


WORTH = 20_000
"""Characters of one long text."""

PLACES = {
    "plain": lambda text: assistant(text),
    "reasoning": lambda text: assistant("yes", reasoning_content=text),
    "name": lambda text: user("yes", name=text),
    "key": lambda text: user("yes", **{text: ""}),
    "part": lambda text: {"role": "user", "content": [part(text)]},
    "arguments": lambda text: calling("a", arguments=text),
    "result": lambda text: result("a", text),
    "unknown": lambda text: user("yes", more={"deep": [text]}),
    "thinking": lambda text: {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": text}],
    },
}


@pytest.mark.parametrize("letter", ["a", "é", "中", "😀"])
@pytest.mark.parametrize("place", PLACES)
def test_no_text_is_kept_that_does_not_count(place, letter):
    text = letter * WORTH
    [short, long] = ContentMemory(1).read_all([PLACES[place](""), PLACES[place](text)])
    assert getsizeof(text) - 200 <= long.bytes - short.bytes


def test_the_facts_of_a_text_count_too():
    def held(text: str) -> tuple[int, int]:
        [entry] = ContentMemory(1).read_all([user(text)])
        tracemalloc.start()
        entry.analysed()
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return taken, entry.bytes

    for text in (" ".join(f"Wort{i}" for i in range(300)), "".join(map(chr, range(19968, 21968)))):
        held(text)  # what words contribute is remembered elsewhere
        taken, counted = held(text)
        assert taken <= 3 * counted


def test_texts_beside_the_content_are_bounded_too():
    memory = ContentMemory(1_000_000)
    for i in range(60):
        memory.read_all([assistant("yes", reasoning_content=f"{i} " + "x" * 100_000)])
    kept = [*memory._young.values(), *memory._old.values()]
    assert len(kept) >= 2
    assert sum(len(e.message.reasoning) for e in kept) <= 1_000_000
    assert sum(e.bytes for e in kept) == memory.accounted_bytes <= 1_100_000


def test_a_content_that_comes_back_counts_once():
    memory = ContentMemory(40_000)
    for i in range(60):
        memory.read_all([user("again"), user(f"{i}" * 500)])
        kept = [*memory._young.values(), *memory._old.values()]
        assert sum(e.bytes for e in kept) == memory.accounted_bytes


def test_the_parts_of_a_memory_take_no_more_than_all_of_it():
    most = 3_200_000
    memory = PipelineMemory(most)
    for n in range(60):
        for counter in "abcdef":
            contents = memory.contents(counter)
            contents.read_all([user(f"{counter} {n} " + "x" * 2_000)])
            for line in range(30):
                contents.lines.put((n, line), 1, 1_000)
    stores = [memory.vectors, memory.labels, memory.summaries, memory.names, memory.stances]
    for store in stores:
        for n in range(most // 1_000):
            store.put(n, None, 1_000)
    lines = [c.lines for c in memory._contents.values()]
    in_stores = sum(1_000 * (len(s._young) + len(s._old)) for s in (*stores, *lines))
    facts = memory.accounted_bytes
    assert facts <= most // 4 + 20_000
    chats = memory.chats._max_bytes
    assert most // 2 < facts + in_stores + chats <= most + 40_000
    assert 1 < len(memory._contents) <= 4


def test_many_counters_have_no_more_room_than_one():
    memory = PipelineMemory(400_000)
    for counter in ("a", "b"):
        for n in range(40):
            memory.contents(counter).read_all([user(f"{n} " + "x" * 200)])
    assert list(memory._contents) == ["b"]
    assert memory.accounted_bytes <= 110_000
