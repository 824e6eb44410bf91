"""Personalised PageRank on a weighted graph of messages and entities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PAGERANK_DAMPING = 0.85
PAGERANK_SOFTMAX = 3.0
PAGERANK_TOLERANCE = 1e-6
PAGERANK_STEPS = 200


def merge_edges(
    source: NDArray[np.int64], target: NDArray[np.int64], kappa: NDArray[np.float64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Drop self-loops, keep the strongest of parallel edges, order by (source, target)."""
    keep = source != target
    source, target, kappa = source[keep], target[keep], kappa[keep]
    key = source * nodes + target
    order = np.lexsort((-kappa, key))
    first = np.ones(order.shape, dtype=bool)
    first[1:] = np.diff(key[order]) != 0
    chosen = order[first]
    return source[chosen], target[chosen], kappa[chosen]


def transition_weights(
    source: NDArray[np.int64],
    kappa: NDArray[np.float64],
    nodes: int,
    *,
    sharpness: float = PAGERANK_SOFTMAX,
) -> NDArray[np.float64]:
    """Softmax of ``sharpness * kappa`` over the edges that leave each node.

    Args:
        source: Start of each edge.
        kappa: Strength of each edge in [0, 1].
        nodes: Number of nodes.
        sharpness: Inverse temperature inside the exponent.

    Source of formula: H3, ``P_ij = exp(tau k_ij) / sum_k exp(tau k_ik)``.
    """
    highest = np.full(nodes, -np.inf)
    np.maximum.at(highest, source, kappa)
    raised = np.exp(sharpness * (kappa - highest[source]))
    return np.asarray(raised / np.bincount(source, raised, minlength=nodes)[source])


def seed_weights(
    alignment: NDArray[np.float64], seeds: NDArray[np.int64], *, floor: float = 0.01
) -> NDArray[np.float64]:
    """Teleport vector: ``alignment**2 + floor`` on the seeds, normalised, 0 elsewhere (H2)."""
    out = np.zeros(alignment.shape)
    out[seeds] = alignment[seeds] ** 2 + floor
    total = out.sum()
    return np.asarray(out / total) if total > 0.0 else out


def personalised_pagerank(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    weight: NDArray[np.float64],
    teleport: NDArray[np.float64],
    *,
    damping: float = PAGERANK_DAMPING,
    tolerance: float = PAGERANK_TOLERANCE,
    steps: int = PAGERANK_STEPS,
) -> NDArray[np.float64]:
    """Stationary distribution of a walk that teleports to the seeds.

    ``pi <- (1-d) v + d (P' pi + (mass of dangling nodes) v)`` until
    ``d/(1-d) |change|_1 <= tolerance``, a bound on the distance to the fixed point.

    Args:
        source: Start of each edge.
        target: End of each edge.
        weight: Transition probability of each edge; those of one source sum to 1.
        teleport: Seed mass >= 0, shape (nodes,); all zero means uniform.
        damping: ``d``.
        tolerance: Bound at which to stop.
        steps: Most steps taken.

    Returns:
        Probabilities, shape (nodes,); without edges the teleport vector itself.

    Source of formula: H6.
    """
    nodes = teleport.shape[0]
    if nodes == 0:
        return np.zeros(0)
    total = float(teleport.sum())
    v = teleport / total if total > 0.0 else np.full(nodes, 1.0 / nodes)
    if source.size == 0:
        return np.asarray(v)
    dangling = np.bincount(source, minlength=nodes) == 0
    pi = v.copy()
    for _ in range(steps):
        flow = np.bincount(target, weight * pi[source], minlength=nodes)
        new = (1.0 - damping) * v + damping * (flow + float(pi[dangling].sum()) * v)
        change = float(np.abs(new - pi).sum())
        pi = new
        if damping / (1.0 - damping) * change <= tolerance:
            break
    return np.asarray(pi)
