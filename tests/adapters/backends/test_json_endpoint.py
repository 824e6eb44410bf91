"""One endpoint on a real socket: tries, time limit, and a key that nobody sees."""

from __future__ import annotations

import logging

import pytest

from eunoe import BackendError, SettingsError
from eunoe_backends.json_endpoint import JsonEndpoint
from model_server import running_server

pytest.importorskip("httpx")

KEY = "sk-very-secret"


@pytest.fixture
def models():
    with running_server() as running:
        running.answer = "{}"
        yield running


def endpoint(models, **more):
    waited = []
    found = JsonEndpoint(models.url, KEY, sleep=waited.append, **more)
    return found, waited


def test_what_may_pass_is_tried_again(models):
    models.statuses = [503, 429]
    found, waited = endpoint(models)
    assert found.post("things", {"a": 1}) == {}
    assert waited == [0.25, 1.0]
    assert [body for _, _, body in models.asked] == [{"a": 1}] * 3
    assert models.asked[0][1]["Authorization"] == f"Bearer {KEY}"
    found.close()


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (401, 1), (404, 1), (500, 3), (302, 1)])
def test_a_fault_is_told_without_the_key(models, caplog, status, tries):
    caplog.set_level(logging.DEBUG)
    models.statuses = [status] * 5
    found, _ = endpoint(models)
    with pytest.raises(BackendError, match=str(status)) as caught:
        found.post("/things", {})
    assert len(models.asked) == tries
    assert KEY not in str(caught.value) + repr(found) + caplog.text
    found.close()


@pytest.mark.parametrize("answer", ["", "no json", "[" * 100_000])
def test_an_answer_that_is_no_json_is_not_tried_again(models, answer):
    models.answer = answer
    found, _ = endpoint(models)
    with pytest.raises(BackendError):
        found.post("things", {})
    assert len(models.asked) == 1
    found.close()


def test_nobody_is_waited_for_beyond_the_limit(models):
    models.delay = 5.0
    found = JsonEndpoint(models.url, timeout=0.2)
    with pytest.raises(BackendError):
        found.post("things", {})
    assert "Authorization" not in models.asked[0][1]
    models.delay = 0.0
    found.close()


def test_no_server_at_all():
    found = JsonEndpoint("http://127.0.0.1:1/v1", sleep=lambda seconds: None)
    with pytest.raises(BackendError, match="ConnectError"):
        found.post("things", {})
    found.close()


@pytest.mark.parametrize(
    "more",
    [
        {"base_url": "localhost:11434"},
        {"base_url": "file:///etc/passwd"},
        {"base_url": ""},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"attempts": 0},
    ],
)
def test_settings_out_of_range(more):
    with pytest.raises(SettingsError):
        JsonEndpoint(**{"base_url": "http://localhost/v1", **more})
