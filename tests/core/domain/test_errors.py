from __future__ import annotations

import pickle

import pytest

import eunoe
from eunoe.domain.errors import (
    BackendError,
    BudgetError,
    ChatFileError,
    ConversationError,
    EunoeError,
    SettingsError,
)

ERRORS = [
    pytest.param(
        BudgetError(120, 100),
        ValueError,
        "system messages, tools and the current turn take 120 tokens, 100 allowed",
        {"needed": 120, "allowed": 100},
        id="budget",
    ),
    pytest.param(
        BudgetError(5008, 1000, 5000),
        ValueError,
        "system messages, tools and the current turn take 5008 tokens, with 5000 left for the "
        "answer, 1000 allowed",
        {"needed": 5008, "allowed": 1000, "reserve": 5000},
        id="budget with a reserve",
    ),
    pytest.param(
        BudgetError(120, 4, most_usd=0.00001),
        ValueError,
        "system messages, tools and the current turn take 120 tokens, 4 allowed: more may cost "
        "over $0.000010",
        {"needed": 120, "allowed": 4, "reserve": 0, "most_usd": 0.00001},
        id="budget in money",
    ),
    pytest.param(
        SettingsError("low_water", 2, "from 0 to 1"),
        ValueError,
        "low_water is 2; allowed: from 0 to 1",
        {"name": "low_water", "value": 2, "allowed": "from 0 to 1"},
        id="settings",
    ),
    pytest.param(
        ChatFileError("a.json", "line 3", "no list"),
        ValueError,
        "a.json: line 3: no list",
        {"path": "a.json", "place": "line 3", "problem": "no list"},
        id="chat file",
    ),
    pytest.param(
        ChatFileError("a.json", "", "no list"), ValueError, "a.json: no list", {}, id="no place"
    ),
    pytest.param(ConversationError("x"), ValueError, "x", {}, id="conversation"),
    pytest.param(BackendError("x"), RuntimeError, "x", {}, id="backend"),
]


@pytest.mark.parametrize(("error", "builtin", "text", "data"), ERRORS)
def test_errors_are_built_ins_with_data_and_survive_pickling(error, builtin, text, data):
    assert isinstance(error, EunoeError)
    assert isinstance(error, builtin)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    for one in (error, back):
        assert str(one) == text
        assert {name: getattr(one, name) for name in data} == data


def test_errors_are_public():
    for name in (
        "BudgetError",
        "SettingsError",
        "ConversationError",
        "ChatFileError",
        "BackendError",
    ):
        assert issubclass(getattr(eunoe, name), EunoeError)
