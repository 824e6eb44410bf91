"""One request, read and counted: what every policy starts from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from eunoe.domain.atom import Atom
from eunoe.domain.message import Message
from eunoe.domain.ports import TokenCounter
from eunoe.domain.profile import ProviderProfile
from eunoe.domain.settings import Settings
from eunoe.pipeline.advisers.advice import NO_ADVISERS, Advisers
from eunoe.pipeline.advisers.opinion_desk import Asked, OpinionDesk, Said
from eunoe.pipeline.advisers.structuring import (
    NAMES_MISSING,
    STANCES_MISSING,
    NamesDesk,
    NamesOf,
    StanceDesk,
    StancesOf,
)
from eunoe.pipeline.chat.call_ids import note_call_ids, note_unpaired
from eunoe.pipeline.chat.flag_reading import ReadFlags
from eunoe.pipeline.chat.line_counts import by_lines
from eunoe.pipeline.chat.meant import meant_together, place_of_meant, without_habits
from eunoe.pipeline.chat.memory import ContentEntry, ContentMemory, count_entries
from eunoe.pipeline.chat.transcript import Transcript, chat_timeline
from eunoe.pipeline.strategies import OWN_STRATEGIES, Strategies
from eunoe.pipeline.summaries.writing import SummaryJob
from eunoe.stages.atoms import build_atoms, opens_turn
from eunoe.stages.counting.message_cost import REPLY_PRIMING
from eunoe.stages.scoring import TextAnalysis
from eunoe.stages.structure.stance import Stance
from eunoe.stages.window import Timeline


@dataclass(kw_only=True)
class Request:
    """A request ready for a policy.

    Attributes:
        raws: the input, flags stripped; ``entries`` are its facts, counted.
        transcript: the finished turns; the current turn begins at its end.
        profile: whose rules the list must pass.
        counter: counts tokens.
        memory: reads messages that are written anew.
        settings: the knobs, flags of this turn already applied.
        flags: what was read of the flags.
        allowed: tokens allowed for messages and list framing; None without a limit.
        expired: whether the time for scoring is over.
        advisers: models that say more of the history than its words.
        chat: whose labels count that were made ahead; empty for none.
        notes: what went wrong on the way, for the report's warnings.
        due: the summary that should be written once this is answered; None for none.
        strategies: what scores and selects; ``tracked`` is what their tracker should remember.
    """

    raws: tuple[Mapping[str, Any], ...]
    entries: list[ContentEntry]
    transcript: Transcript
    profile: ProviderProfile
    counter: TokenCounter
    memory: ContentMemory
    settings: Settings
    flags: ReadFlags
    allowed: int | None
    expired: Callable[[], bool]
    advisers: Advisers = NO_ADVISERS
    chat: str = ""
    notes: list[str] = field(default_factory=list)
    due: SummaryJob | None = None
    strategies: Strategies = OWN_STRATEGIES
    tracked: tuple[str, ...] = ()

    @cached_property
    def turn_start(self) -> int:
        """Where the current turn begins; stays when the transcript grows for a later request."""
        return len(self.transcript.entries)

    @cached_property
    def messages(self) -> list[Message]:
        """The input as values."""
        newest = self.entries[self.turn_start :]
        return [*self.transcript.messages, *(e.message for e in newest)]

    @cached_property
    def question(self) -> int | None:
        """Place of the message that opens the current turn; None if no user message does."""
        i = self.turn_start
        if i >= len(self.entries):
            return None
        before = self.messages[i - 1] if i else None
        if opens_turn(self.messages[i], before):
            return i
        return next(
            (k for k in range(i, len(self.messages)) if opens_turn(self.messages[k], None)), None
        )

    @cached_property
    def query(self) -> TextAnalysis | None:
        """What the current turn asks for: its question, less what users repeat in every turn."""
        if self.question is None:
            return None
        return without_habits(self.transcript, self.entries[self.question])

    @cached_property
    def meant(self) -> int | None:
        """Place of the question, or of the one before that it goes on from; None for none."""
        if self.question is None:
            return None
        return place_of_meant(self.transcript, self.entries, self.question)

    @cached_property
    def meant_query(self) -> TextAnalysis | None:
        """What is looked for: the question, with the one before it that it goes on from."""
        if self.question is None or self.meant is None or self.meant == self.question:
            return self.query
        return meant_together(self.entries[self.meant], self.entries[self.question])

    @property
    def from_template(self) -> bool:
        """Whether the question has lines that the last users' messages had, too, as programs do."""
        return self.question is not None and (
            self.query is not self.entries[self.question].analysed()
        )

    @property
    def namer(self) -> NamesOf | None:
        """Says which names an extractor finds in some messages; None without one.

        The place after the finished messages stands for the question. Where the extractor fails or
        is late, no names are found in any.
        """
        desk = self.advisers.names
        return None if desk is None else partial(self._names_of, desk)

    def _names_of(self, desk: NamesDesk, places: Sequence[int]) -> list[tuple[str, ...]]:
        texts = [self._shown(i) for i in places]
        said = self._said(desk, [text for text in texts if text], NAMES_MISSING)
        return [said.get(text, ()) for text in texts]

    @property
    def judge(self) -> StancesOf | None:
        """Says what a judge makes of pairs of messages, places as above; None without one.

        Where the judge fails or is late, nothing is known of any pair.
        """
        desk = self.advisers.stances
        return None if desk is None else partial(self._stances_of, desk)

    def _stances_of(
        self, desk: StanceDesk, pairs: Sequence[tuple[int, int]]
    ) -> list[Stance | None]:
        texts = [(self._shown(i), self._shown(k)) for i, k in pairs]
        said = self._said(desk, [pair for pair in texts if all(pair)], STANCES_MISSING)
        return [said.get(pair) for pair in texts]

    def _said(
        self, desk: OpinionDesk[Asked, Said], asked: list[Asked], missing: str
    ) -> dict[Asked, Said]:
        """What a model says of contents; nothing once it was late in this request."""
        found = desk.opinions(asked, self.expired) if missing not in self.notes else []
        if found is None:
            self.notes.append(missing)
        return dict(zip(asked, found, strict=True)) if found else {}

    def _shown(self, place: int) -> str:
        """What a model is shown of a finished message, or of the question at the place after."""
        if place < self.turn_start:
            return self.entries[place].meant()
        if self.question is None or self.query is None:
            return ""
        return self.query.body if self.from_template else self.entries[self.question].meant()

    @cached_property
    def current_atoms(self) -> list[Atom]:
        """The atoms of the current turn."""
        start, stop = self.turn_start, len(self.entries)
        turn = len(self.transcript.turns)
        return build_atoms(self.messages, start, stop, turn, self.transcript.used_ids)

    @cached_property
    def timeline(self) -> Timeline:
        """The chat as the window sees it."""
        return chat_timeline(self.transcript, self.turn_start, self.entries)

    @cached_property
    def acts_by_tools(self) -> bool:
        """Whether the finished turns act through tools more than they talk."""
        return self.timeline.acts_before(self.turn_start)

    @cached_property
    def thinking_mode(self) -> bool:
        """Some message carries the reasoning that a provider wants back."""
        return self.transcript.thinking_mode or any(
            e.message.shape.reasoning_field for e in self.entries[self.turn_start :]
        )

    @cached_property
    def repeated_ids(self) -> frozenset[str | None]:
        """Call ids that were used more than once in the chat."""
        repeated = set(self.transcript.repeated_ids)
        calling = [m for m in self.messages[self.turn_start :] if m.calls]
        if calling:
            note_call_ids(calling, set(self.transcript.called_ids), repeated)
        return frozenset(repeated)

    @cached_property
    def kept_by_flag(self) -> frozenset[int]:
        """Messages of the finished turns that a flag keeps: pins, a kept tag, the newest few."""
        size, now = self.turn_start, self.flags.now
        kept = {
            i
            for i, flags in self.flags.by_message.items()
            if i < size and (flags.pin or (flags.tag is not None and flags.tag == now.keep_tag))
        }
        if now.recent:
            kept.update(range(max(0, size - now.recent), size))
        return frozenset(i for i in kept if not self.dropped_by_flag(i))

    def dropped_by_flag(self, i: int) -> bool:
        """Whether a flag leaves a message out."""
        flags = self.flags.by_message.get(i)
        return flags is not None and bool(flags.drop)

    @cached_property
    def loose_ids(self) -> frozenset[str | None]:
        """Ids of results that found no call."""
        broken = [self.messages[a.first] for a in self.current_atoms if a.broken]
        now = {key for message in broken for key in message.answered}
        return frozenset(now | self.transcript.loose.keys())

    @cached_property
    def late_results(self) -> Mapping[int, Mapping[str | None, int]]:
        """Results that came in a later turn than their call: by place of the call, by id.

        Only where one call waits for one such result of its id, and no other call with that id
        stands between: else it could be another call's.
        """
        if not self.loose_ids:
            return {}
        loose = {key: list(places) for key, places in self.transcript.loose.items()}
        calls = {key: list(places) for key, places in self.transcript.open_calls.items()}
        note_unpaired(self.current_atoms, self.messages, loose, calls)
        late: dict[int, dict[str | None, int]] = {}
        for key, places in loose.items():
            waiting = calls.get(key, [])
            if not len(places) == len(waiting) == 1 or not waiting[0] < places[0]:
                continue
            between = self.messages[waiting[0] + 1 : places[0]]
            newest = not any(call.id == key for m in between for call in m.calls)
            found = self.messages[places[0]]
            if newest and found.role == "tool" and not found.shape.more_answers:
                late.setdefault(waiting[0], {})[key] = places[0]
        return late

    @cached_property
    def first_asked(self) -> int:
        """Where the first request of the turn stopped: more than the question may stand before it.

        All of the input, if this is the first.
        """
        requests, place = self.timeline.requests, (self.question or self.turn_start) + 1
        first = int(requests.searchsorted(place))
        return int(requests[first]) if first < len(requests) else len(self.entries)

    @property
    def asked_as(self) -> Hashable:
        """What two requests share of which one continues the other."""
        desk = self.advisers.summaries
        return self.allowed, self.profile.name, self.settings, desk.name if desk else ""

    def atoms_between(self, start: int, stop: int) -> list[Atom]:
        """The atoms of the finished turns that begin in ``[start, stop)``, in order."""
        low, high = self.atom_range(start), self.atom_range(stop)
        return self.transcript.atoms[low:high]

    def systems_before(self, stop: int) -> list[Atom]:
        """The system atoms of the turns that begin before ``stop``."""
        places = self.transcript.system_places
        early = places[: bisect_left(places, self.atom_range(stop))]
        return [self.transcript.atoms[k] for k in early]

    def atom_range(self, place: int) -> int:
        """How many atoms stand before the first turn that begins at or after a place."""
        if place <= 0 or place >= self.turn_start:
            return 0 if place <= 0 else len(self.transcript.atoms)
        turn = int(self.transcript.turns.view().searchsorted(place, side="left"))
        before = self.transcript.atoms_before_turn.view()
        return int(before[turn]) if turn < len(before) else len(self.transcript.atoms)

    def tokens_of(self, atom: Atom) -> int:
        """Tokens of an atom as it was given."""
        return sum(self.entries[i].tokens for i in atom.indices)

    def read(self, raw: Mapping[str, Any]) -> Message:
        """The value of a message that was written anew."""
        return self.memory.read_all([raw])[0].message

    def count(self, raws: Sequence[Mapping[str, Any]]) -> int:
        """Tokens of some messages, framing of each included, of the list not."""
        if not raws:
            return 0
        entries = self.memory.read_all(raws)
        count_entries(entries, by_lines(self.counter, self.memory.lines))
        return sum(e.tokens for e in entries)


def list_tokens(request: Request) -> int:
    """Tokens of the input as it was given, list framing included."""
    finished = int(request.transcript.tokens_before.view()[-1])
    newest = sum([e.tokens for e in request.entries[request.turn_start :]])
    return finished + newest + (REPLY_PRIMING if request.entries else 0)
