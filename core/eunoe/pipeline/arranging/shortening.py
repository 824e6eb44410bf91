"""Shorten a running turn that alone is too large for the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from eunoe.domain.atom import Atom
from eunoe.domain.certificate import NoCertificate, Unproven
from eunoe.domain.errors import BudgetError
from eunoe.domain.message import Message
from eunoe.domain.report import Fate, Overrun
from eunoe.pipeline.arranging.fitting import cut_at
from eunoe.pipeline.arranging.in_place import whole_view
from eunoe.pipeline.arranging.slots import shortened_raw
from eunoe.pipeline.arranging.view import Built, View, build_view
from eunoe.pipeline.recalling.quoted_block import ShownPart
from eunoe.pipeline.request import Request
from eunoe.stages.clipping import clip_sources, clip_text
from eunoe.stages.counting.message_cost import MEDIA_TOKENS, REPLY_PRIMING
from eunoe.stages.quoting import spoken_text

_ELIDED = "[result elided to save room; {tokens} tokens. Call the tool again if it is needed.]"
_NOT_SHOWN = "[pictures elided to save room; {tokens} tokens. Call the tool again to see them.]"
_PICTURES_REASON = "pictures of an older result of the running turn, elided to save room"
_CLIPPED = "larger than the budget; its middle was cut out"
_LEAST_CLIP_TOKENS = 24
_SHORT_TOKENS = 40
"""Results of so many tokens are left as they are: a clip, with its mark, is no shorter."""


def shorten_turn(request: Request, on_overflow: str) -> tuple[View, Built, Overrun | None]:
    """The current turn alone, shortened until it fits.

    Finished results of the running loop become stubs, the oldest first, pictures and all; then
    results are clipped; then the oldest finished steps are left out; then, if ``on_overflow`` is
    ``truncate``, steps that hold reasoning too, and the user's own message is clipped, with what
    was merged with it if need be. The task and the newest step stay.

    Raises:
        BudgetError: it cannot fit and ``on_overflow`` is ``raise``.
    """
    view = View(in_place=[a for a in whole_view(request).in_place if a.system])
    view.cut = cut_at(request, request.turn_start)
    view.certificate = NoCertificate(Unproven.SHORTENED)
    built = _leave_out_broken(request, view, build_view(request, view))
    allowed = request.allowed or 0
    if built.tokens <= allowed:
        return view, built, None
    if on_overflow != "keep":
        for shorten in (_stub_results, _clip_results, _leave_out_steps):
            built = shorten(request, view, built)
            if built.tokens <= allowed:
                return view, built, None
    if on_overflow == "truncate":
        built = _leave_out_steps(request, view, built, reasoning_too=True)
        for clip in (_clip_question, _clip_merged):
            built = clip(request, view, built) if built.tokens > allowed else built
        if built.tokens <= allowed:
            return view, built, None
    if on_overflow == "raise":
        raise BudgetError(built.tokens, allowed)
    return view, built, Overrun(needed=built.tokens, allowed=allowed)


def _leave_out_broken(request: Request, view: View, built: Built) -> Built:
    """Leave out what can only be quoted, such as a result without its call, if room is short."""
    lost = [a for a in request.current_atoms if built.quoted.intersection(a.indices)]
    if not lost or built.tokens <= (request.allowed or 0):
        return built
    if any(request.messages[i].media for i in built.shown):
        view.unshown = True
        built = build_view(request, view)
        if built.tokens <= (request.allowed or 0):
            return built
    for atom in lost:
        view.left_out.add(atom.first)
        view.reasons[atom.first] = "it cannot stand in the list, and no room is left to quote it"
    without = build_view(request, view)
    if any(s.parts and not s.message.is_system for s in without.slots):
        return without
    view.left_out.remove(lost[-1].first)  # else nothing that was said would be sent
    del view.reasons[lost[-1].first]
    return _clip_quoted(request, view, lost[-1])


def _clip_quoted(request: Request, view: View, atom: Atom) -> Built:
    """The view with the texts of a quoted atom clipped until they fit, if they can."""
    built = build_view(request, view)
    for i in sorted(atom.indices, key=lambda i: -request.entries[i].tokens):
        excess = built.tokens - (request.allowed or 0)
        if excess <= 0:
            break
        text, count = spoken_text(request.messages[i]), request.counter.count
        clipped = _clipped(text, max(_LEAST_CLIP_TOKENS, count(text) - excess - 4), count)
        if clipped is not None:
            view.parts[i], view.truncated = ShownPart(clipped), True
            view.reasons[i] = _CLIPPED
            built = build_view(request, view)
    return built


def _finished_results(request: Request) -> list[tuple[Atom, int]]:
    return [
        (atom, i)
        for atom in request.current_atoms
        for i in atom.indices
        if request.messages[i].is_result
    ]


def _stub_results(request: Request, view: View, built: Built) -> Built:
    """Stub the oldest results, in steps down to the low mark, so that the prefix stays for a while.

    The newest call's results are left alone. Pictures that a host shows behind the results of a
    call are elided with the last of these.
    """
    results = _finished_results(request)
    newest = results[-1][0] if results else None
    last_of_atom = {atom.first: i for atom, i in results}
    stubs: dict[int, tuple[int, str, list[int]]] = {}
    saved: dict[int, int] = {}
    for atom, i in results:
        if atom is newest:
            continue
        shown = _shown_pictures(request, atom) if i == last_of_atom[atom.first] else []
        whole = sum(request.entries[k].tokens for k in (i, *shown))
        text = _stub_text(request, i, whole, bool(shown))
        size = _shortened_size(request, i, text, Fate.STUB) if text else whole
        if text and size < whole:
            end = max(i, *shown) if shown else i
            stubs[end], saved[end] = (i, text, shown), whole - size
    start, size = request.turn_start, len(request.entries)
    sizes = [request.entries[i].tokens for i in range(start, size)]
    chosen = _released_by_replay(request, built.tokens - sum(sizes), sizes, saved)
    for i, text, shown in (stubs[end] for end in chosen):
        view.shortened[i] = (text, Fate.STUB)
        view.reasons[i] = "an older result of the running turn was elided to save room"
        view.left_out.update(shown)
        view.reasons.update(dict.fromkeys(shown, _PICTURES_REASON))
    view.truncated = view.truncated or bool(chosen)
    return build_view(request, view) if chosen else built


def _shown_pictures(request: Request, atom: Atom) -> list[int]:
    """The user messages in which a host shows the pictures of the atom's results."""
    messages = request.messages
    behind = [i for i in atom.indices[1:] if messages[i].role == "user"]
    return [i for i in behind if not messages[i].shape.approves]


