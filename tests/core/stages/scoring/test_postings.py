from collections import Counter

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
