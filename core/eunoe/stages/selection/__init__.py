"""What is shown: a knapsack over items and forms, with a certificate of how good the choice is."""

from eunoe.stages.selection.candidates import SelectionCandidates, SparseSimilarity
from eunoe.stages.selection.prefix import PrefixCacheOptimizedAlgorithm
from eunoe.stages.selection.redundancy import (
    estimate_beta,
    estimate_beta_sparse,
    sample_positions,
)
from eunoe.stages.selection.selecting import Selection, select_items
from eunoe.stages.selection.similarity import (
    cosine_matrix,
    knn_similarity,
    nearest_neighbours,
    unit_rows,
)
from eunoe.stages.selection.strategies import (
    CoverageAlgorithm,
    DependencyAwareAlgorithm,
    GreedyByWeightAlgorithm,
    RecencyBiasedAlgorithm,
    SelectionAlgorithm,
)
from eunoe.stages.selection.tiers import Tier, TierElements, tier_elements

__all__ = [
    "CoverageAlgorithm",
    "DependencyAwareAlgorithm",
    "GreedyByWeightAlgorithm",
    "PrefixCacheOptimizedAlgorithm",
    "RecencyBiasedAlgorithm",
    "Selection",
    "SelectionAlgorithm",
    "SelectionCandidates",
    "SparseSimilarity",
    "Tier",
    "TierElements",
    "cosine_matrix",
    "estimate_beta",
    "estimate_beta_sparse",
    "knn_similarity",
    "nearest_neighbours",
    "sample_positions",
    "select_items",
    "tier_elements",
    "unit_rows",
]
