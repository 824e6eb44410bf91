"""Structure: what ties messages together, and what stands out along a conversation."""

from eunoe.stages.structure.blend import (
    blend_rank,
    budget_pressure,
    direct_share,
    normal_cosine,
    normal_entropy,
)
from eunoe.stages.structure.ghost import entity_type, ghost_weights, points_away
from eunoe.stages.structure.graph import MessageGraph
from eunoe.stages.structure.pagerank import (
    merge_edges,
    personalised_pagerank,
    seed_weights,
    transition_weights,
)
from eunoe.stages.structure.stance import (
    Stance,
    stance_confidence,
    stance_kernel,
    stance_of,
    stance_strength,
)
from eunoe.stages.structure.supersede import discount_superseded, stated_values, superseded
from eunoe.stages.structure.waveform import (
    age_decay,
    gain_wave,
    lift_spans,
    maximal_spans,
    standing_spans,
)

__all__ = [
    "MessageGraph",
    "Stance",
    "age_decay",
    "blend_rank",
    "budget_pressure",
    "direct_share",
    "discount_superseded",
    "entity_type",
    "gain_wave",
    "ghost_weights",
    "lift_spans",
    "maximal_spans",
    "merge_edges",
    "normal_cosine",
    "normal_entropy",
    "personalised_pagerank",
    "points_away",
    "seed_weights",
    "stance_confidence",
    "stance_kernel",
    "stance_of",
    "stance_strength",
    "standing_spans",
    "stated_values",
    "superseded",
    "transition_weights",
]
