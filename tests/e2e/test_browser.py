"""The pages of the host in a real browser: set the filter up, chat, read the status line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import setup_host
from e2e.host import ADMIN_EMAIL, ADMIN_PASSWORD, Host
from e2e.talk import FILTER, PLAIN_MODEL, long_chat
from e2e.upstream import Upstream
from e2e.webapi import WebApi
from e2e.webdriver import Browser

SHOTS = Path(os.environ.get("EUNOE_E2E_SHOTS") or Path(__file__).parent / "shots")
STATUS = "//*[contains(@class, 'status-description')]"


@pytest.fixture
def browser(host: Host) -> Iterator[Browser]:
    """A signed-in browser."""
    setup_host.install_browser()
    window = Browser()
    try:
        window.open(f"{host.url}/auth")
        window.type("//input[@type='email']", ADMIN_EMAIL)
        window.type("//input[@type='password']", ADMIN_PASSWORD + "\n")
        window.find("//*[@id='chat-input']", seconds=60)
        if window.shows('//button[contains(., "Let\'s Go")]', seconds=3):
            window.click('//button[contains(., "Let\'s Go")]')
        yield window
    finally:
        window.close()


def test_set_up_in_the_page_and_chat(
    browser: Browser, admin: WebApi, host: Host, fresh: Upstream
) -> None:
    browser.open(f"{host.url}/admin/functions")
    browser.find("//*[normalize-space()='eunoe']")
    browser.screenshot(SHOTS / "functions.png")

    browser.click("//button[@aria-label='Valves']")
    browser.find("//*[normalize-space()='Max tokens']")
    browser.click(_switch("Max tokens"))
    browser.clear(_field("Max tokens"))
    browser.type(_field("Max tokens"), "1500")
    browser.screenshot(SHOTS / "valves.png")
    browser.click("//button[normalize-space()='Save']")
    browser.find("//*[contains(., 'updated')]")
    assert admin.call("GET", f"/api/v1/functions/id/{FILTER}/valves") == {"max_tokens": 1500}

    chat_id, _ = admin.import_chat(PLAIN_MODEL, long_chat(40))
    browser.open(f"{host.url}/c/{chat_id}")
    browser.type("//*[@id='chat-input']", "And what do you say to that?\n")
    browser.find("//*[contains(text(), 'echo: And what do you say')]")
    line = browser.text(f"({STATUS})[last()]")
    browser.screenshot(SHOTS / "chat.png")
    assert line.startswith("sent ")
    assert "of 1.5k" in line
    assert fresh.requests[-1].problems == ()


def _row(title: str) -> str:
    """The row of a valve in the dialog."""
    return f"//div[div[normalize-space()='{title}']]"


def _switch(title: str) -> str:
    """The button that takes a valve from its default to a value of one's own."""
    return f"{_row(title)}//button[normalize-space()='Default']"


def _field(title: str) -> str:
    """The field in which the value is typed."""
    return f"{_row(title)}/following-sibling::div//input"
