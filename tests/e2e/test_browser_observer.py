"""The observer's page in a real browser: requests appear, are chosen, and explain themselves."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e import setup_host
from e2e.webdriver import Browser
from eunoe import ContextOrchestrator, Conversation, Observer, TokenBudget
from eunoe_backends import RemoteObserver
from eunoe_backends.event_record import event_record
from eunoe_observer import EventLog, ObserverApp
from eunoe_web.asgi import Mounted, send_whole
from events import SECRET, event_of, secret_talk
from served import running_app

SHOTS = Path(os.environ.get("EUNOE_E2E_SHOTS") or Path(__file__).parent / "shots")
LONG_CHAT = Path(__file__).resolve().parents[2] / "examples" / "long_chat.json"
PICTURED = 158
LEFT, RIGHT, UP, DOWN, HOME, TAB, ENTER = "\ue012\ue014\ue013\ue015\ue011\ue004\ue007"


class Page:
    """A browser before the page of a log."""

    def __init__(self, browser: Browser, log: EventLog, url: str) -> None:
        self.browser, self.log, self.url = browser, log, url

    def ask(self, turns: int, budget: int = 2000, **more: Any) -> None:
        """One request of a chat, entered in the log."""
        observe(self.log, turns, budget, **more)
        assert self.log.drain()

    def says(self, name: str, words: str) -> None:
        """Wait until an element says something."""
        self.browser.find(f"//*[@id='{name}'][contains(., '{words}')]")

    def pick(self, chat: str, place: int = 1) -> None:
        """Open a chat in the list and choose one of its requests, the newest first."""
        head = f"//nav//button[b[text()='{chat}']]"
        self.browser.find(head)
        if self.browser.run(f"return {_by(head)}.getAttribute('aria-expanded')") != "true":
            self.browser.click(head)
        self.browser.click(f"({head}/..//button[@class='row'])[{place}]")
        self.says("title", chat)

    def wide(self) -> bool:
        """Whether the page is wider than the window."""
        sizes = "return [document.documentElement.scrollWidth, innerWidth]"
        needed, there = self.browser.run(sizes)
        return bool(needed > there)


def _by(xpath: str) -> str:
    return f"document.evaluate({json.dumps(xpath)}, document, null, 9).singleNodeValue"


def observe(observer: Observer, turns: int, budget: int = 2000, **more: Any) -> None:
    engine = ContextOrchestrator(TokenBudget(budget), on_overflow="truncate", observer=observer)
    given = {"model_id": "gpt-4o", "session_id": "office", **more}
    engine.process_sync(Conversation.from_openai_messages(secret_talk(turns)), **given)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of the page."""
    setup_host.install_browser()
    window = Browser()
    yield window
    window.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """The page of an empty log; nothing may be complained of on its console."""
    pytest.importorskip("uvicorn")
    log = EventLog()
    app = ObserverApp(log)
    with running_app(app) as url:
        browser.resize(1280, 900)
        browser.prefer("light")
        browser.log()
        browser.open(f"{url}/")
        yield Page(browser, log, url)
        assert browser.log() == []
        browser.open("about:blank")


def test_an_empty_page_says_how_to_connect(page: Page) -> None:
    page.says("empty", f'RemoteObserver("{page.url}")')
    page.says("empty", "Observer address")
    page.says("state", "live")


def test_a_request_appears_by_itself_and_explains_itself(page: Page) -> None:
    page.says("empty", "No request so far")
    remote = RemoteObserver(page.url)
    observe(remote, 40)
    assert remote.drain()
    page.says("title", "office")
    page.says("lead", "of 2,000 tokens; the whole chat of 84 messages has")
    page.says("windowkeys", "recalled")
    page.says("fatekeys", "left out")
    page.says("money", "whole chat")
    page.says("kind", "estimated")
    page.says("timekeys", "choosing")
    page.says("why", "the question does not need it")
    assert SECRET not in page.browser.run("return document.documentElement.outerHTML")
    filled = page.browser.run("return document.getElementById('window').ariaLabel")
    assert "system" in filled
    assert "free" in filled


