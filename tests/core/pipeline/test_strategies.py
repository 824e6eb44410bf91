"""A caller's own scorer and algorithm, and a tracker that makes the prompt cache hit."""

from __future__ import annotations

import pytest

from eunoe import (
    ContextOrchestrator,
    Conversation,
    PrefixTracker,
    Settings,
    SettingsError,
    Strategies,
    TokenBudget,
)
from eunoe.stages.selection import (
    DependencyAwareAlgorithm,
    GreedyByWeightAlgorithm,
    PrefixCacheOptimizedAlgorithm,
)
from judge import ThirdsCounter
from strategies import assistant, user


def chat(turns, ask=""):
    messages = [{"role": "system", "content": "be brief"}]
    for i in range(turns):
        messages += [user(f"note {i} on bed {i % 7}"), assistant(f"bed {i % 7} is done")]
    return [*messages, user(ask)] if ask else messages


def orchestrator(strategies=None, budget=400, policy="relevance"):
    return ContextOrchestrator(
        TokenBudget(budget),
        settings=Settings(policy=policy),
        token_counter=ThirdsCounter(),
        strategies=strategies,
    )


def sent(asker, messages, chat_name="c"):
    result = asker.process_sync(Conversation.from_openai_messages(messages), session_id=chat_name)
    assert result.report.tokens_after <= 400
    return result.conversation.to_openai_messages()


def repeated(strategies):
    """Share of messages that open the request before, over a chat with changing questions."""
    asker, before, same, total = orchestrator(strategies), None, 0, 0
    for i in range(8):
        now = sent(asker, chat(40 + i, f"what of bed {(3 * i) % 7}?"))
        if before is not None:
            pairs = list(zip(before, now, strict=False))
            same += next((k for k, (a, b) in enumerate(pairs) if a != b), len(pairs))
            total += len(now)
        before = now
    return same / total


def test_the_prefix_cache_is_hit_with_a_tracker_only():
    algorithm = PrefixCacheOptimizedAlgorithm(price=1.0)
    free = repeated(None)
    assert repeated(Strategies(algorithm=algorithm)) == pytest.approx(free, abs=0.1)
    assert repeated(Strategies(algorithm=algorithm, tracker=PrefixTracker())) > max(0.8, 2 * free)


def test_a_look_and_another_chat_track_nothing():
    tracker = PrefixTracker()
    asker = orchestrator(Strategies(algorithm=GreedyByWeightAlgorithm(), tracker=tracker))
    messages = Conversation.from_openai_messages(chat(40, "what of bed 3?"))
    asker.process_sync(messages, session_id="a", learn=False)
    asker.process_sync(messages)
    assert tracker.sent("a") == tracker.sent("") == ()
    asker.process_sync(messages, session_id="a")
    assert len(tracker.sent("a")) == 1
    assert tracker.sent("b") == ()


def test_a_tracker_keeps_the_newest_few():
    tracker = PrefixTracker(2)
    for ids in (["1"], ["2"], ["3"], []):
        tracker.record("c", ids)
    assert tracker.sent("c") == (("3",), ("2",))
    for i in range(600):
        tracker.record(f"chat {i}", ["x"])
    assert tracker.sent("c") == ()


@pytest.mark.parametrize("policy", ["relevance", "stable"])
def test_a_scorer_says_what_comes_back(policy):
    class Favourite:
        name = "favourite"

        def score(self, index, query, *, upto=None, said=None):
            values = index.turns(upto) * 0.0
            values[5] = float("nan")
            values[7] = 1.0
            return values

    asker = orchestrator(Strategies(scorer=Favourite()), policy=policy)
    result = asker.process_sync(
        Conversation.from_openai_messages(chat(40, "what did I say earlier on note 11?"))
    )
    fates = [d.fate.value for d in result.report.decisions]
    assert fates[7] in ("kept", "recalled")
    assert fates[5] == "dropped"
    assert result.report.decisions[7].score == 1.0


def test_question_and_answer_travel_together():
    asker = orchestrator(Strategies(algorithm=DependencyAwareAlgorithm()))
    result = asker.process_sync(Conversation.from_openai_messages(chat(60, "what of note 11?")))
    kept = {d.index for d in result.report.decisions if d.fate.value == "kept"} - {0, 121}
    assert kept
    assert all((i + 1 if i % 2 else i - 1) in kept for i in kept)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Strategies(scorer="smart"),  # type: ignore[arg-type]
        lambda: Strategies(algorithm=3),  # type: ignore[arg-type]
        lambda: Strategies(tracker=[]),  # type: ignore[arg-type]
        lambda: PrefixTracker(-1),
        lambda: ContextOrchestrator(strategies=GreedyByWeightAlgorithm()),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_strategy_is_refused(make):
    with pytest.raises(SettingsError):
        make()


def test_a_scorer_must_speak_of_every_message():
    class Short:
        name = "short"

        def score(self, index, query, *, upto=None, said=None):
            return [1.0]

    with pytest.raises(ValueError, match="short gave shape"):
        orchestrator(Strategies(scorer=Short())).process_sync(
            Conversation.from_openai_messages(chat(40, "what of note 11?"))
        )
