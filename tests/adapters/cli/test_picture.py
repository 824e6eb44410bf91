"""Where a drawing goes: by the name of the file."""

from __future__ import annotations

import importlib
import re
import shutil
import sys

import pytest

from eunoe_cli import picture

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    '<rect width="9" height="9"/></svg>\n'
)


def test_svg_as_it_is(tmp_path):
    picture.write_picture(str(tmp_path / "a.svg"), SVG)
    assert (tmp_path / "a.svg").read_text() == SVG


def test_html_holds_the_drawing(tmp_path):
    picture.write_picture(str(tmp_path / "a.HTML"), SVG)
    page = (tmp_path / "a.HTML").read_text()
    assert page.startswith("<!doctype html>")
    assert SVG in page


def test_png_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(picture.PictureError, match="cairosvg"):
        picture.write_picture(str(tmp_path / "a.png"), SVG)


def can_make_pixels():
    try:
        importlib.import_module("cairosvg")
    except (ImportError, OSError):
        return shutil.which("chromium") is not None
    return True


@pytest.mark.slow
@pytest.mark.skipif(not can_make_pixels(), reason="neither cairosvg nor Chromium")
def test_png_has_two_pixels_a_unit(tmp_path):
    picture.write_picture(str(tmp_path / "a.png"), SVG)
    data = (tmp_path / "a.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (80, 40)


def drawn_words(rule):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="24"><style>{rule}</style>'
        '<text class="halo" x="4" y="18" font-size="16" fill="#000000">words</text></svg>'
    )


@pytest.mark.slow
def test_words_with_a_halo_are_seen_in_pixels(eunoe, write, chat, tmp_path):
    """Cairosvg knows no paint-order: it would draw the halo over the words."""
    pytest.importorskip("cairosvg", exc_type=(ImportError, OSError))
    path = tmp_path / "a.svg"
    eunoe("explain", write(chat), "--budget", "400", "--plot", str(path))
    drawing = path.read_text(encoding="utf-8")
    halo = re.search(r"\.halo \{[^}]*\}", drawing)[0]
    words = picture.as_png(drawn_words(".halo { fill: #000000 }"))
    covered = picture.as_png(drawn_words(halo.replace("paint-order: stroke", "")))
    assert covered != words
    assert picture.as_png(drawn_words(halo)) == words


def test_other_names_are_refused_before_anything_is_read(eunoe):
    code, out, err = eunoe("explain", "not-there.json", "--plot", "a.gif")
    assert (code, out) == (2, "")
    assert ".svg, .html, .png" in err


def test_the_command_draws_and_prints(eunoe, write, chat, tmp_path):
    path = tmp_path / "a.svg"
    code, out, err = eunoe("explain", write(chat), "--budget", "400", "--plot", str(path))
    assert (code, err) == (0, "")
    assert "of 400 allowed" in out
    assert "<svg" in path.read_text(encoding="utf-8")
