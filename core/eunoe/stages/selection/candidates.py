"""What a selection chooses from: worth, cost, likeness, and what must stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eunoe.stages.selection.tiers import TierElements, clean_costs, plain_elements


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseSimilarity:
    """How well items stand for each other, as sparse rows; what is not stored is 0.

    Row j holds the items k that j covers, with ``s_kj`` in [0, 1]. The diagonal is not stored:
    every item covers itself wholly.

    Attributes:
        indptr: shape (n + 1,), row j is ``indptr[j]`` to ``indptr[j + 1] - 1``.
        indices: shape (nnz,), covered items, each at most once per row.
        values: shape (nnz,), in [0, 1].
    """

    indptr: NDArray[np.intp]
    indices: NDArray[np.intp]
    values: NDArray[np.float64]

    @staticmethod
    def of(indptr: ArrayLike, indices: ArrayLike, values: ArrayLike) -> SparseSimilarity:
        """Checked rows: values clipped to [0, 1], not-a-number to 0, diagonal and zeros removed.

        Args:
            indptr: shape (n + 1,), from 0, never falling, to nnz.
            indices: shape (nnz,), 0 to n - 1.
            values: shape (nnz,).

        Returns:
            Clean rows.

        Raises:
            ValueError: the arrays do not describe n rows over n items.
        """
        start = np.asarray(indptr, dtype=np.intp)
        column = np.asarray(indices, dtype=np.intp)
        value = np.asarray(values, dtype=np.float64)
        size = start.size - 1
        if start.ndim != 1 or size < 0 or start[0] != 0 or (np.diff(start) < 0).any():
            raise ValueError("similarity: indptr must start at 0 and never fall")
        if column.ndim != 1 or column.shape != value.shape or start[-1] != column.size:
            raise ValueError("similarity: indices and values must have indptr[-1] entries")
        if column.size and (column.min() < 0 or column.max() >= size):
            raise ValueError(f"similarity: indices must be in [0, {size})")
        row = np.repeat(np.arange(size, dtype=np.intp), np.diff(start))
        value = np.clip(np.nan_to_num(value, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
        keep = (value > 0.0) & (row != column)
        kept = np.zeros(size + 1, dtype=np.intp)
        np.cumsum(np.bincount(row[keep], minlength=size), out=kept[1:])
        return SparseSimilarity(indptr=kept, indices=column[keep], values=value[keep])

    @property
    def size(self) -> int:
        """The number of items, n."""
        return int(self.indptr.size - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelectionCandidates:
    """n items, oldest first, and the budget they compete for. Build it with :meth:`of`.

    Attributes:
        relevance: shape (n,), finite, at least 0.
        elements: the forms of the items with their costs.
        budget: tokens for everything that is chosen, forced items included; may be negative.
        similarity: n rows, or None when items are taken to be unlike.
        forced: shape (n,), items that must be chosen.
        protected: shape (n,), forced items that must stay verbatim.
        barred: shape (n,), items that must not be chosen; forced wins over barred.
        groups: shape (n,), items of one label travel together; below 0 travels alone.
        ids: n content ids, or empty when unknown.
        sent: id sequences of lists that were sent before, newest first.
        warnings: what was mended while building.
    """

    relevance: NDArray[np.float64]
    elements: TierElements
    budget: int
    similarity: SparseSimilarity | None
    forced: NDArray[np.bool_]
    protected: NDArray[np.bool_]
    barred: NDArray[np.bool_]
    groups: NDArray[np.intp] | None = None
    ids: tuple[str, ...] = ()
    sent: tuple[tuple[str, ...], ...] = ()
    warnings: tuple[str, ...] = ()

    @staticmethod
    def of(
        relevance: ArrayLike,
        cost: ArrayLike | TierElements,
        budget: int,
        *,
        similarity: SparseSimilarity | None = None,
        forced: ArrayLike | None = None,
        protected: ArrayLike | None = None,
        barred: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        ids: Sequence[str] = (),
        sent: Sequence[Sequence[str]] = (),
    ) -> SelectionCandidates:
        """Checked candidates.

        Args:
            relevance: shape (n,), oldest item first; negative and not finite values become 0, the
                latter with a warning.
            cost: shape (n,), tokens (below 1 counts as 1), or elements from ``tier_elements``.
            budget: tokens.
            similarity: n rows, from ``SparseSimilarity.of`` or ``knn_similarity``.
            forced: shape (n,), what must be chosen.
            protected: shape (n,), forced items that must stay verbatim.
            barred: shape (n,), what must not be chosen.
            groups: shape (n,), labels of what travels together.
            ids: n content ids.
            sent: id sequences sent before, newest first.

        Returns:
            Candidates with float64, int64 and bool arrays.

        Raises:
            ValueError: shapes that do not agree, or a cost that is not finite.
        """
        worth = np.asarray(relevance, dtype=np.float64)
        if worth.ndim != 1:
            raise ValueError(f"relevance has shape {worth.shape}, allowed: (n,)")
        size = worth.size
        finite = np.isfinite(worth)
        broken = int(size - finite.sum())
        warnings = (f"{broken} relevance values not finite, taken as 0",) if broken else ()
        if isinstance(cost, TierElements):
            elements = cost
            if elements.start.size != size + 1:
                raise ValueError(f"cost has {elements.start.size - 1} items, allowed: {size}")
        else:
            elements = plain_elements(clean_costs(cost, size))
        if similarity is not None and similarity.size != size:
            raise ValueError(f"similarity has {similarity.size} rows, allowed: {size}")
        if ids and len(ids) != size:
            raise ValueError(f"ids has {len(ids)} entries, allowed: {size}")
        must = _candidate_mask(forced, size, "forced")
        labels = None if groups is None else np.asarray(groups, dtype=np.intp)
        if labels is not None and labels.shape != (size,):
            raise ValueError(f"groups has shape {labels.shape}, allowed: ({size},)")
        return SelectionCandidates(
            relevance=np.where(finite, np.maximum(worth, 0.0), 0.0),
            elements=elements,
            budget=int(budget),
            similarity=similarity,
            forced=must,
            protected=_candidate_mask(protected, size, "protected") & must,
            barred=_candidate_mask(barred, size, "barred") & ~must,
            groups=labels,
            ids=tuple(ids),
            sent=tuple(tuple(sequence) for sequence in sent),
            warnings=warnings,
        )

    @property
    def size(self) -> int:
        """The number of items, n."""
        return int(self.relevance.size)

    @property
    def full_cost(self) -> NDArray[np.int64]:
        """Shape (n,), tokens of every item word for word."""
        return self.elements.cost[self.elements.start[1:] - 1]


def _candidate_mask(given: ArrayLike | None, size: int, name: str) -> NDArray[np.bool_]:
    """A mask of n items, all False when none is given."""
    if given is None:
        return np.zeros(size, dtype=bool)
    mask = np.asarray(given, dtype=bool)
    if mask.shape != (size,):
        raise ValueError(f"{name} has shape {mask.shape}, allowed: ({size},)")
    return mask
