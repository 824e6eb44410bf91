"""Headless Chromium through its own driver: the few WebDriver commands the page tests need."""

from __future__ import annotations

import base64
import json
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from e2e.host import free_port

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--lang=en-US",
)
_CONSOLE = {"type": "browser"}


class CommandError(Exception):
    """The browser could not do it."""


class Browser:
    """One window. Elements are found by XPath, always waiting for them to appear.

    Args:
        width, height: of the page.
        more: command line arguments of the browser, beside the usual ones.
    """

    def __init__(self, width: int = 1280, height: int = 800, *, more: tuple[str, ...] = ()) -> None:
        port = free_port()
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._base = f"http://127.0.0.1:{port}"
        self._wait_for_driver()
        options = {"args": [*_ARGUMENTS, *more]}
        match = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        wanted = {"capabilities": {"alwaysMatch": match}}
        session = self._send("POST", "/session", wanted)["sessionId"]
        self._base += f"/session/{session}"
        self.resize(width, height)

    def close(self) -> None:
        """Close the window and end the driver."""
        try:
            self._send("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait(timeout=10)

    def resize(self, width: int, height: int) -> None:
        """Give the page this size in pixels."""
        sizes = "return [outerWidth - innerWidth, outerHeight - innerHeight]"
        wider, higher = self.run(sizes)
        self._send("POST", "/window/rect", {"width": width + wider, "height": height + higher})

    def prefer(self, scheme: str) -> None:
        """Ask pages for a colour scheme: ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        wanted = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": [feature]}}
        self._send("POST", "/goog/cdp/execute", wanted)

    def press(self, keys: str) -> None:
        """Press keys, one after the other, for whatever has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._send("POST", "/actions", {"actions": [source]})

    def log(self) -> list[str]:
        """What the page wrote to the console since the last time, errors included."""
        return [str(entry["message"]) for entry in self._send("POST", "/se/log", _CONSOLE)]

    def open(self, url: str) -> None:
        """Load a page."""
        self._send("POST", "/url", {"url": url})

    def find(self, xpath: str, seconds: float = 20) -> str:
        """Wait for a visible element -> its reference.

        Raises:
            TimeoutError: It did not appear.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for found in self._send("POST", "/elements", {"using": "xpath", "value": xpath}):
                reference = str(found[_ELEMENT])
                if self._displayed(reference):
                    return reference
            time.sleep(0.1)
        raise TimeoutError(f"not on the page: {xpath}")

    def click(self, xpath: str) -> None:
        """Click as soon as the element is there and nothing covers it."""
        end = time.monotonic() + 20
        while True:
            try:
                self._send("POST", f"/element/{self.find(xpath)}/click", {})
                return
            except CommandError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def type(self, xpath: str, text: str) -> None:
        """Type into the element; a line feed presses Enter."""
        keys = text.replace("\n", "\ue007")
        self._send("POST", f"/element/{self.find(xpath)}/value", {"text": keys})

    def clear(self, xpath: str) -> None:
        """Empty a field."""
        self._send("POST", f"/element/{self.find(xpath)}/clear", {})

    def text(self, xpath: str) -> str:
        """Visible text of the element."""
        return str(self._send("GET", f"/element/{self.find(xpath)}/text"))

    def run(self, script: str, *arguments: object) -> Any:
        """Run JavaScript in the page."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script: str, *arguments: object) -> Any:
        """Run JavaScript that calls its last argument with what it found, later."""
        return self._send("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def screenshot(self, path: Path) -> None:
        """Write the window as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._send("GET", "/screenshot")))

    def _displayed(self, reference: str) -> bool:
        try:
            return bool(self._send("GET", f"/element/{reference}/displayed"))
        except CommandError:  # it left the page meanwhile
            return False

    def _wait_for_driver(self) -> None:
        for _ in range(100):
            try:
                if self._send("GET", "/status")["ready"]:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise TimeoutError("chromedriver did not start")

    def _send(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise CommandError(json.loads(error.read())["value"]["message"]) from None
