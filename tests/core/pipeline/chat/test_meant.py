"""A question that names nothing needs what the one before it needed."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from ask import ask, sent_by
from eunoe import ContextOrchestrator
from eunoe.pipeline.chat.transcript import PipelineMemory
from judge import ThirdsCounter, said
from strategies import assistant, calling, user
from strategies import result as tool_result


def shown(result):
    """All texts that are sent."""
    return "\n".join(map(said, sent_by(result)))


FACTS = {
    "en": (
        "We signed the lease with Keller on 3 March for 1,200 euros a month.",
        "Who did we sign the lease with?",
        "With Keller.",
        ("When exactly?", "How much was it?", "Tell me more.", "Are you sure?"),
    ),
    "de": (
        "Den Mietvertrag mit Keller haben wir am 3. März für 1.200 Euro unterschrieben.",
        "Mit wem haben wir den Mietvertrag unterschrieben?",
        "Mit Keller.",
        ("Wann genau?", "Und wieviel?", "Bist du sicher?"),
    ),
    "zh": (
        "我们三月三日跟凯勒签了租约，每月一千二百欧元。",
        "我们跟谁签了租约？",
        "跟凯勒。",
        ("什么时候？", "多少钱呢？", "详细说说"),
    ),
}
CASES = [(key, follow) for key, (_, _, _, follows) in FACTS.items() for follow in follows]


def chat(fact, *rest):
    messages = [{"role": "system", "content": "be brief"}, user(fact), assistant("OK.")]
    for i in range(40):
        messages += [user(f"We watered row {i} and swept the yard."), assistant(f"Row {i}: done.")]
    roles = (user, assistant)
    return [*messages, *(roles[k % 2](text) for k, text in enumerate(rest))]


@pytest.mark.parametrize("policy", ["relevance", "stable"])
@pytest.mark.parametrize(("language", "follow"), CASES)
def test_what_the_question_before_needed_comes_back(policy, language, follow):
    fact, question, answer, _ = FACTS[language]
    result = ask(chat(fact, question, answer, follow), budget=330, policy=policy)
    assert fact in shown(result)
    again = ask(chat(fact, question, answer, follow, "Noted.", follow), budget=330, policy=policy)
    assert fact in shown(again), "a second one goes on from the same question"


ADDED = {
    "en": (
        "The staging server is at 10.0.4.7 and runs Postgres on port 5433.",
        "Server {0} listens on port 60{0}.",
        "What is the address of the staging server?",
        "10.0.4.7",
        ("And the port?", "The port?"),
    ),
    "de": (
        "Der Vertrag für Kiel ist vom 4. Juni, unterschrieben hat Frau Sommer.",
        "Der Vertrag Nummer {0} ist vom {0}. August, mit Unterschrift.",
        "Von wann ist der Vertrag für Kiel?",
        "Vom 4. Juni.",
        ("Und die Unterschrift?",),
    ),
    "zh": (
        "里斯本的酒店是米拉马尔，退房时间是十一点。",
        "第{0}家酒店的退房时间是{0}点。",
        "我们在里斯本住哪家酒店？",
        "米拉马尔。",
        ("退房时间呢？", "那退房时间呢？"),
    ),
}


@pytest.mark.parametrize("policy", ["relevance", "stable"])
@pytest.mark.parametrize("language", ADDED)
def test_what_adds_a_matter_goes_on_from_the_question_before(policy, language):
    fact, other, question, answer, follows = ADDED[language]
    others = [m for i in range(12, 40) for m in (user(other.format(i)), assistant("OK."))]
    for follow in follows:
        messages = [user(fact), assistant("OK."), *others, user(question), assistant(answer)]
        result = ask([*messages, user(follow)], budget=330, policy=policy)
        assert fact in shown(result)


def test_what_names_something_stands_for_itself():
    fact, question, answer, _ = FACTS["en"]
    result = ask(chat(fact, question, answer, "Who swept the yard?"), budget=330)
    assert fact not in shown(result)


def test_nothing_comes_back_where_the_question_before_needed_nothing():
    fact, *_ = FACTS["en"]
    result = ask(chat(fact, "Write a poem about rain.", "Rain, rain.", "Why?"), budget=330)
    assert fact not in shown(result)
    assert result.report.recalled == 0


def test_what_comes_behind_a_statement_stands_for_itself():
    fact, *_ = FACTS["en"]
    for said_before in ("Keller and the lease are fine.", "lease Keller " * 80 + "?"):
        result = ask(chat(fact, said_before, "Good.", "Weather?"), budget=330)
        assert fact not in shown(result)


def test_it_is_the_first_question():
    result = ask([user("Why?")], budget=330)
    assert sent_by(result) == [user("Why?")]


def tool_turn(question, k):
    turn = [user(question)]
    for j in range(5):
        rows = " ".join(f"B{100 * k + 10 * j + i}" for i in range(30))
        found = f"customer_id C{7 * k + j} {rows}"
        turn += [calling(f"c{k}.{j}"), tool_result(f"c{k}.{j}", found)]
    return [*turn, assistant("Done.")]


@pytest.mark.parametrize("budget", [1050, 1200, 1500])
def test_what_it_goes_on_from_may_lie_before_what_a_cut_carried_over(budget):
    before = ("Look up order 7?", "Who pays for the order of Keller?", "Why?", "When exactly?")
    turns = [m for k, question in enumerate(before) for m in tool_turn(question, k)]
    result = ask([*turns, user("Really?")], budget=budget)
    assert result.report.tokens_after <= budget


class CatEmbedder:
    """Texts on cats are near each other, and nothing else is near anything."""

    name, dimension = "cats", 64

    def embed(self, texts):
        """One vector for each text."""
        return [self.vector(text) for text in texts]

    def vector(self, text):
        noise = [byte / 128 - 1 for byte in blake2b(text.encode(), digest_size=64).digest()]
        cats = any(word in text for word in ("feline", "cat ", "kitten"))
        return [noise[0] + 30.0 * cats, *noise[1:]]


@pytest.mark.parametrize("follow", ["Really?", "And the dog?"])
def test_what_opened_recall_by_its_meaning_opens_it_again(follow):
    messages = [user("Our feline goes by Mochi."), assistant("OK.")]
    for i in range(40):
        messages += [user(f"Note {i}: the invoice went to clerk {i}."), assistant(f"Noted {i}.")]
    messages.append(user("How is the cat doing?"))
    by = ContextOrchestrator(
        token_counter=ThirdsCounter(),
        memory=PipelineMemory(),
        embedder=CatEmbedder(),
        embed_in_request=True,
    )
    first = ask(messages, by=by, budget=600).report
    assert "closer in meaning" in first.recall_reason
    again = ask([*messages, assistant("Fine."), user(follow)], by=by, budget=600).report
    assert again.recall_reason == first.recall_reason
