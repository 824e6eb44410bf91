from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from eunoe import BackendError, SettingsError
from eunoe_cli.__main__ import make_parser
from eunoe_cli.proxy import make_app
from eunoe_proxy import ProxySettings, create_app
from eunoe_proxy.wishes import Wishes, read_wishes, session_of
from eunoe_web.asgi import Incoming
from eunoe_web.serving import serve

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:11434",
        "ftp://host/v1",
        "http://",
        "http://user:secret@host/v1",
        "http://host:99999/v1",
        "http://host/v1?key=secret",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_repeated(address):
    with pytest.raises(SettingsError) as caught:
        ProxySettings(upstream=address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", -1),
        ("max_tokens", 2.5),
        ("context_share", 0),
        ("context_share", 1.1),
        ("deadline", 0),
        ("timeout", float("inf")),
        ("policy", "magic"),
        ("profile", "nobody"),
        ("on_overflow", "raise"),
        ("read_flags", "no"),
        ("hosts", "one.example"),
        ("api_key", "two words"),
        ("api_key", "line\nend"),
    ],
)
def test_a_wrong_setting_is_named(name, value):
    with pytest.raises(SettingsError, match=name):
        create_app("http://host/v1", **{name: value})


def test_a_key_is_not_shown():
    assert "sk-1" not in repr(ProxySettings(upstream="http://host/v1", api_key="sk-1"))


def options(*words):
    return make_parser("proxy").parse_args(["proxy", "--upstream", "http://host/v1", *words])


def test_the_command_sets_what_it_says(monkeypatch):
    monkeypatch.setenv("MY_KEY", " sk-2 \n")
    words = "--max-tokens 8k --context-share 0.5 --policy window --profile gemini --flags"
    words += " --allow-host LLM.example"
    app = make_app(options(*words.split(), "--api-key-env", "MY_KEY", "--ask-usage"))
    assert app.settings == ProxySettings(
        upstream="http://host/v1",
        max_tokens=8000,
        context_share=0.5,
        policy="window",
        profile="gemini",
        read_flags=True,
        api_key="sk-2",
        ask_usage=True,
        hosts=("LLM.example",),
    )


def test_a_variable_that_is_not_set_is_said(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SettingsError, match="MY_KEY"):
        make_app(options("--api-key-env", "MY_KEY"))


def test_a_missing_package_is_named(monkeypatch):
    app = create_app("http://host/v1")
    for package in ("httpx", "uvicorn"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendError, match=r"httpx: pip install 'eunoe\[proxy\]'"):
        create_app("http://host/v1")
    with pytest.raises(BackendError, match=r"uvicorn: pip install 'eunoe\[proxy\]'"):
        serve(app, port=0, extra="proxy")


def test_the_package_is_imported_without_its_extra():
    code = (
        "import sys; sys.modules['httpx'] = sys.modules['uvicorn'] = None\n"
        "import eunoe_proxy, eunoe_cli.proxy"
    )
    paths = os.pathsep.join(str(REPOSITORY / folder) for folder in ("core", "adapters"))
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def wishes(**headers: str) -> Wishes:
    scope = {
        "method": "POST",
        "path": "/",
        "headers": [
            (f"x-eunoe-{k.replace('_', '-')}".encode(), v.encode("latin-1"))
            for k, v in headers.items()
        ],
    }
    return read_wishes(Incoming(scope, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Wishes()),
        ({"policy": " Window "}, Wishes(policy="window")),
        ({"policy": "é"}, Wishes(ignored=("X-Eunoe-Policy",))),
        ({"max_tokens": "4000"}, Wishes(max_tokens=4000)),
        ({"max_tokens": "0"}, Wishes(ignored=("X-Eunoe-Max-Tokens",))),
        ({"max_tokens": "4k"}, Wishes(ignored=("X-Eunoe-Max-Tokens",))),
        ({"max_tokens": "²"}, Wishes(ignored=("X-Eunoe-Max-Tokens",))),
        ({"max_tokens": "9" * 5000}, Wishes(ignored=("X-Eunoe-Max-Tokens",))),
        ({"session": "a\tb" + "c" * 300}, Wishes(session="ab" + "c" * 198)),
    ],
)
def test_wishes_are_read(headers, expected):
    assert replace(wishes(**headers), caller=0) == expected


def test_a_session_is_named_by_how_a_chat_begins():
    head = [{"role": "system", "content": "s"}, {"role": "user", "content": "a\ud800"}]
    longer = [*head, {"role": "assistant", "content": "b"}]
    assert session_of(head) == session_of(longer)
    assert session_of(head) != session_of(head[1:])
    assert session_of(head) != session_of([head[0], {"role": "user", "content": "c"}])
