"""A line that never holds up a request: deadlines, waits, and coming back."""

from __future__ import annotations

import builtins
import logging
import socket
import threading

import pytest

from eunoe import BackendError, SettingsError
from eunoe_backends import RedisLink
from eunoe_backends.redis_link import RECONNECT_WAITS


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def fail(client):
    raise ConnectionError("secret-host:6379")


def test_it_speaks_with_a_server(redis_url):
    link = RedisLink.from_url(redis_url, timeout=5)
    assert link.call(lambda c: c.set("k", "v"), None)
    assert link.call(lambda c: c.get("k"), None) == "v"


def test_a_call_that_hangs_is_given_up(caplog):
    release = threading.Event()
    clock = Clock()
    link = RedisLink(None, timeout=0.02, clock=clock)
    assert link.call(lambda _: release.wait(60), "default") == "default"
    assert not release.is_set()
    assert not link.is_open
    release.set()
    assert "no answer in time: left alone" not in caplog.text
    assert "left alone for 5 s" in caplog.text


def test_a_server_that_accepts_and_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        link = RedisLink.from_url(f"redis://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05)
        assert link.call(lambda c: c.get("k"), "default") == "default"
        assert not link.is_open


def test_a_port_that_nobody_listens_on():
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
    link = RedisLink.from_url(f"redis://127.0.0.1:{port}", timeout=5)
    assert link.call(lambda c: c.get("k"), "default") == "default"
    assert not link.is_open


def test_the_waits_are_5_s_then_30_s_then_2_min():
    assert RECONNECT_WAITS == (5.0, 30.0, 120.0)
    clock = Clock()
    link = RedisLink(None, timeout=5, clock=clock)
    for wait in (5, 30, 120, 120):
        assert link.is_open
        assert link.call(fail, "default") == "default"
        clock.now += wait - 1
        tried = []
        assert link.call(lambda c, tried=tried: tried.append(c), "default") == "default"
        assert tried == []
        clock.now += 1
    assert link.call(lambda _: "answer", "default") == "answer"
    assert link.call(fail, "default") == "default"
    clock.now += 5
    assert link.is_open  # an answer in between: the waits begin anew


def test_faults_are_said_once_and_without_addresses(caplog):
    caplog.set_level(logging.INFO, logger="eunoe")
    clock = Clock()
    link = RedisLink(None, timeout=5, clock=clock)
    for _ in range(5):
        link.call(fail, None)
    clock.now = 5
    link.call(lambda _: 1, None)
    assert [r.getMessage() for r in caplog.records] == [
        "Redis does not answer (ConnectionError): left alone for 5 s",
        "Redis answers again",
    ]


def test_calls_do_not_pile_up():
    release = threading.Event()
    link = RedisLink(None, timeout=0.01, waits=(0,), clock=Clock())
    for _ in range(20):
        link.call(lambda _: release.wait(60), None)
    hanging = [t for t in threading.enumerate() if t.name == "eunoe-redis"]
    assert len(hanging) <= 8
    release.set()
    for thread in hanging:
        thread.join(10)
    assert link.call(lambda _: "answer", None) == "answer"


def test_a_wrong_address_is_refused_and_not_repeated():
    with pytest.raises(SettingsError) as error:
        RedisLink.from_url("http://user:secret@host")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"timeout": -1}, {"waits": ()}])
def test_wrong_settings(wrong):
    with pytest.raises(SettingsError):
        RedisLink(None, **wrong)


def test_without_redis_py_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "redis":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BackendError, match=r"pip install 'eunoe\[redis\]'"):
        RedisLink.from_url("redis://localhost")


def test_a_client_that_ends_its_thread_has_failed():
    def leave(_):
        raise SystemExit

    assert RedisLink(None, timeout=5, clock=Clock()).call(leave, "default") == "default"
