"""In which order quoted messages are shown."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.atom import Atom, first_place
from eunoe.pipeline.recalling.recall import Scored
from eunoe.pipeline.request import Request
from eunoe.stages.placement import PlacementZones, u_shape_order, zoned_order


def placed_atoms(
    request: Request, quoted: Sequence[Atom], zones: PlacementZones | None, scored: Scored | None
) -> list[Atom]:
    """The quoted atoms as they are shown: in the policy's zones, else as the settings say."""
    atoms = sorted(quoted, key=first_place)
    if zones is None and request.settings.placement != "u_shape":
        return atoms
    relevance = [scored.of(a) if scored is not None else 0.0 for a in atoms]
    if zones is not None:
        order = zoned_order(relevance, [a.first for a in atoms], zones)
    else:
        order = u_shape_order(relevance)
    return [atoms[k] for k in order]
