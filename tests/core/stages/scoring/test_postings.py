import random
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.concepts import concepts_of
from eunoe.stages.scoring.postings import TermPostings


def test_holders_counts_and_first_uses():
    postings = TermPostings()
    for text in ("dog dog house", "house", "", "dog cloud"):
        postings.append(analyse_text(text, role="user"))
    held, counts = postings.holders("dog", 4)
    assert held.tolist() == [0, 3]
    assert counts.tolist() == [2, 1]
    assert postings.holders("dog", 3)[0].tolist() == [0]
    assert postings.holders("nothing", 4)[0].size == 0
    assert postings.fresh().tolist() == [2, 0, 0, 1]
    assert postings.fresh(2).tolist() == [0, 1]
    assert len(postings) == 4


def test_thesaurus_groups_are_held_too():
    postings = TermPostings()
    postings.append(analyse_text("tennis and golf", role="user"))
    held, counts = postings.holders("\u00a7sport", 1)
    assert held.tolist() == [0]
    assert counts.tolist() == [2]


def test_nothing_asked_or_held():
    postings = TermPostings()
    assert postings.gather(("dog",), 0).ends == (0,)
    postings.append(analyse_text("", role="user"))
    postings.append(analyse_text("dog", role="user"))
    assert postings.gather((), 2).ends == ()
    assert postings.gather(("dog",), 1).ends == (0,)


def test_more_than_a_byte_of_one_word():
    postings = TermPostings()
    postings.append(analyse_text("dog " * 300 + "cat", role="user"))
    assert postings.holders("dog", 1)[1].tolist() == [300]


WORDS = ("tennis", "golf", "swim", "dog", "stone", "rock", "ice")
ASKED = ("dog", "\u00a7sport", "rock", "\u00a7music", "\u00a7pet", "nothing", "\u00a7dessert")


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=8),
    st.lists(st.sampled_from(ASKED), unique=True),
    st.integers(0, 8),
)
def test_gathering_finds_what_a_look_at_each_message_finds(texts, asked, upto):
    upto = min(upto, len(texts))
    postings = TermPostings()
    messages = []
    for text in texts:
        analysis = analyse_text(text, role="user")
        postings.append(analysis)
        held = Counter(dict(zip(analysis.terms, analysis.counts, strict=True)))
        for term, count in list(held.items()):
            for group in concepts_of(term):
                held[group] += count
        messages.append(held)
    hits = postings.gather(asked, upto)
    for place, term in enumerate(asked):
        span = hits.span(place)
        wanted = [(i, held[term]) for i, held in enumerate(messages[:upto]) if term in held]
        assert list(zip(hits.messages[span], hits.counts[span], strict=True)) == wanted


def test_rare_terms_are_counted_as_the_chat_grows():
    postings = TermPostings()
    for text in ("dog dog sea", "sea", "dog fox"):
        postings.append(analyse_text(text, role="user"))
    assert postings.rare(["fox", "sea", "dog", "sea", "moon"], 2) == ["sea", "dog"]
    postings.append(analyse_text("fox and dog", role="user"))
    assert postings.rare(["fox", "sea", "dog"], 2) == ["fox", "sea"]
    assert postings.rare(["dog"], 3) == ["dog"]
    assert postings.rare([], 3) == []


WORDS = ("cat dog", "dog dog", "bird", "cat")


def test_uses_of_messages_and_of_terms():
    postings = TermPostings()
    postings.extend([analyse_text(text, role="user") for text in WORDS])
    cat, dog, bird = postings.numbers_of(["cat", "dog", "zebra", "bird"])
    taught = postings.uses_in([1, 2])
    assert taught.terms.tolist() == [dog, bird]
    assert (taught.messages.tolist(), taught.counts.tolist()) == ([1, 2], [2.0, 1.0])
    found = postings.uses_of([cat, dog], 4)
    assert found.messages.tolist() == [0, 0, 1, 3]
    assert postings.uses_of([cat], 3).messages.tolist() == [0]
    assert postings.uses_of([cat], 0).terms.size == 0


def test_a_question_between_messages_changes_no_answer():
    """Places are sorted now and then: what is sorted and what came since are one to a caller."""
    rng = random.Random(5)
    words = [f"w{i}x" for i in range(60)]
    texts = [" ".join(rng.choices(words, k=rng.randrange(1, 12))) for _ in range(200)]
    asked = ["w1x", "w59x", "none", "w7x"]
    grown = TermPostings()
    for n, text in enumerate(texts, 1):
        grown.append(analyse_text(text, role="user"))
        if rng.random() < 0.4 or n == len(texts):
            upto = rng.choice([n, n, rng.randrange(n + 1)])
            hits = grown.gather(asked, upto)
            for place, term in enumerate(asked):
                held = [(i, t.split().count(term)) for i, t in enumerate(texts[:upto])]
                span = hits.span(place)
                found = zip(hits.messages[span].tolist(), hits.counts[span].tolist(), strict=True)
                assert list(found) == [(i, many) for i, many in held if many]
            uses = grown.uses_of(grown.numbers_of(asked), upto)
            assert uses.messages.tolist() == sorted(hits.messages.tolist())
            holders = [sum(term in t.split() for t in texts[:n]) for term in asked]
            rare = [t for t, many in zip(asked, holders, strict=True) if 2 <= many <= 20]
            assert grown.rare(asked, 20) == rare


def test_parts_of_holders_are_added_up_however_the_chat_grows():
    part = np.array([0.1, 0.7, 0.3, 0.9])
    at_once, grown = TermPostings(), TermPostings()
    at_once.extend([analyse_text(text, role="user") for text in WORDS])
    for n, text in enumerate(WORDS, 1):
        grown.append(analyse_text(text, role="user"))
        grown.added_up(part[:n], n)
    all_of_them = at_once.added_up(part, 4)
    assert all_of_them.tolist() == [0.1 + 0.9, 0.1 + 0.7, 0.3]
    assert grown.added_up(part, 4).tobytes() == all_of_them.tobytes()
    assert at_once.added_up(part[:2], 2).tolist() == [0.1, 0.1 + 0.7, 0.0]
    assert at_once.added_up(part, 4).tobytes() == all_of_them.tobytes()
