from __future__ import annotations

import pytest

from eunoe.wire.sent_schemas import sent_schemas

TOOL = {"type": "function", "function": {"name": "look"}}
OLD = {"name": "find", "parameters": {}}
FORM = {"name": "answer", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({}, [], id="none"),
        pytest.param({"tools": [TOOL]}, [TOOL], id="tools"),
        pytest.param({"functions": [OLD]}, [OLD], id="functions"),
        pytest.param(
            {"response_format": {"type": "json_schema", "json_schema": FORM}}, [FORM], id="form"
        ),
        pytest.param(
            {"response_format": {"json_schema": FORM}, "functions": [OLD], "tools": [TOOL]},
            [TOOL, OLD, FORM],
            id="all",
        ),
        pytest.param({"response_format": {"type": "json_object"}}, [], id="only JSON"),
        pytest.param(
            {"tools": "no", "functions": None, "response_format": "json"}, [], id="other kinds"
        ),
        pytest.param({"tools": ["x", TOOL, None]}, [TOOL], id="members of another kind"),
    ],
)
def test_what_takes_room_beside_the_messages(body, expected):
    assert sent_schemas(body) == expected
