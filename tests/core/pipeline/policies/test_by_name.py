"""Every policy that may be named is one that decides."""

from __future__ import annotations

from eunoe.domain.settings import POLICY_NAMES
from eunoe.pipeline.policies.by_name import POLICY_VIEWS


def test_each_name_has_a_view():
    assert set(POLICY_VIEWS) == set(POLICY_NAMES)
