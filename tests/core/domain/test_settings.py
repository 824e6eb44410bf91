from __future__ import annotations

import pytest

from eunoe.domain.errors import SettingsError
from eunoe.domain.settings import POLICY_NAMES, Settings

SHARES = (
    "high_water",
    "low_water",
    "recall_share",
    "deep_recall_share",
    "pair_coherence",
    "tool_penalty",
)


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), float("inf")])
def test_shares_out_of_range_name_value_and_range(name, value):
    with pytest.raises(SettingsError) as caught:
        Settings(**{name: value})
    assert str(caught.value).startswith(f"{name} is {value!r}; allowed: from ")
    assert (caught.value.name, caught.value.allowed[:5]) == (name, "from ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": "best"}, f"policy is 'best'; allowed: {', '.join(POLICY_NAMES)}"),
        ({"recall": "maybe"}, "recall is 'maybe'; allowed: auto, always, never"),
        ({"high_water": 0.2}, "high_water is 0.2; allowed: from 0.3 to 1"),
        ({"high_water": 0.5, "low_water": 0.5}, "low_water is 0.5; allowed: below high_water 0.5"),
        (
            {"placement": "random"},
            "placement is 'random'; allowed: chronological, u_shape",
        ),
        ({"max_candidates": 0}, "max_candidates is 0; allowed: from 1 to 10000"),
    ],
)
def test_other_settings_say_what_is_allowed(given, said):
    with pytest.raises(SettingsError) as caught:
        Settings(**given)
    assert str(caught.value) == said


@pytest.mark.parametrize("name", [*SHARES, "max_candidates"])
@pytest.mark.parametrize("value", ["0.5", None, [1]])
def test_settings_of_another_type_are_named_too(name, value):
    if value is None and name in ("pair_coherence", "tool_penalty"):
        assert getattr(Settings(**{name: None}), name) is None
        return
    with pytest.raises(SettingsError, match=f"{name} is "):
        Settings(**{name: value})


def test_the_bounds_themselves_are_allowed():
    Settings(high_water=1.0, low_water=0.05, recall_share=0.0, deep_recall_share=0.95)
    Settings(high_water=0.3, low_water=0.1, pair_coherence=1.0, tool_penalty=0.0, max_candidates=1)


@pytest.mark.parametrize("tiers", [("gist", "verbatim"), ("STUB",), ("", "gist")])
def test_tiers_are_named(tiers):
    with pytest.raises(SettingsError, match="allowed: gist, summary, stub"):
        Settings(recall_tiers=tiers)
    assert Settings(recall_tiers=()).recall_tiers == ()
