from dataclasses import fields

from eunoe.stages.scoring.settings import ScoringSettings, SignalWeights


def test_every_weight_is_described():
    for item in fields(SignalWeights):
        assert f"        {item.name}: " in (SignalWeights.__doc__ or "")
    for item in fields(ScoringSettings):
        assert f"        {item.name}: " in (ScoringSettings.__doc__ or "")
