import numpy as np

from eunoe.stages.selection import SelectionCandidates, SparseSimilarity, Tier, tier_elements
from eunoe.stages.selection.grouping import group_members, join_groups


def test_groups_are_as_new_as_their_newest_item():
    assert group_members(np.asarray([5, -1, 0, 5, -1, 0])) == ((1,), (0, 3), (4,), (2, 5))
    assert group_members(np.asarray([], dtype=int)) == ()


def test_joined_candidates():
    pool = SelectionCandidates.of(
        [0.2, 0.9, 0.4],
        tier_elements([10, 20, 30], gist=[2, 3, 4]),
        50,
        similarity=SparseSimilarity.of(
            [0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [1, 0.3, 1, 0.5, 0.3, 0.5]
        ),
        forced=[True, False, False],
        protected=[True, False, False],
        barred=[False, True, True],
    )
    joined = join_groups(pool, ((0, 1), (2,)))
    assert joined.relevance.tolist() == [0.9, 0.4]
    assert joined.elements.cost.tolist() == [30, 4, 30]
    assert joined.elements.tier.tolist() == [Tier.VERBATIM, Tier.GIST, Tier.VERBATIM]
    assert joined.elements.start.tolist() == [0, 1, 3]
    assert joined.similarity.indices.tolist() == [1, 0]
    assert joined.similarity.values.tolist() == [0.5, 0.5]  # likeness inside a group is gone
    assert joined.forced.tolist() == [True, False]
    assert joined.protected.tolist() == [True, False]
    assert joined.barred.tolist() == [False, True]  # forced wins
