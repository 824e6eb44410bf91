"""What models said reaches a caller's scorer, and ids follow from content alone."""

from __future__ import annotations

from eunoe import (
    ContextOrchestrator,
    Conversation,
    PipelineMemory,
    PrefixTracker,
    Settings,
    Strategies,
    TokenBudget,
)
from eunoe.stages.scoring import CompositeScorer, EmbeddingScorer, KeywordScorer, LabelScorer
from eunoe.stages.selection import GreedyByWeightAlgorithm
from judge import ThirdsCounter
from strategies import assistant, user


class ByOak:
    """A labeller to whom one message alone is worth something."""

    name = "by oak"

    def label(self, question, messages):
        return [1.0 if "oak" in text else 0.05 for _, text in messages]


class TwoWords:
    """An embedder for which "oak" and "tree" are the same."""

    name, dimension = "two words", 2

    def embed(self, texts):
        return [[1.0, 0.0] if "oak" in t or "tree" in t else [0.0, 1.0] for t in texts]


def messages(ask):
    chat = [user("The oak is 9 m tall."), assistant("Noted.")]
    for i in range(40):
        chat += [user(f"note {i} on bed {i % 7}"), assistant(f"bed {i % 7} is done")]
    return [*chat, user(ask)]


def first_score(scorer, ask, **models):
    orchestrator = ContextOrchestrator(
        TokenBudget(300),
        settings=Settings(policy="relevance"),
        token_counter=ThirdsCounter(),
        memory=PipelineMemory(),
        strategies=Strategies(scorer=scorer),
        **models,
    )
    conversation = Conversation.from_openai_messages(messages(ask))
    assert orchestrator.prepare_sync(conversation)
    decisions = orchestrator.process_sync(conversation).report.decisions
    return decisions[0].score, decisions[2].score


def test_labels_alone():
    assert first_score(LabelScorer(), "And now?", labeller=ByOak()) == (1.0, 0.05)


def test_meaning_alone():
    scores = first_score(EmbeddingScorer(), "How tall is the tree?", embedder=TwoWords())
    assert scores == (1.0, 0.5)  # (1 + 0)/2 over 1


def test_blended():
    blend = CompositeScorer((KeywordScorer(), EmbeddingScorer(), LabelScorer()), (1.0, 1.0, 2.0))
    scores = first_score(blend, "How tall is it?", embedder=TwoWords(), labeller=ByOak())
    assert scores[0] > scores[1]


def test_ids_follow_from_content():
    def ids(chat):
        tracker = PrefixTracker()
        ContextOrchestrator(
            TokenBudget(300),
            settings=Settings(policy="relevance"),
            token_counter=ThirdsCounter(),
            memory=PipelineMemory(),
            strategies=Strategies(algorithm=GreedyByWeightAlgorithm(), tracker=tracker),
        ).process_sync(Conversation.from_openai_messages(chat), session_id="c")
        return tracker.sent("c")[0]

    chat = messages("How tall is the oak?")
    assert ids(chat) == ids([dict(message) for message in chat])
    changed = [{**chat[0], "content": "The oak is 8 m tall."}, *chat[1:]]
    assert ids(chat)[0] != ids(changed)[0]
    assert ids(chat)[-1] == ids(changed)[-1]