def test_the_newest_is_followed_until_somebody_chooses(page: Page) -> None:
    for turns in (1, 2, 3):
        page.ask(turns)
    page.says("about", "request 3")
    page.pick("office", 2)
    page.says("about", "request 2")
    page.ask(4)
    page.browser.find("//nav//button[@class='row'][contains(., '12 messages')]")
    page.says("about", "request 2")
    page.browser.click("//*[@id='follow']")
    page.says("about", "request 4")
    page.ask(5)
    page.says("about", "request 5")


def test_every_message_is_told_by_keyboard(page: Page) -> None:
    page.ask(40)
    page.says("title", "office")
    page.browser.run("document.getElementById('strip').focus()")
    page.browser.press(HOME)
    page.says("told", "message 0, turn 0, system: in place")
    page.browser.press(RIGHT)
    page.says("told", "message 1, turn 1, user: recalled")
    page.browser.press(DOWN)
    page.says("told", "left out")
    page.browser.press(UP + LEFT)
    told = page.browser.run("return document.getElementById('strip').ariaValueText")
    assert told.startswith("message ")


def test_the_list_is_walked_by_keyboard(page: Page) -> None:
    page.ask(2, session_id="first")
    page.ask(3, session_id="second")
    page.says("title", "second")
    page.browser.run("document.getElementById('follow').focus()")
    page.browser.press(TAB + DOWN + DOWN + ENTER)  # from the newest chat, past its request
    page.browser.find("//li[@class='chat'][.//b[text()='first']]//button[@class='row']")
    page.browser.press(DOWN + ENTER)
    page.says("title", "first")


def test_what_a_provider_reported_is_told_apart(page: Page) -> None:
    record = event_record(event_of(40))
    page.log.enter({**record, "key": "k"})
    page.says("kind", "estimated")
    measured = {n.replace("estimated", "measured"): v for n, v in record["ledger"].items()}
    page.log.enter({**record, "key": "k", "ledger": {**measured, "measured.sent.completion": 77}})
    page.says("kind", "measured by the provider")
    page.says("moneynote", "Answer: 77 tokens")
    page.says("totals", "cost, measured")


def test_below_a_path_the_page_finds_its_server(browser: Browser) -> None:
    pytest.importorskip("uvicorn")
    log = EventLog()
    inner = ObserverApp(log)
    with running_app(Mounted(ObserverApp(EventLog()), "/observe", inner)) as url:
        browser.open(f"{url}/observe")
        page = Page(browser, log, url)
        page.says("empty", f'RemoteObserver("{url}/observe")')
        page.ask(3)
        page.says("lead", "of 2,000 tokens")
        browser.open("about:blank")


ATTACK = """
const [there, record, done] = arguments, told = {};
const read = (name, work) => work.then(
  async answer => { told[name] = answer.type + " " + await answer.text(); },
  () => { told[name] = "blocked"; });
const body = JSON.stringify([record]);
const plain = { method: "POST", body, headers: { "Content-Type": "text/plain" } };
Promise.all([
  read("read", fetch(there + "/events")),
  read("opaque", fetch(there + "/events", { mode: "no-cors" })),
  read("post", fetch(there + "/events", { ...plain, mode: "no-cors" })),
  read("json", fetch(there + "/events", { method: "POST", body,
    headers: { "Content-Type": "application/json" } })),
  read("beacon", Promise.resolve(new Response(
    String(navigator.sendBeacon(there + "/events", new Blob([body], { type: "text/plain" })))))),
  new Promise(over => {
    const source = new EventSource(there + "/stream");
    source.onmessage = () => { told.stream = "read"; over(); };
    source.onerror = () => { told.stream = "blocked"; source.close(); over(); };
  }),
  new Promise(over => {
    const frame = document.createElement("iframe");
    frame.onload = () => {
      try { told.frame = frame.contentDocument ? "read" : "blocked"; }
      catch { told.frame = "blocked"; }
      over();
    };
    frame.src = there + "/";
    document.body.append(frame);
  }),
]).then(() => setTimeout(() => done(told), 300));
"""


async def foreign_page(scope: Any, receive: Any, send: Any) -> None:
    """Some website."""
    if scope["type"] == "http":
        await send_whole(send, 200, b"<!doctype html><title>Elsewhere</title>", "text/html")
        return
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


