"""The page: one file, with nothing from elsewhere, and what a browser may do for it."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files


@cache
def page_bytes() -> bytes:
    """The page as it is sent."""
    return files("eunoe_observer").joinpath("page.html").read_bytes()


@cache
def page_policy() -> str:
    """The content security policy: this page's own script and styles, and its own server.

    Source: Content Security Policy level 3, 2.3.
    """
    scripts, styles = (
        " ".join(_digest(text) for text in re.findall(form, page_bytes(), re.DOTALL))
        for form in (rb"<script>(.*?)</script>", rb"<style>(.*?)</style>")
    )
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _digest(text: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
