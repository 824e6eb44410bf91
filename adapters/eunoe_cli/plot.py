"""Draw a request as SVG: what of the chat is sent, and why it came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from eunoe_cli.plot_scene import Mark, Scene
from eunoe_cli.table import clip_text, text_width

WIDTH = 1200
_LEFT, _RIGHT = 40, 1160
_LABEL_ROW = 24
_WAVE_HEIGHT = 150
_COLUMN = 7.0
"""Width of a column of text at size 13, at most."""
_FATES = {
    "kept": "in place",
    "recalled": "recalled",
    "gist": "recalled in part",
    "summarised": "summarised",
    "stub": "elided",
    "dropped": "left out",
}
# Okabe and Ito, told apart with every kind of colour vision, on light and on dark ground.
_STYLE = """
svg { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.ground { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e }
.halo { stroke: #ffffff; stroke-width: 5px; stroke-linejoin: round; paint-order: stroke }
.line { stroke: #59636e; fill: none } .rule { stroke: #d1d9e0; fill: none }
.wave { fill: #59636e; fill-opacity: .13 } .span { fill: #f0e442; fill-opacity: .38 }
.kept, .window { fill: #0072b2 } .recalled { fill: #d55e00 } .gist { fill: #e69f00 }
.summarised { fill: #56b4e9 } .stub, .tools { fill: #cc79a7 } .dropped { fill: #aab2bb }
.now { fill: #009e73 } .system { fill: #6e7781 } .free { fill: #eaeef2 }
.view { fill: #0072b2; fill-opacity: .08 }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } .ink { fill: #f0f6fc } .faint { fill: #9198a1 }
.halo { stroke: #0d1117 } .line { stroke: #9198a1 } .rule { stroke: #3d444d }
.wave { fill: #9198a1; fill-opacity: .18 } .span { fill: #f0e442; fill-opacity: .2 }
.kept, .window { fill: #3a9bdc } .recalled { fill: #f0752b } .gist { fill: #f2b544 }
.dropped { fill: #59636e } .free { fill: #262c36 } .system { fill: #9198a1 }
.now { fill: #1fbf92 } .view { fill: #3a9bdc; fill-opacity: .14 }
}
"""


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OPENING = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    'viewBox="0 0 {width} {height}" role="img">'
)


def xml_text(words: str) -> str:
    """The words escaped; what XML cannot hold, such as control characters, becomes U+FFFD."""
    return escape(_NOT_IN_XML.sub("\ufffd", words))


def text_at(
    x: float, y: float, words: str, *, size: int = 14, kind: str = "ink", anchor: str = "start"
) -> str:
    """A line of text."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}"'
    return f'<text {place} class="{kind}"{where}>{xml_text(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, inside: str = "") -> str:
    """A rectangle; ``inside`` may hold its title."""
    shape = (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" class="{kind}"'
    )
    return f"{shape}>{inside}</rect>" if inside else f"{shape}/>"


def draw_scene(scene: Scene) -> str:
    """The picture as an SVG document, readable on light and on dark ground."""
    question = wrapped(scene.question, 100, 2)
    parts: list[str] = []
    y = 30.0
    for line in question:
        parts.append(text_at(_LEFT, y + 8, line, size=20, kind="ink strong"))
        y += 28
    for line in scene.lines:
        parts.append(text_at(_LEFT, y + 4, clip_text(line, 150), size=13, kind="faint"))
        y += 20
    top = y + 14 + _LABEL_ROW * max(1, len(scene.labelled))
    parts += _wave(scene, top)
    y = top + _WAVE_HEIGHT + 66
    parts += _legend(scene, y)
    parts += _budget(scene, y + 44)
    height = y + 44 + 92
    return "\n".join(
        [
            _OPENING.format(width=WIDTH, height=f"{height:.0f}"),
            f"<title>{xml_text(clip_text(scene.question, 200))}</title>",
            f"<style>{_STYLE}.strong {{ font-weight: 600 }}</style>",
            box(0, 0, WIDTH, height, "ground"),
            *parts,
            "</svg>",
            "",
        ]
    )


def wrapped(text: str, width: int, most: int) -> list[str]:
    """The text in lines of so many columns; what is over the last line is cut with ``…``."""
    lines: list[str] = []
    words = " ".join(text.split())
    while words and len(lines) < most - 1 and text_width(words) > width:
        cut = len(clip_text(words, width)) - 1
        space = words.rfind(" ", cut // 2, cut + 1)
        cut = space if space > 0 else cut
        lines.append(words[:cut].rstrip())
        words = words[cut:].lstrip()
    return [*lines, clip_text(words, width)]


def _place(scene: Scene, i: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * i / max(1, len(scene.marks))


def _heights(marks: Sequence[Mark]) -> list[float]:
    """Square roots of the fits, the best one as high as the wave."""
    best = max((m.fit for m in marks), default=0.0)
    return [_WAVE_HEIGHT * (m.fit / best) ** 0.5 if best > 0 else 0.0 for m in marks]


def _wave(scene: Scene, top: float) -> list[str]:
    """Window, spans, wave, a bar for each message, labels, the strip of fates and the turns."""
    floor, heights = top + _WAVE_HEIGHT, _heights(scene.marks)
    step = (_RIGHT - _LEFT) / max(1, len(scene.marks))
    start = scene.now if scene.cut is None else min(scene.cut, scene.now)
    if scene.cut is None:
        start = 0
    parts = [
        box(_place(scene, start), top, _place(scene, scene.now) - _place(scene, start),
            _WAVE_HEIGHT, "view"),
        *[
            box(_place(scene, a), top, step * (b - a + 1), _WAVE_HEIGHT, "span")
            for a, b in scene.spans
        ],
    ]  # fmt: skip
    points = [f"{_place(scene, i + 0.5):.1f},{floor - h:.1f}" for i, h in enumerate(heights)]
    if any(heights):
        ends = f"{_place(scene, 0):.1f},{floor:.1f}", f"{_RIGHT:.1f},{floor:.1f}"
        parts.append(f'<polygon class="wave" points="{ends[0]} {" ".join(points)} {ends[1]}"/>')
    thick = max(0.8, min(10.0, step * 0.6))
    for i, mark in enumerate(scene.marks):
        kind = "now" if i >= scene.now else mark.fate
        x = _place(scene, i + 0.5) - thick / 2
        wide = step * 0.82 if step > 3 else step
        bar = box(x, floor - heights[i], thick, heights[i], kind) if heights[i] >= 0.5 else ""
        cell = box(_place(scene, i), floor + 6, wide, 12, kind)
        parts.append(f"<g><title>{xml_text(_tip(i, mark))}</title>{bar}{cell}</g>")
    parts.append(f'<path class="line" d="M{_LEFT} {floor:.1f}H{_RIGHT}"/>')
    parts += _cut_line(scene, top, floor)
    parts += _labels(scene, top, floor, heights)
    return [*parts, *_turns(scene, floor)]


def _tip(i: int, mark: Mark) -> str:
    return (
        f"turn {mark.turn}, message {i}, {mark.role}: {_FATES[mark.fate]}\n{mark.reason}\n"
        f"fit {mark.fit:.4f}, {mark.tokens:,} tokens\n{clip_text(mark.text, 160)}"
    )


def _cut_line(scene: Scene, top: float, floor: float) -> list[str]:
    if scene.cut is None or not 0 < scene.cut < len(scene.marks):
        return []
    x = _place(scene, scene.cut)
    words = "the window" if scene.cut < scene.now else "now"
    narrow = _place(scene, scene.now) - x < 76
    return [
        f'<path class="line" stroke-dasharray="4 3" d="M{x:.1f} {top:.1f}V{floor + 18:.1f}"/>',
        text_at(x - 6, top + 14, words, size=12, kind="faint halo", anchor="end")
        if narrow
        else text_at(x + 6, top + 14, words, size=12, kind="faint"),
    ]


def _labels(scene: Scene, top: float, floor: float, heights: Sequence[float]) -> list[str]:
    """Turn and first words of what came back and fits best, with a line down to its bar."""
    lines, words = [], []
    rows = len(scene.labelled)
    for row, i in enumerate(scene.labelled):
        mark, x = scene.marks[i], _place(scene, i + 0.5)
        y = top - _LABEL_ROW * (rows - row) + 10
        path = f"M{x:.1f} {y + 4:.1f}V{floor - heights[i]:.1f}"
        lines.append(f'<path class="line" stroke-width="0.8" d="{path}"/>')
        columns = int((WIDTH - 16 - x) / _COLUMN)
        right = columns < 34
        said = (
            f"turn {mark.turn}: {clip_text(mark.words, (44 if right else min(70, columns)) - 10)}"
        )
        shift = 4 if right else -4
        words.append(
            text_at(
                x + shift, y, said, size=13, kind="ink halo", anchor="end" if right else "start"
            )
        )
    return [*lines, *words]


def _turns(scene: Scene, floor: float) -> list[str]:
    """Numbers of turns under the strip, as many as have room."""
    starts = [
        (mark.turn, i)
        for i, mark in enumerate(scene.marks)
        if mark.turn > 0 and (i == 0 or scene.marks[i - 1].turn != mark.turn)
    ]
    every = next((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if len(starts) / n <= 24), 1000)
    return [
        text_at(_LEFT, floor + 34, "turn", size=12, kind="faint", anchor="start"),
        *[
            text_at(min(_place(scene, i), _RIGHT - 8.0 * len(str(turn))), floor + 34, str(turn),
                    size=12, kind="faint")
            for turn, i in starts
            if turn % every == 0 and _place(scene, i) > _LEFT + 34
        ],
    ]  # fmt: skip


def _legend(scene: Scene, y: float) -> list[str]:
    counts: dict[str, int] = {}
    for mark in scene.marks[: scene.now]:
        counts[mark.fate] = counts.get(mark.fate, 0) + 1
    entries = [(fate, f"{_FATES[fate]} {counts[fate]}") for fate in _FATES if fate in counts]
    entries.append(("now", f"this turn {len(scene.marks) - scene.now}"))
    if scene.spans:
        entries.append(("span", "a stretch that stands out"))
    return [
        *_keys(entries, y),
        text_at(_RIGHT, y, "height: how well a message fits the question", size=13, kind="faint",
                anchor="end"),
    ]  # fmt: skip


def _keys(entries: Sequence[tuple[str, str]], y: float) -> list[str]:
    parts, x = [], float(_LEFT)
    for kind, words in entries:
        parts.append(box(x, y - 10, 12, 12, kind))
        parts.append(text_at(x + 18, y, words, size=13))
        x += 18 + _COLUMN * text_width(words) + 22
    return parts


_PART_KINDS = {"this turn": "now", "in place": "kept"}


def _budget(scene: Scene, y: float) -> list[str]:
    """What fills the request, as a bar as long as the budget."""
    total = max(1, sum(size for _, size in scene.parts))
    title = f"the budget, {scene.budget:,} tokens" if scene.budget else "what is sent"
    parts = [text_at(_LEFT, y, title, size=13, kind="faint")]
    x = float(_LEFT)
    entries = []
    for name, size in scene.parts:
        if not size:
            continue
        kind = _PART_KINDS.get(name, name)
        width = (_RIGHT - _LEFT) * size / total
        tip = f"<title>{xml_text(name)}: {size:,} tokens, {100 * size / total:.0f} %</title>"
        parts.append(box(x, y + 10, max(0.5, width - 1), 30, kind, tip))
        entries.append((kind, f"{name} {size:,}"))
        x += width
    return [*parts, *_keys(entries, y + 64)]
