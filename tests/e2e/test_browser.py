"""The pages of the host in a real browser: set the filter up, chat, read the status line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import setup_host
from e2e.host import ADMIN_EMAIL, ADMIN_PASSWORD, Host
from e2e.talk import FILTER, PRICED_MODEL, office_chat
from e2e.upstream import Json, Reply, Upstream
from e2e.webapi import WebApi
from e2e.webdriver import Browser

SHOTS = Path(os.environ.get("EUNOE_E2E_SHOTS") or Path(__file__).parent / "shots")
STATUS = "//*[contains(@class, 'status-description')]"


@pytest.fixture
def browser(host: Host, admin: WebApi) -> Iterator[Browser]:
    """A signed-in browser."""
    setup_host.install_browser()
    window = Browser()
    try:
        window.open(f"{host.url}/auth")
        window.type("//input[@type='email']", ADMIN_EMAIL)
        window.type("//input[@type='password']", ADMIN_PASSWORD + "\n")
        window.find("//*[@id='chat-input']", seconds=60)
        yield window
    finally:
        window.close()


def test_set_up_in_the_page_and_chat(
    browser: Browser, admin: WebApi, host: Host, fresh: Upstream
) -> None:
    browser.resize(1100, 220)
    browser.open(f"{host.url}/admin/functions")
    browser.find("//*[normalize-space()='eunoe']")
    browser.screenshot(SHOTS / "openwebui-functions.png")

    browser.resize(1100, 800)
    browser.click("//button[@aria-label='Valves']")
    browser.click(_default("Max tokens"))
    browser.clear(_field("Max tokens"))
    browser.type(_field("Max tokens"), "8000")
    browser.screenshot(SHOTS / "openwebui-valves.png")
    browser.click(_default("Show recalled messages as sources"))
    browser.click(f"{_row('Show recalled messages as sources')}//button[@role='switch']")
    browser.click("//button[normalize-space()='Save']")
    browser.find("//*[contains(., 'updated')]")
    stored = admin.call("GET", f"/api/v1/functions/id/{FILTER}/valves")
    assert stored == {"max_tokens": 8000, "show_sources": True}

    fresh.answer = lambda body: Reply("Here is a note: the new carpet is laid in week 44.")
    with admin.workspace_model("office-model", PRICED_MODEL, usage=True) as model:
        last = admin.import_chat(model, [*office_chat(), *office_chat()[2:] * 3])
        chat_id = admin.ask(model, "Thanks. Now a note about the new carpet, please.", last).chat_id
        fresh.answer = lambda body: Reply(f"On port {_port_in(body)}, on the host atlas.")
        browser.open(f"{host.url}/c/{chat_id}")
        browser.type("//*[@id='chat-input']", "On which port does our database listen?\n")
        browser.find("//*[contains(text(), 'On port 54329')]")
        browser.find(f"({STATUS})[last()][not(contains(., 'sent ≈'))]")  # as it was reported
        line = browser.text(f"({STATUS})[last()]")
        browser.click("//button[contains(., ' Source')]")
        browser.find("//*[contains(text(), 'Turn 1 (user)')]")
        browser.screenshot(SHOTS / "openwebui-chat.png")
    assert line.startswith("sent ")
    for words in ("of 8k", "from cache", "recalled", "saved ≈$0.0", "left out"):
        assert words in line
    assert fresh.requests[-1].problems == ()
    assert fresh.requests[-1].tokens <= 8000


def test_a_number_in_brackets_stays_text(
    browser: Browser, admin: WebApi, host: Host, fresh: Upstream
) -> None:
    admin.set_valves(FILTER, {"max_tokens": 1500})
    fresh.answer = lambda body: Reply("It is the value of ports[1], so 54329.")
    with admin.workspace_model("list-model", PRICED_MODEL) as model:
        chat_id, _ = admin.import_chat(model, office_chat())
        browser.open(f"{host.url}/c/{chat_id}")
        browser.type("//*[@id='chat-input']", "On which port does our database listen?\n")
        browser.find("//*[contains(., 'ports[1], so 54329.')]")
        assert "recalled" in browser.text(f"({STATUS})[last()]")


def test_embeddings_are_chosen_in_the_page(
    browser: Browser, admin: WebApi, host: Host, fresh: Upstream
) -> None:
    browser.resize(1100, 800)
    browser.open(f"{host.url}/admin/functions")
    browser.click("//button[@aria-label='Valves']")
    browser.click(_default("Embedding key"))
    browser.type(_field("Embedding key"), "sk-only-for-this-test")
    browser.click(_default("Meaning beside words"))
    browser.click(f"{_row('Meaning beside words')}//select/option[@value='host']")
    browser.screenshot(SHOTS / "openwebui-embeddings.png")
    browser.find(f"{_field('Embedding key')}[contains(@class, 'password')]")  # it is masked
    browser.click("//button[normalize-space()='Save']")
    browser.find("//*[contains(., 'updated')]")
    stored = admin.call("GET", f"/api/v1/functions/id/{FILTER}/valves")
    assert stored == {"embedding": "host", "embedding_key": "sk-only-for-this-test"}


def test_summaries_are_set_up_in_the_page(
    browser: Browser, admin: WebApi, host: Host, fresh: Upstream
) -> None:
    admin.set_valves(FILTER, {"max_tokens": 2000, "recall": "never"})
    browser.resize(1100, 800)
    browser.open(f"{host.url}/admin/functions")
    browser.click("//button[@aria-label='Valves']")
    for title, text in (("Summary endpoint", fresh.url), ("Summary model", "small")):
        browser.click(_default(title))
        browser.clear(_field(title))
        browser.type(_field(title), text)
    browser.screenshot(SHOTS / "openwebui-summaries.png")
    browser.click("//button[normalize-space()='Save']")
    browser.find("//*[contains(., 'updated')]")

    def answer(body: Json) -> Reply:
        notes = "- The database of the office listens on port 54329 of atlas."
        return Reply(notes if body["model"] == "small" else "Done.")

    fresh.answer = answer
    with admin.workspace_model("summary-model", PRICED_MODEL, usage=True) as model:
        last = admin.import_chat(model, [*office_chat(), *office_chat()[2:] * 3])
        turn = admin.ask(model, "Thanks. Now a note about the new carpet, please.", last)
        browser.open(f"{host.url}/c/{turn.chat_id}")
        browser.find(STATUS)
        for question in ("And a second one, please.", "One more."):
            browser.type("//*[@id='chat-input']", f"{question}\n")
            browser.find(f"//*[contains(text(), '{question}')]")
            browser.find(f"({STATUS})[last()][not(contains(., 'sent ≈'))]")
        browser.find(f"({STATUS})[last()][contains(., 'summarised')]")
        browser.screenshot(SHOTS / "openwebui-summarised.png")
    spoken = [seen for seen in fresh.requests if seen.body["model"] != "small"]
    assert "port 54329 of atlas" in str(spoken[-1].messages)


def _port_in(body: Json) -> str:
    """What a model can know: the port, if it is in what was sent."""
    found = re.search(r"port (\d+)", str(body["messages"]))
    return found[1] if found else "unknown"


def _row(title: str) -> str:
    """The row of a valve in the dialog."""
    return f"//div[div/div[normalize-space()='{title}']]"


def _default(title: str) -> str:
    """The button that takes a valve off its default."""
    return f"{_row(title)}//button[normalize-space()='Default']"


def _field(title: str) -> str:
    """The field in which the value is typed."""
    return f"{_row(title)}//*[self::input or self::textarea]"