def _stub_text(request: Request, i: int, tokens: int, pictures: bool) -> str | None:
    """What stands for a result of so many tokens: short words stay where pictures are elided."""
    text, count = request.messages[i].text, request.counter.count
    if request.messages[i].role != "tool":
        return clip_text(text, 2 * _LEAST_CLIP_TOKENS, count)
    stub = _ELIDED.format(tokens=tokens)
    if text and (pictures or request.messages[i].media) and count(text) <= count(stub):
        return f"{text}\n{_NOT_SHOWN.format(tokens=tokens - count(text))}"
    return stub


def _leave_out_steps(
    request: Request, view: View, built: Built, *, reasoning_too: bool = False
) -> Built:
    """Leave out the oldest finished steps of the running turn, in steps down to the low mark.

    The task, all that users say and the newest step stay. Where the turn holds reasoning every step
    stays, since providers want all of it back until the turn ends; ``reasoning_too`` overrules
    that, as the last thing to do before the request is refused.
    """
    start, size = request.turn_start, len(request.entries)
    if not reasoning_too and any(_holds_reasoning(m) for m in request.messages[start:]):
        return built
    sizes = [_shortened_tokens(request, view, i) for i in range(start, size)]
    steps = [
        a
        for a in request.current_atoms[:-1]
        if not a.system and not _says_something_as_user(request, a)
    ]
    saved = {max(a.indices): sum(sizes[i - start] for i in a.indices) for a in steps}
    by_end = {max(a.indices): a for a in steps}
    chosen = _released_by_replay(request, built.tokens - sum(sizes), sizes, saved)
    for end in chosen:
        view.left_out.add(by_end[end].first)
        for i in by_end[end].indices:
            view.shortened.pop(i, None)
            view.reasons[i] = "an old step of a running turn that is larger than the budget"
    view.truncated = view.truncated or bool(chosen)
    return build_view(request, view) if chosen else built


def _says_something_as_user(request: Request, atom: Atom) -> bool:
    """Whether a user speaks in the atom, or its pictures are the newest that a user shows."""
    users = {i for i in atom.indices if request.messages[i].role == "user"}
    if not users.issubset(_shown_pictures(request, atom)):
        return True
    behind = range(max(users, default=len(request.messages)) + 1, len(request.messages))
    return bool(users) and not any(request.messages[i].role == "user" for i in behind)


def _holds_reasoning(message: Message) -> bool:
    shape = message.shape
    return shape.thinks or shape.reasoning_field or "reasoning" in message.parts


def _shortened_tokens(request: Request, view: View, i: int) -> int:
    if i in view.left_out:
        return 0
    if i not in view.shortened:
        return request.entries[i].tokens
    return _shortened_size(request, i, *view.shortened[i])