def test_pages_elsewhere_read_nothing_and_send_nothing(browser: Browser) -> None:
    pytest.importorskip("uvicorn")
    log = EventLog()
    record = event_record(event_of(2))
    log.enter(record)
    with running_app(ObserverApp(log)) as url, running_app(foreign_page) as elsewhere:
        for place in (elsewhere, elsewhere.replace("127.0.0.1", "localhost")):
            browser.open(f"{place}/")
            told = browser.wait_for(ATTACK, url, record)
            assert told == {
                "read": "blocked",
                "opaque": "blocked",
                "post": "blocked",
                "json": "blocked",
                "beacon": "default true",
                "stream": "blocked",
                "frame": "blocked",
            }
            assert log.news()["version"] == 1
        browser.open("about:blank")
        browser.log()


def test_a_name_of_a_website_that_leads_here_is_refused() -> None:
    pytest.importorskip("uvicorn")
    setup_host.install_browser()
    log = EventLog()
    log.enter({**event_record(event_of(2)), "session": SECRET})
    window = Browser(more=("--host-resolver-rules=MAP evil.example 127.0.0.1",))
    try:
        with running_app(ObserverApp(log)) as url:
            for path in ("", "events", "stream", "events/1"):
                window.open(f"{url.replace('127.0.0.1', 'evil.example')}/{path}")
                said = window.run("return document.documentElement.textContent")
                assert "this name is not known here" in said
                assert SECRET not in said
    finally:
        window.close()


def test_words_of_others_stay_words(page: Page) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    record = event_record(event_of(2))
    changed = {"session": evil, "model": evil, "warnings": [evil], "reasons": [evil] * 9}
    page.log.enter({**record, **changed})
    page.says("title", "<img src=x onerror=alert(1)>")
    page.says("notelist", "<script>alert(1)")
    assert page.browser.run("return document.images.length") == 0


def test_a_server_that_comes_back_is_found_again(page: Page) -> None:
    page.ask(2)
    page.says("title", "office")
    other = EventLog()
    page.log.name, page.log._events = other.name, other._events  # as after a restart
    page.ask(40)
    page.says("lead", "84 messages")
    rows = page.browser.run("return document.querySelectorAll('.row').length")
    assert rows == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("turns", [0, 24, 1000])
def test_it_fits_every_window(page: Page, scheme: str, width: int, turns: int) -> None:
    page.browser.prefer(scheme)
    page.browser.resize(width, 844)
    page.ask(turns, session_id="a chat with a name that is long, " * 4)
    page.ask(turns + 1, session_id="a chat with a name that is long, " * 4)
    page.says("lead", "messages")
    time.sleep(0.3)
    assert not page.wide()
    page.browser.screenshot(SHOTS / f"observer-{scheme}-{width}-{turns}.png")


def test_the_long_chat_of_the_examples(page: Page) -> None:
    messages = json.loads(LONG_CHAT.read_text(encoding="utf-8"))
    messages = messages["messages"] if isinstance(messages, dict) else messages
    engine = ContextOrchestrator(TokenBudget(4000), observer=page.log)
    points = [i + 1 for i, message in enumerate(messages) if message["role"] == "user"]
    for stop in [point for point in points if point <= PICTURED]:
        chat = Conversation.from_openai_messages(messages[:stop])
        engine.process_sync(chat, model_id="gpt-4o", session_id="the bakery")
    assert page.log.drain()
    page.browser.resize(1100, 640)
    page.says("title", "the bakery")
    page.says("lead", f"whole chat of {PICTURED} messages")
    page.browser.find("//*[@id='coursekeys'][contains(., 'budget')]")
    page.browser.screenshot(SHOTS / "observer.png")


def test_of_many_chats_the_newest_are_listed(page: Page) -> None:
    record = event_record(event_of(1000))
    for k in range(1000):
        page.log.enter({**record, "session": f"chat {k % 150}"})
    page.says("totals", "1,000")
    page.browser.find("//nav//li[@class='chat'][100]")
    assert page.browser.run("return document.querySelectorAll('.chat').length") == 100
    page.says("lead", "2,004 messages")
