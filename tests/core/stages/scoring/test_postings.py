from eunoe.stages.scoring.analysis import analyse_text
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
    assert postings.fresh(4).tolist() == [2, 0, 0, 1]
    assert len(postings) == 4


def test_thesaurus_groups_are_held_too():
    postings = TermPostings()
    postings.append(analyse_text("tennis and golf", role="user"))
    held, counts = postings.holders("\u00a7sport", 1)
    assert held.tolist() == [0]
    assert counts.tolist() == [2]
