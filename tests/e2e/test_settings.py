"""Settings and faults: nothing that is stored, and nothing that breaks, may stop a chat."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from e2e import setup_host
from e2e.host import Host
from e2e.talk import FILTER, PLAIN_MODEL, WINDOW, WINDOW_MODEL, office_chat, told_tokens, words
from e2e.upstream import Upstream
from e2e.webapi import WebApi

BROKEN = '''"""
title: eunoe, broken on purpose
"""
from eunoe_openwebui import Filter as Whole

class Filter(Whole):
    def _work(self, *given):
        raise RuntimeError("secret of the chat")
'''
INLET_ALONE = '''"""
title: eunoe, as a host before 0.11.2 runs it
"""
from eunoe_openwebui import Filter as Whole

class Filter(Whole):
    inlet = Whole.request
    request = None
'''
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "openwebui_function.py"
JUNK = {
    "max_tokens": "lots",
    "policy": "quickest",
    "model_overrides": "{not json",
    "recall_floor": "-7",
    "deadline_seconds": "1e999",
    "show_status": "perhaps",
    "priority": "",
    "of_another_version": 1,
}


def test_junk_is_stored_as_something_usable(admin: WebApi, fresh: Upstream) -> None:
    stored = admin.set_valves(FILTER, JUNK)
    assert (stored["max_tokens"], stored["policy"]) == (0, "preset")
    assert (stored["recall_floor"], stored["deadline_seconds"]) == (0.0, 120.0)
    assert admin.ask(PLAIN_MODEL, "Hello?").message["content"] == "echo: Hello?"


def test_every_valve_has_a_label_and_an_explanation(admin: WebApi, fresh: Upstream) -> None:
    spec = admin.call("GET", f"/api/v1/functions/id/{FILTER}/valves/spec")
    assert list(spec["properties"])[:3] == ["preset", "max_tokens", "show_status"]
    for name, field in spec["properties"].items():
        assert field["title"], name
        assert field["description"], name


def test_the_filter_is_active_and_known_by_its_front_matter(
    admin: WebApi, fresh: Upstream, installed: str
) -> None:
    function = admin.function(FILTER)
    assert function["is_active"]
    assert function["is_global"]
    assert function["type"] == "filter"
    assert function["meta"]["manifest"]["title"] == "eunoe"


def test_a_user_may_ask_for_less_or_for_none(admin: WebApi, fresh: Upstream) -> None:
    path = f"/api/v1/functions/id/{FILTER}/valves/user/update"
    text = words(2000, 3)
    try:
        admin.call("POST", path, {"max_tokens": 200})
        admin.ask(PLAIN_MODEL, text)
        admin.call("POST", path, {"enabled": False, "max_tokens": 200})
        silent = admin.ask(PLAIN_MODEL, text)
    finally:
        admin.call("POST", path, {})
    assert fresh.requests[0].tokens <= 200
    assert fresh.requests[1].tokens > 2000
    assert silent.status_lines == []


def test_no_status_line_when_it_is_off(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"show_status": "false"})
    assert admin.ask(PLAIN_MODEL, "Hello?").status_lines == []


def test_a_filter_that_fails_lets_the_chat_through(admin: WebApi, host: Host) -> None:
    with admin.paused(FILTER), admin.installed("broken", "broken", BROKEN):
        turn = admin.ask(PLAIN_MODEL, "Is anybody there?")
        answer = admin.complete(PLAIN_MODEL, [{"role": "user", "content": "And here?"}])
        assert admin.function("broken")["is_active"]
    assert turn.message["content"] == "echo: Is anybody there?"
    assert answer["choices"][0]["message"]["content"] == "echo: And here?"
    assert turn.status_lines == ["eunoe failed (RuntimeError): sent as it is"]
    log = host.log.read_text(errors="replace")
    assert "eunoe failed (RuntimeError)" in log
    assert "secret of the chat" not in log


def test_as_a_switch_it_runs_where_it_is_switched_on(admin: WebApi, fresh: Upstream) -> None:
    source = EXAMPLE.read_text() + "\nclass Filter(Filter): toggle = True\n"
    with admin.paused(FILTER), admin.installed("switch", "switch", source):
        admin.set_valves("switch", {"max_tokens": 300})
        off = admin.ask(PLAIN_MODEL, words(2000, 3))
        on = admin.ask(PLAIN_MODEL, words(2000, 3), filter_ids=["switch"])
    assert off.status_lines == []
    assert on.status_lines
    assert fresh.requests[0].tokens > 2000
    assert fresh.requests[1].tokens <= 300


def test_inlet_alone_fits_the_chat_and_counts_the_models_prompt(
    admin: WebApi, upstream: Upstream
) -> None:
    upstream.reset(window=WINDOW)
    prompt = "You are a tutor. " + " ".join(text for _, text in office_chat()[:34])
    with (
        admin.paused(FILTER),
        admin.installed("inlet_alone", "inlet alone", INLET_ALONE),
        admin.workspace_model("old-tutor", WINDOW_MODEL, prompt) as tutor,
    ):
        turn = admin.ask(tutor, "And now?", admin.import_chat(tutor, office_chat()))
    assert turn.message["content"] == "echo: And now?"
    assert len(turn.status_lines) == 1
    (seen,) = upstream.requests
    assert seen.problems == ()
    assert seen.tokens <= WINDOW * 85 // 100
    assert told_tokens(turn.status_lines[0]) == pytest.approx(seen.tokens, rel=0.1)


@pytest.mark.usefixtures("host")
def test_the_installed_package_works_in_the_hosts_own_python() -> None:
    script = (
        "import asyncio, json; from eunoe_openwebui import Filter; "
        "chat = [{'role': 'user', 'content': f'{n} ' + 'word ' * 50} for n in range(99)]; "
        "body = {'model': 'm', 'messages': chat}; given = Filter(); "
        "given.valves = given.Valves(max_tokens=1000); "
        "sent = asyncio.run(given.inlet(body))['messages']; "
        "print(json.dumps(sent[-1] == chat[-1]), len(sent))"
    )
    done = subprocess.run(
        [str(setup_host.host_python()), "-c", script], capture_output=True, text=True, check=True
    )
    same, left = done.stdout.split()
    assert json.loads(same)
    assert 1 < int(left) < 99
