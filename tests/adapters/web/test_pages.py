"""Who may call: names of this machine, and pages of ours."""

from __future__ import annotations

import pytest

from eunoe_web.pages import is_known_host, is_other_page


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8788", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("localhost.:1", True),
        ("[::1]:8788", True),
        ("192.168.1.5:8788", True),
        ("host.docker.internal:8788", True),
        ("watch.office:8788", True),
        ("evil.example:8788", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("evil.example@127.0.0.1", True),  # no browser sends a user there
        ("", False),
        ("[::1", False),
    ],
)
def test_hosts(host: str, known: bool) -> None:
    assert is_known_host(host, {"watch.office"}) is known


@pytest.mark.parametrize(
    ("origin", "site", "other"),
    [
        ("", "", False),
        ("", "same-origin", False),
        ("", "none", False),
        ("http://127.0.0.1:8788", "same-origin", False),
        ("http://127.0.0.1:8788", "", False),
        ("http://127.0.0.1:3000", "same-site", True),
        ("http://127.0.0.1:3000", "", True),
        ("http://localhost:8788", "", True),
        ("null", "", True),
        ("https://evil.example", "cross-site", True),
        ("", "cross-site", True),
    ],
)
def test_pages(origin: str, site: str, other: bool) -> None:
    assert is_other_page("127.0.0.1:8788", origin, site) is other
