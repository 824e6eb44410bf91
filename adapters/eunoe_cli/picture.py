"""Write a drawing to a file: SVG as it is, HTML around it, PNG through what is installed."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from eunoe import EunoeError

KINDS = (".svg", ".html", ".png")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SCALE = 2
_LONGEST_SECONDS = 60


class PictureError(EunoeError):
    """The picture cannot be written as it was asked for."""


def check_picture_path(path: str) -> None:
    """Refuse a kind of file that is not known, before any work is done.

    Raises:
        PictureError: the name ends otherwise than in .svg, .html or .png.
    """
    if Path(path).suffix.lower() not in KINDS:
        raise PictureError(f"--plot {path}: expected a name that ends in {', '.join(KINDS)}")


def write_picture(path: str, svg: str) -> None:
    """Write the drawing in the form that the file's name asks for.

    Raises:
        PictureError: a PNG was asked for, and nothing here can make one.
    """
    check_picture_path(path)
    target = Path(path)
    kind = target.suffix.lower()
    if kind == ".svg":
        target.write_text(svg, encoding="utf-8")
    elif kind == ".html":
        target.write_text(as_page(svg), encoding="utf-8")
    else:
        target.write_bytes(as_png(svg))


def as_page(svg: str) -> str:
    """A page that holds the drawing and nothing else; it fits any width."""
    style = (
        "body { margin: 0; background: #ffffff } svg { width: 100%; height: auto; display: block }"
        " @media (prefers-color-scheme: dark) { body { background: #0d1117 } }"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><title>eunoe explain</title>'
        f"<style>{style}</style></head>\n<body>\n{svg}</body></html>\n"
    )


def as_png(svg: str) -> bytes:
    """The drawing as pixels, two for each unit: by cairosvg, else by a browser without a window.

    Raises:
        PictureError: neither is there.
    """
    try:
        cairosvg = importlib.import_module("cairosvg")
    except (ImportError, OSError):  # the package, or the library that it binds
        browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
        if browser is None:
            raise PictureError(
                "a PNG needs cairosvg (pip install 'eunoe[plot]') or Chromium; "
                "--plot out.svg and out.html need nothing"
            ) from None
        return _by_browser(browser, svg)
    plain = svg.replace("paint-order: stroke", "stroke: none")  # it would draw the halo over words
    return bytes(cairosvg.svg2png(bytestring=plain.encode("utf-8"), scale=_SCALE))


def _by_browser(browser: str, svg: str) -> bytes:
    head = svg.partition(">")[0]
    width, height = (
        head.partition(f' {name}="')[2].partition('"')[0] for name in ("width", "height")
    )
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "page.html", Path(folder) / "shot.png"
        page.write_text(as_page(svg), encoding="utf-8")
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={folder}/profile", f"--force-device-scale-factor={_SCALE}",
            f"--window-size={width},{height}", f"--screenshot={shot}", page.as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(  # noqa: S603 - a browser found on the path, with our own page
                command, capture_output=True, timeout=_LONGEST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise PictureError(f"{browser} took too long; try --plot out.svg") from None
        if not shot.is_file():
            raise PictureError(f"{browser} made no picture (exit code {done.returncode})")
        return shot.read_bytes()