def _shortened_size(request: Request, i: int, text: str, fate: Fate) -> int:
    return request.count([shortened_raw(request.raws[i], text, fate)])


def _released_by_replay(
    request: Request, base: int, sizes: list[int], saved: dict[int, int]
) -> list[int]:
    """What has been let go of by now, oldest first, found by replaying the requests of the turn.

    Args:
        base: tokens of the view beside the turn.
        sizes: tokens of each message of the turn.
        saved: what letting go of the thing that is complete at a place would save, in tokens.
    """
    allowed = request.allowed or 0
    start, used = request.turn_start, base
    low = base + int((allowed - base) * request.settings.low_water)
    waiting: list[int] = []
    chosen: list[int] = []
    for k in range(len(sizes) + 1):
        i = start + k
        at_request = k == len(sizes) or request.messages[i].role == "assistant"
        if at_request and used > allowed:
            while waiting and used > low:
                chosen.append(waiting[0])
                used -= saved[waiting.pop(0)]
        if k < len(sizes):
            used += sizes[k]
            if i in saved:
                waiting.append(i)
    return chosen


def _clip_results(request: Request, view: View, built: Built) -> Built:
    """Clip the results that are left, the largest first, until the turn fits."""
    sizes = [(_text_tokens(request, i), i) for _, i in _finished_results(request)]
    excess, freed = built.tokens - (request.allowed or 0), 0
    for size, i in sorted(sizes, key=lambda x: (-x[0], x[1])):
        if freed and excess <= freed:
            built = build_view(request, view)
            excess, freed = built.tokens - (request.allowed or 0), 0
        if excess <= 0:
            break
        if size <= _SHORT_TOKENS or (i in view.shortened and view.shortened[i][1] is Fate.STUB):
            continue
        freed += _clip_one(request, view, i, max(_LEAST_CLIP_TOKENS, size - 8 - excess + freed))
    return build_view(request, view) if freed else built


def _text_tokens(request: Request, i: int) -> int:
    """Tokens of a message without its pictures."""
    pictures = sum(MEDIA_TOKENS[kind] for kind in request.messages[i].media)
    return max(0, request.entries[i].tokens - pictures)


def _clip_question(request: Request, view: View, built: Built) -> Built:
    """Clip the user's message: inside quoted sources first, then its middle."""
    place = request.question
    if place is None:
        return built
    excess = built.tokens - (request.allowed or 0)
    target = request.counter.count(request.messages[place].text) - excess - 4
    clipped = target > 4 and _clip_one(request, view, place, target)
    return build_view(request, view) if clipped else built


def _clip_merged(request: Request, view: View, built: Built) -> Built:
    """Clip the message that holds the question and what had to be merged with it, all in one."""
    holders = (k for k, s in enumerate(built.slots) if request.question in s.parts)
    place = next((k for k in holders if len(built.slots[k].parts) > 1), None)
    if place is None:
        return built
    slot, count = built.slots[place], request.counter.count
    text = slot.message.text
    target = count(text) - (built.tokens - (request.allowed or 0)) - 4
    clipped = _clipped(text, target, count) if target > 4 else None
    if clipped is None:
        return built
    cut = [i for i in slot.parts if i not in slot.fates and request.messages[i].text]
    fates = {**slot.fates, **dict.fromkeys(cut, Fate.GIST)}
    raw = shortened_raw(slot.raw, clipped, Fate.GIST)
    short = replace(slot, raw=raw, message=request.read(raw), changed=True, most_tokens=None)
    short = replace(short, fates=fates, fate=Fate.GIST if slot.index in cut else slot.fate)
    slots = [*built.slots[:place], short, *built.slots[place + 1 :]]
    view.reasons.update(dict.fromkeys(cut, _CLIPPED))
    view.truncated = True
    return replace(built, slots=slots, tokens=request.count([s.raw for s in slots]) + REPLY_PRIMING)


def _clip_one(request: Request, view: View, i: int, target: int) -> int:
    """Clip one message to so many tokens; the tokens that this frees, 0 if it cannot be clipped."""
    text, count = request.messages[i].text, request.counter.count
    clipped = _clipped(text, target, count)
    if clipped is None:
        return 0
    view.shortened[i] = (clipped, Fate.GIST)
    view.reasons[i] = _CLIPPED
    view.truncated = True
    return max(1, count(text) - count(clipped))


def _clipped(text: str, target: int, count: Callable[[str], int]) -> str | None:
    """A text clipped to so many tokens, quoted sources in it first; None if it gets no shorter."""
    clipped = clip_sources(text, target, count) or clip_text(text, target, count)
    return clipped if clipped is not None and len(clipped) < len(text) else None
