"""The observer's page is told by a real host: of each model call, and of the reported usage."""

from __future__ import annotations

import time

import pytest

from e2e.talk import FILTER, PRICED_MODEL, office_chat
from e2e.upstream import Upstream
from e2e.webapi import WebApi
from eunoe_observer import EventLog, ObserverApp
from served import running_app


def test_a_turn_is_seen_on_the_page(admin: WebApi, fresh: Upstream) -> None:
    pytest.importorskip("uvicorn")
    log = EventLog()
    with running_app(ObserverApp(log)) as url:
        admin.set_valves(FILTER, {"max_tokens": 1500, "observer_url": url})
        with admin.workspace_model("watched-model", PRICED_MODEL, usage=True) as model:
            last = admin.import_chat(model, [*office_chat(), *office_chat()[2:] * 3])
            turn = admin.ask(model, "On which port does our database listen?", last)
            end = time.monotonic() + 20
            while not log.news()["totals"].get("measured.sent.requests"):
                assert time.monotonic() < end, log.news()
                time.sleep(0.1)
    [row] = log.news()["events"]
    assert (row["source"], row["session"], row["model"]) == ("Open WebUI", turn.chat_id, model)
    assert row["recalled"] > 0
    assert row["fates"]["d"] > 0
    assert row["ledger"]["measured.sent.cost"] > 0
    details = log.details(row["n"]) or b""
    assert b"54329" not in details
    assert b"database" not in details
