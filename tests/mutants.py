"""Rules of the core, each with a change that breaks it; ``mutation_check.py`` makes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One line made wrong: ``old`` stands once in the module and becomes ``new``."""

    module: str
    breaks: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """The module's own name."""
        return self.module.rpartition("/")[2]


def mutants_of(module: str, *changes: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(module, *change) for change in changes]


MUTANTS = [
    *mutants_of(
        "stages/atoms",
        (
            "blank messages open no turn",
            "message.shape.substance < 2 or message.shape.approves",
            "message.shape.approves",
        ),
        ("approvals open no turn", "substance < 2 or message.shape.approves:", "substance < 2:"),
        (
            "pictures of results open no turn",
            "return not (previous is not None and previous.is_result and shows_results(message))",
            "return True",
        ),
        (
            "results behind their call are its own",
            "self._give(call, i)\n            elif",
            "pass\n            elif",
        ),
        (
            "a second result goes to no other call",
            "elif call is None or message.answers not in ids:",
            "else:",
        ),
        ("one result for each id", "and once and got.keys().isdisjoint(keys)", "and once"),
        (
            "tool calls take no function results",
            'return result.role == "tool" and same_id',
            "return same_id",
        ),
        ("an early result needs a fresh id", "not in used_before", "not in ()"),
        (
            "an early result needs one call of its id",
            "and called[answer] == 1",
            "and called[answer] >= 1",
        ),
        ("one stray of an id", "and loose[answer] == 1", "and loose[answer] >= 1"),
        ("the nearest call before", "self._give(calls.pop(), i)", "self._give(calls.pop(0), i)"),
        ("twin ids are broken", 'problem = "one id for two calls" if', 'problem = "" if'),
        (
            "missing results are named",
            "missing = tuple(c for c in ids if c not in got)",
            "missing = ()",
        ),
        (
            "an orphan is broken",
            "atoms.append(atom_of((i,), turn, broken=problem))",
            "atoms.append(atom_of((i,), turn))",
        ),
        ("approvals travel with their call", "travelling[i] = place", "pass"),
        (
            "approvals are not moved",
            "if place == i - 1 or (place < i and",
            "if place < i or (place < i and",
        ),
        (
            "system messages are known",
            "Atom(i, indices, turn, message.is_system)",
            "Atom(i, indices, turn, False)",
        ),
        (
            "pictures of results begin with a sentence",
            "return bool(message.media) and message.text.startswith(_IMAGES_OF_RESULTS)",
            "return bool(message.media)",
        ),
        (
            "pictures of results have pictures",
            "return bool(message.media) and message.text",
            "return message.text",
        ),
        ("function results are no strays", 'if message.role == "tool" else []', ""),
        (
            "an old call without result is broken",
            'problem = problem or "a function call without result"',
            "pass",
        ),
        ("pictures travel with the call", "if shown and i - 1 in owner:", "if False:"),
        (
            "a run ends at any other message",
            "if not message.is_result:\n",
            "if message.calls:\n",
        ),
        (
            "one result for one old call",
            'return result.role == "function" and not got',
            'return result.role == "function"',
        ),
        (
            "a turn begins with a question alone",
            'if message.role != "user" or message.shape.substance < 2 or',
            "if message.shape.substance < 2 or",
        ),
    ),
    *mutants_of(
        "stages/validity",
        (
            "unknown roles",
            "if messages[i].role not in _ROLES or messages[i].shape.problem",
            "if messages[i].shape.problem",
        ),
        (
            "orphans at the start",
            'yield Violation("orphan", i, f"a result',
            'yield from () and ("orphan", i, f"a result',
        ),
        ("double results", "elif answer in got:", "elif False:"),
        (
            "half answered at the end",
            "if missing and (got or j < len(messages)):",
            "if missing and j < len(messages):",
        ),
        (
            "open calls at the end are fine",
            "if missing and (got or j < len(messages)):",
            "if missing:",
        ),
        (
            "old calls without result",
            "elif j < last:\n                yield",
            "elif False:\n                yield",
        ),
        (
            "late systems",
            "if messages[i].is_system:\n                yield",
            "if False:\n                yield",
        ),
        ("user first", 'if body and messages[first].role != "user":', "if False:"),
        ("alternation", "if messages[i].role == messages[j].role:", "if False:"),
        (
            "tool flow does not alternate",
            'in ("user", "assistant") and not message.calls',
            'in ("user", "assistant")',
        ),
        (
            "blank where refused",
            "shape.substance == 1 and profile.blank_refused and message.role",
            "False and message.role",
        ),
        ("half characters", "if shape.half_character:", "if False:"),
        ("server tools", "if shape.server_result_alone or (", "if ("),
        ("thinking first", "if profile.thinking_first and shape.thinking_late:", "if False:"),
        ("reasoning pairs", "if profile.reasoning_pairs and shape.reasoning_last:", "if False:"),
        ("reasoning with calls", "and not shape.reasoning_field", "and False"),
        ("item ids", "items.update(ids)", "pass"),
        (
            "somebody must speak as user",
            'if not any(m.role == "user" for m in messages):',
            "if False:",
        ),
        ("twin ids in one message", "if len(known) < len(ids):", "if False:"),
        ("results of other calls", "if answer not in known:", "if False:"),
        ("open uses of server tools", "(shape.server_use_open and not is_last)", "False"),
        (
            "server tools may still run",
            "(shape.server_use_open and not is_last)",
            "shape.server_use_open",
        ),
        ("nothing at all is refused everywhere", "if shape.substance == 0 or (", "if ("),
        (
            "results may be blank",
            'and profile.blank_refused and message.role != "tool"',
            "and profile.blank_refused",
        ),
        ("no reasoning without thinking mode", "        and thinking_mode\n", ""),
        ("old calls need no reasoning", "        and not message.shape.legacy_call\n", ""),
        ("an item twice in one message", "if x in items or x in ids[:n]]", "if x in items]"),
        (
            "blocks of plain calls are looked at",
            "if shape is PLAIN_SHAPE and not (thinking and message.calls):",
            "if shape is PLAIN_SHAPE:",
        ),
        (
            "the first turn is looked at, not the first message",
            "and messages[first].role",
            "and messages[0].role",
        ),
    ),
    *mutants_of(
        "stages/window",
        (
            "cut to the low mark",
            "head + int(free * marks.low)\n    needed",
            "head + int(free)\n    needed",
        ),
        ("system tokens are beside", "head = int(timeline.system_tokens[request])", "head = 0"),
        (
            "never past the current turn",
            '.searchsorted(needed, side="left")), current)',
            '.searchsorted(needed, side="left")), current + 1)',
        ),
        ("the turn before stays if it may", "found -= before <= (low + top) // 2", "pass"),
        ("the next turn is cut again", "place = later - 1", "break"),
        ("no reserve for a whole chat", "self.reserve * (start > 0)", "self.reserve"),
        (
            "exactly full is not cut",
            'timeline.tokens.searchsorted(limit, side="right")',
            'timeline.tokens.searchsorted(limit, side="left")',
        ),
    ),
    *mutants_of(
        "pipeline/arranging/slots",
        ("broken atoms stay out", 'return "" if running else atom.broken', 'return ""'),
        (
            "a dead call under a used id stays out",
            "if self.repeated_ids.intersection(missing)",
            "if False",
        ),
        (
            "a running call is left alone",
            "if len(atom.indices) == 1 and atom.indices[0] == last:",
            "if False:",
        ),
        (
            "stubs stand behind the results",
            "return [*slots[:behind], *stubs, *slots[behind:]]",
            "return [*slots, *stubs]",
        ),
        ("half characters are mended", "raw, changed = without_half_characters(raw), True", "pass"),
        ("empty results get a text", "if blank and message.is_result:", "if False:"),
        ("blank text goes where it is refused", "== 1 and self.profile.blank_refused", "== 3"),
        (
            "blocks' ids are rewritten too",
            "with_short_call_ids(raw, form.fits,",
            "(lambda r, f, n: r)(raw, form.fits,",
        ),
        (
            "old results too get a text",
            "if blank and message.is_result:",
            "if message.shape.substance == 0 and message.is_result:",
        ),
        ("moves are reported", "self._note_moves(atom)\n", "pass\n"),
        (
            "odd content becomes text",
            'if message.shape.problem.startswith("content is "):',
            "if False:",
        ),
        ("blank system messages stay", "or not message.is_system", "or True"),
        (
            "an early result with a twin stays out",
            "if early and self.loose_ids.intersection(early):",
            "if False:",
        ),
        (
            "reasoning with calls is asked for",
            "and not (message.calls and self.thinking_mode):",
            "and True:",
        ),
        (
            "ids of stubs are rewritten too",
            "call_id = short_call_id(call_id, form.fits,",
            "call_id = (lambda c, f, n: c)(call_id, form.fits,",
        ),
        ("a stub stands for pictures too", "if fate is Fate.STUB else", "if False else"),
        (
            "what cannot stand is said",
            'if code not in ("empty-content", "surrogate"):',
            "if False:",
        ),
        (
            "a refused call takes no late result",
            "i for a in calls if not self.problem_of(a) for i",
            "i for a in calls for i",
        ),
        (
            "a late result is no stub under a used id",
            "set(atom.unanswered).difference(self.late.get(atom.indices[0], ()))",
            "set(atom.unanswered)",
        ),
        (
            "late results take the place of stubs",
            "if call_id in late and (slot",
            "if False and (slot",
        ),
    ),
    *mutants_of(
        "pipeline/request",
        (
            "one call for a late result",
            "len(places) == len(waiting) == 1",
            "len(places) == 1 and len(waiting) > 0",
        ),
        (
            "one late result of an id",
            "len(places) == len(waiting) == 1",
            "len(waiting) == 1",
        ),
        (
            "a late result is behind its call",
            "== 1 or not waiting[0] < places[0]:",
            "== 1:",
        ),
        ("a late result is of the newest call", "if newest and", "if"),
        ("function results are not late", 'and found.role == "tool"', ""),
    ),
    *mutants_of(
        "pipeline/arranging/arrangement",
        ("systems to the head", "if profile.system_at_head:", "if False:"),
        (
            "roles alternate",
            "if profile.alternate:\n        arranged",
            "if False:\n        arranged",
        ),
        ("a marker before a first answer", "arranged.insert(body, _marker(mark, read))", "pass"),
        ("a marker between answers", "out.append(_marker(PAUSE_MARK, read))", "pass"),
        ("users are merged in order", "raw = merged_users(raws)", "raw = merged_users(raws[::-1])"),
        (
            "merged messages are remembered",
            "parts = (*self._parts, *(i for s in self._slots for i in s.parts))",
            "parts = last.parts",
        ),
        (
            "steps before a merge are remembered",
            "self._parts += [i for s in earlier for i in s.parts]",
            "pass",
        ),
        (
            "no list is empty",
            "elif profile.user_first or not arranged:",
            "elif profile.user_first:",
        ),
        (
            "the block stands before the question",
            "slots.insert(place, Slot(",
            "slots.insert(place + 1, Slot(",
        ),
        (
            "a block without a question parts nothing",
            "if question is None or place is None:",
            "if place is None:",
        ),
        ("a blank user parts no steps", "return _BLANK_LEFT_OUT\n    shown", "pass\n    shown"),
        (
            "the block is put into the question",
            "if question is not None and profile.alternate:",
            "if False:",
        ),
        (
            "systems part no turns",
            "out.append(slot)\n            continue\n        if not begun",
            "pass\n        if not begun",
        ),
        (
            "a mended message is not merged",
            "if not slot.whole_characters:\n            self._slots,",
            "if False:\n            self._slots,",
        ),
        (
            "a blank before a question goes",
            "if not steps and self._slots[-1].message.shape.substance < 2:",
            "if False:",
        ),
        (
            "what is carried stands at the window",
            "if s.index is not None and s.index >= start), len(slots)",
            "if s.index is not None), len(slots)",
        ),
        ("the task stays before pictures", "if shown and slot.whole_characters:", "if False:"),
        ("what was quoted once is quoted once", "self._steps.update(map(id, steps))", "pass"),
    ),
    *mutants_of(
        "pipeline/arranging/fitting",
        (
            "over the budget gives way",
            "while request.allowed is not None and built.tokens > request.allowed:",
            "while False:",
        ),
        (
            "what a flag keeps goes last",
            "or a.turn > last_turn or not kept.isdisjoint(a.indices)",
            "or a.turn > last_turn",
        ),
        (
            "system messages never give way",
            "if a.system or a.turn > last_turn",
            "if a.turn > last_turn",
        ),
        ("a dropped turn is a cut", "view.cut = cut_at(request, start)\n", "pass\n"),
        (
            "the least relevant quotation goes first",
            "loose.sort(key=lambda k: scored.of(view.quoted[k]) if scored else 0.0)",
            "pass",
        ),
        (
            "what is carried goes before turns",
            "if view.carried or view.summary is not None:",
            "if view.summary is not None:",
        ),
        ("that is declared", "replace(view.cut, declared=True) if view.cut else None", "view.cut"),
        (
            "where ranked the least relevant goes",
            "if body and view.ranked and view.scored is not None:",
            "if False:",
        ),
        ("no more goes than must", "        if freed >= excess:\n            break\n", ""),
        ("pins go at last", "        if pinned:\n", "        if False:\n"),
        (
            "cut turns may move",
            "return Cut(index=start, tokens_dropped=older, declared=True)",
            "return Cut(index=start, tokens_dropped=older, declared=False)",
        ),
    ),
    *mutants_of(
        "pipeline/arranging/shortening",
        ("the newest results stay", "if atom is newest:", "if False:"),
        ("stubs only where they save", "if text and size < whole:", "if text:"),
        ("shown pictures go with their result", "view.left_out.update(shown)", "pass"),
        ("shown pictures take room", "for k in (i, *shown))", "for k in (i,))"),
        (
            "what an approval says stays",
            "[i for i in behind if not messages[i].shape.approves]",
            "behind",
        ),
        (
            "short words stay beside elided pictures",
            "if text and (pictures or request.messages[i].media) and",
            "if False and",
        ),
        ("pictures are not text to be clipped", "tokens - pictures)", "tokens)"),
        ("what is left out takes nothing", "if i in view.left_out:\n        return 0", "pass"),
        (
            "stubs before clips",
            "for shorten in (_stub_results, _clip_results, _leave_out_steps):",
            "for shorten in (_clip_results, _leave_out_steps):",
        ),
        (
            "results are clipped",
            "for shorten in (_stub_results, _clip_results, _leave_out_steps):",
            "for shorten in (_stub_results, _leave_out_steps):",
        ),
        (
            "the question only if truncated",
            'if on_overflow == "truncate":',
            'if on_overflow != "keep":',
        ),
        ("raise raises", 'if on_overflow == "raise":', "if False:"),
        ("clips are said", "view.truncated = True\n    return max", "pass\n    return max"),
        ("the turn's cut is declared", "view.cut = cut_at(request, request.turn_start)", "pass"),
        (
            "what was said stays in part",
            "if any(s.parts and not s.message.is_system for s in without.slots):",
            "if True:",
        ),
        (
            "shortened steps are counted as they are",
            "return request.count([shortened_raw(request.raws[i], text, fate)])",
            "return request.counter.count(text) + 8",
        ),
        (
            "the newest step stays",
            "for a in request.current_atoms[:-1]",
            "for a in request.current_atoms",
        ),
        ("reasoning keeps its steps", "if not reasoning_too and any(", "if False and any("),
        (
            "reasoning gives way at last",
            "built = _leave_out_steps(request, view, built, reasoning_too=True)",
            "pass",
        ),
        (
            "down to the low mark",
            "while waiting and used > low:",
            "while waiting and used > allowed:",
        ),
        (
            "only at requests",
            'at_request = k == len(sizes) or request.messages[i].role == "assistant"',
            "at_request = True",
        ),
        ("sources first", "clip_sources(text, target, count) or clip_text(", "clip_text("),
        (
            "of quoted ones, too",
            "clipped = _clipped(text, max(",
            "clipped = clip_text(text, max(",
        ),
        ("keep keeps", 'if on_overflow != "keep":', "if True:"),
        (
            "stubs are not clipped",
            "or (i in view.shortened and view.shortened[i][1] is Fate.STUB):",
            "or False:",
        ),
        ("the largest result first", "key=lambda x: (-x[0], x[1])):", "key=lambda x: x[1]):"),
        (
            "broken parts go where room is short",
            "if not lost or built.tokens <= (request.allowed or 0):",
            "if True:",
        ),
        ("systems stay", "if not a.system and not", "if not"),
        ("what users say stays", " and not _says_something_as_user(request, a)", ""),
    ),
    *mutants_of(
        "stages/own_servers",
        ("forms of ids", "not m.shape.legacy_call and not form.fits(c.id)", "False"),
        ("an answer last", 'last.role != "assistant" or last.calls:', "True:"),
        ("a prefix may stand last", "and not last.shape.prefix", "and True"),
        ("a blank at the end", "last.text[-1:].isspace()", "False"),
        ("the number of tools", "if most and len(tools) > most:", "if False:"),
        ("names in schemas", "isinstance(name, str) and not form.fits(name)", "False"),
        ("names of speakers", "message.name and not speaker.fits(message.name)", "False"),
        ("prefill that is refused", "if no_prefill or (", "if ("),
        ("names in calls", 'yield Violation("tool-name", i,', 'yield from () and ("tool-name", i,'),
        (
            "what is about tools comes last",
            "return [*found, *_check_schemas(tools or (), profile, len(messages))]",
            "return [*_check_schemas(tools or (), profile, len(messages)), *found]",
        ),
    ),
    *mutants_of(
        "pipeline/policies/carrying",
        ("dropped ones are not carried", "and barred.isdisjoint", "and True or barred.isdisjoint"),
        ("pinned ones are not carried", "if kept.isdisjoint(a.indices)", "if True"),
        ("the room for it is kept", "budget - BLOCK_TOKENS, barred", "1 << 30, barred"),
        (
            "recall does not hide it",
            "+ carried.tokens <= marks.room\n",
            "+ carried.tokens <= marks.room - marks.extra\n",
        ),
        (
            "what is carried is not recalled, too",
            "[a for a in view.quoted if a.first not in places]",
            "list(view.quoted)",
        ),
    ),
    *mutants_of(
        "pipeline/policies/recall_beside",
        ("the turn before stays", "return min(fitting, before)", "return fitting"),
        ("lines may take a token more", "deep.tokens - len(deep.atoms)\n", "deep.tokens\n"),
        (
            "it may go",
            "if small or curve.within(left) < _LAST_TURN_WORTH * curve.within(wanted):",
            "if small:",
        ),
        (
            "pictures take no room in quotation",
            "sizes = tokens_as_quoted(request, places, own).tolist()",
            "sizes = own.tolist()",
        ),
    ),
    *mutants_of(
        "pipeline/policies/stable",
        ("what is carried is in the view", "put_carried(view, sent.carried)\n", "pass\n"),
        ("leaving it out is declared", "return has_room(", "return False and has_room("),
    ),
    *mutants_of(
        "pipeline/arranging/view",
        (
            "answers at the head go",
            "if not atoms or any(a.first >= request.turn_start for a in atoms):",
            "if True:",
        ),
        ("with their results", "gone = {i for a in atoms for i in a.indices}", "gone = set(early)"),
        ("items that come again", "seen.intersection(ids):", "False:"),
        ("an item twice in one message", "if len(set(ids)) < len(ids) or", "if"),
        (
            "the newest of the same items stays",
            "for atom in reversed(atoms):",
            "for atom in atoms:",
        ),
        (
            "what has no words is not quoted",
            "quoted = [a for a in quoted if messages[a.first].text or has_words(messages, a)]",
            "quoted = list(quoted)",
        ),
        ("broken parts of this turn are quoted", "broken.append(atom)", "pass"),
        ("their pictures are shown", "shown = [] if view.unshown else [", "shown = [] and ["),
        ("what is carried rides in the question", "*([] if carried else view.carried), ", ""),
        ("stubs go with their call", "and s.stands_by not in gone]", "]"),
        ("it is looked at again", "quoted += atoms  # with", "quoted += atoms; break  # with"),
        (
            "late results stand behind their call alone",
            "if atom.first in behind_calls:",
            "if False:",
        ),
        (
            "late results go with a call that is quoted",
            "atoms += [a for a in _all_atoms(request) if a.first in late]",
            "pass",
        ),
    ),
    *mutants_of(
        "pipeline/arranging/continuity",
        (
            "a mend that reaches back is declared",
            "if not _reaches_back(",
            "if True or not _reaches_back(",
        ),
        (
            "others are not",
            "return _outline(built.slots)[: len(outline)] != outline",
            "return True",
        ),
        (
            "room that is given back",
            "if request.allowed is not None and before.tokens > request.allowed:",
            "if False:",
        ),
        (
            "the place of the window stays",
            "replace(cut, declared=True)\n",
            "Cut(index=0, tokens_dropped=0, declared=True)\n",
        ),
    ),
    *mutants_of(
        "pipeline/asked_request",
        ("tools take room", "/ self.factor) - self.tool_tokens)", "/ self.factor))"),
        ("the reserve takes room", "(self.limit - self.reserve)", "(self.limit)"),
    ),
    *mutants_of(
        "pipeline/request_flow",
        (
            "errors count tools and reserve",
            "needed = asked.in_all(error.needed)",
            "needed = error.needed",
        ),
        (
            "no flag buys more than the money does",
            "limit = min(limit, asked.priced.money or limit)",
            "pass",
        ),
    ),
    *mutants_of(
        "stages/accounting/priced_limit",
        ("the answer is no input", "bought + reserve if bought", "bought if bought"),
        ("the tighter cap counts", "min(tokens, money) if tokens and money else", ""),
        (
            "a refusal for tokens says nothing of money",
            "self.usd if self.money and self.tokens == self.money else 0.0",
            "self.usd",
        ),
    ),
    *mutants_of(
        "stages/accounting/request_cost",
        ("no price, no money", "None if tally.unpriced else tally.cost_usd", "tally.cost_usd"),
        ("several requests are not one", "account.sent.requests != 1", "not account.sent.requests"),
        ("an estimate is called one", "measured=entry.is_measured", "measured=True"),
    ),
    *mutants_of(
        "domain/cost",
        (
            "a cost is worked out when it is looked at",
            "        make = self._make\n",
            "        make = None\n",
        ),
    ),
    *mutants_of(
        "stages/quoting",
        (
            "calls are quoted in words",
            'said += [f"[calls {c.name}({c.arguments})]" for c in message.calls]',
            "pass",
        ),
        (
            "pictures are quoted in words",
            "said += [f\"[{kind.split('_')[0]}]\" for kind in message.media]",
            "pass",
        ),
        ("closing tags are broken", '.replace("</", "<\\\\/")', ""),
        ("blocks of ours are broken", '.replace("<recalled", "<\\\\recalled")', ""),
        ("speakers are defused", "defuse(speaker).split()", "speaker.split()"),
    ),
    *mutants_of(
        "stages/counting/calibration",
        (
            "a report never lowers a count",
            "if ratio <= 1.0 + slack:",
            "if 1.0 <= ratio <= 1.0 + slack:",
        ),
    ),
    *mutants_of(
        "stages/flags",
        ("off is no flag", 'if name != "off")', ")"),
        ("pins do not stand", 'if sign == "+" and name not in MESSAGE_FLAGS:', 'if sign == "+":'),
        (
            "bad values spoil nothing",
            "return FlagReading(rest=text, problems=tuple(problems))",
            "return FlagReading(rest=text[place:], problems=tuple(problems))",
        ),
        ("locked flags are reset", "_without(reading.flags, hit)", "reading.flags"),
        ("so are standing ones", "_without(reading.standing, hit)", "reading.standing"),
        ("recall and its opposite are two", 'flags.recall is (name == "recall")', "True"),
        ("long numbers are none", "and len(value) <= _LONGEST_NUMBER\n", "\n"),
    ),
    *mutants_of(
        "stages/clipping",
        ("a clip fits", "if size <= max_tokens:", "if True:"),
    ),
    *mutants_of(
        "domain/graphemes",
        (
            "no cut before a vowel sign",
            'unicodedata.category(after) in ("Mn", "Me", "Mc") or',
            "False or",
        ),
        ("no cut inside a flag", "return (place - start) % 2 == 1", "return False"),
        ("no cut inside a line break", 'or (before == "\\r" and after == "\\n"):', ":"),
        ("no cut behind a joiner", 'or before == "\\u200d" or', "or"),
        ("no cut inside a syllable in letters", "if _joins_syllable(before, after) or", "if"),
        ("no cut inside a conjunct", "or _joins_consonants(text, place):", ":"),
        ("no cut before a skin tone", 'or "\\U0001f3fb" <= after <= "\\U0001f3ff":', ":"),
    ),
    *mutants_of(
        "domain/nesting",
        ("circles end", "elif id(item) in inside:", "elif False:"),
        ("keys are sorted", "sorted(held, key=_key_text) if sort_keys else held", "held"),
        ("siblings are no circle", "inside.discard(item)", "pass"),
        ("circles are copied once", "elif id(item) in copies:", "elif False:"),
    ),
    *mutants_of(
        "domain/checking",
        ("True is no number", "if isinstance(value, bool) or not", "if not"),
        ("no number is no number", "not above <= value", "value < above"),
    ),
    *mutants_of(
        "pipeline/flag_limits",
        (
            "no flag above the cap",
            "most if full else min(most, target or most)",
            "0 if full else (target or most)",
        ),
    ),
    *mutants_of(
        "wire/rewriting",
        (
            "pictures stay",
            "elif key is None and isinstance(part, Mapping):\n            parts.append(part)",
            "elif False:\n            parts.append(part)",
        ),
        (
            "one text for all",
            "if key is not None and not written:",
            "if key is not None:",
        ),
        (
            "a text for pictures alone",
            'return {**raw, "content": parts if written else',
            'return {**raw, "content": parts if True else',
        ),
        (
            "only the first text loses its flags",
            "+ part[key][prefix_length:]}\n            break",
            "+ part[key][prefix_length:]}",
        ),
        (
            "an empty message gets no blank line",
            'f"{text}\\n\\n{content}" if content else text',
            'f"{text}\\n\\n{content}"',
        ),
        (
            "parts of Responses lists",
            'kind = "input_text" if {"input_text", "input_image"} & kinds else "text"',
            'kind = "text"',
        ),
        (
            "the last one's keys",
            'return {**raws[-1], "content": "\\n\\n".join(texts)}',
            'return {**raws[0], "content": "\\n\\n".join(texts)}',
        ),
        ("ids that fit stay", "    if fits(text):\n        return text\n", ""),
        (
            "results are renamed too",
            'return dict(renamed(changed, "tool_call_id"))',
            "return changed",
        ),
        (
            "stubs keep nothing else",
            '"content": [{"type": "text", **first, "text": text}]}',
            '"content": [*content, {"type": "text", "text": text}]}',
        ),
    ),
    *mutants_of(
        "wire/openai",
        (
            "calls of others are no calls",
            'if raw.get("role") != "assistant":\n        return ()',
            "if False:\n        return ()",
        ),
        ("a call in two places is one", "if call_id is None or call_id not in seen:", "if True:"),
        (
            "function results answer by name",
            'if answers is None and role == "function":',
            "if False:",
        ),
        ("ids of the host are no content", "if k not in _HOST_KEYS}", "if True}"),
        ("texts are read", 'return text if isinstance(text, str) else ""', 'return ""'),
        ("base64 is no text", '_BASE64_RUN.sub("", dumped)', "dumped"),
        (
            "refusals are something",
            'any(raw.get(k) for k in ("function_call", "refusal", "audio"))',
            "False",
        ),
        (
            "keys may hold half characters",
            "json_text(raw, ensure_ascii=False).encode()",
            'str(raw.get("content")).encode()',
        ),
    ),
    *mutants_of(
        "pipeline/arranging/in_place",
        (
            "users that flags keep stand in place",
            'if in_place_ok and message.role == "user":',
            "if False:",
        ),
        (
            "pins that do not fit are left out",
            "if (tokens := request.tokens_of(atom)) <= room:",
            "if (tokens := request.tokens_of(atom)) or True:",
        ),
        (
            "the newest pins first",
            "for atom in reversed(request.atoms_between(0, request.turn_start)):",
            "for atom in request.atoms_between(0, request.turn_start):",
        ),
        (
            "dropped ones are left out",
            "after = [a for a in after if not is_dropped(request, a)]",
            "pass",
        ),
        (
            "one turn of context is this one",
            "return request.turn_start if wanted <= 1 else",
            "return",
        ),
    ),
    *mutants_of(
        "stages/claims",
        (
            "quotations are looked up",
            "missing = [q for q in _quotations(text) if",
            "missing = [q for q in () if",
        ),
        ("numbers are looked up", "if n not in self._numbers)", "if False)"),
        ("a number is whole", "n not in self._numbers", "n not in self._text"),
        ("paths and names in code are looked up", "if not _IS_NAMED.search(word) or", "if True or"),
        ("a name is whole", "(?!{_GOES_ON}|[.{dash}]{_GOES_ON})", ""),
        ("a name begins where it begins", "(?<!{_GOES_ON}){re", "{re"),
        ("a script without spaces glues to names", '_GLUED.sub(" ", rest)', "rest"),
        ("list numbers are no claims", 'text = _LIST_NUMBER.sub("", line)', "text = line"),
        ("thousands marks do not count", 'plain = _GROUPED.sub("", text)', "plain = text"),
        (
            "one or the other is no path",
            "if not (_EITHER_OR.fullmatch(word) and",
            "if not (False and",
        ),
    ),
    *mutants_of(
        "pipeline/summaries/honest",
        ("what was invented goes", "if not source.claims.lacks(line):", "if True:"),
        ("errors are no summaries", "if _is_fault(plain):", "if False:"),
        ("a summary may begin as an error does", "if short else None", "if True else None"),
        ("thoughts are no summary", 'plain = _THOUGHTS.sub("", text)', "plain = text"),
        (
            "the source takes its place",
            "elif (found := source.nearest(sentence)) is not None:",
            "elif (found := None):",
        ),
        ("summaries are bounded", "if count(text) <= max_tokens:", "if True:"),
        ("a sign is no summary", "< _FEWEST_LETTERS:", "< 0:"),
    ),
    *mutants_of(
        "pipeline/recalling/shown_summary",
        ("!nosum shows none", "or not start or request.flags.now.nosum:", "or not start:"),
        ("dropped messages are not summed up", "if not request.dropped_by_flag(i)", "if True"),
        ("another history has another key", "digest.update(len(text)", "(len(text)"),
        (
            "our own blocks are not summed up",
            "if any(text.startswith(OWN_HEADS)",
            "if any(False and text.startswith(OWN_HEADS)",
        ),
        (
            "written before the cut",
            "target = foreseen_cut(request.timeline, marks, start) or 0",
            "target = 0",
        ),
        (
            "a near one is not written again",
            "if _newest(request, desk, target, room).near:",
            "if False:",
        ),
        ("old chats as far as it pays", "    if not before:\n", "    if False:\n"),
        ("room is set aside", "return most if most >= _SUMMARY_LEAST_TOKENS else 0", "return 0"),
    ),
    *mutants_of(
        "pipeline/summaries/writing",
        ("a fault leaves it alone", "closed = self._backoff.is_waiting", "closed = False"),
        (
            "an unusable answer is not asked for again",
            'self._keep((self.name, "unusable", piece.key), gist)',
            "pass",
        ),
        (
            "an unusable answer closes nothing",
            "            return gist\n",
            "            self._backoff.note_fault(ValueError())\n            return gist\n",
        ),
        ("one at a time for each chat", "or first in self._writing:", "or False:"),
        ("the gist stands in", "if gist is not None:", "if False:"),
        (
            "the summary before is told",
            "        if before:\n            messages.insert",
            "        if False:\n            messages.insert",
        ),
        (
            "the first one stays",
            "return kept if _is_text(kept) else text",
            "return text",
        ),
    ),
    *mutants_of(
        "stages/atoms",
        (
            "a message of results answers nothing but its call",
            "ids.issuperset(message.answered)",
            "message.answers in ids",
        ),
        (
            "no message holds two results for one call",
            "and same_id and once and",
            "and same_id and",
        ),
        (
            "a stray message of results answers nothing but its call",
            "return not more or set(self._ids_of_call(call)).issuperset(more)",
            "return True",
        ),
        (
            "a message of results counts for each of its calls",
            "self._messages[i].answered\n",
            "self._messages[i].answered[:1]\n",
        ),
    ),
    *mutants_of(
        "stages/validity",
        (
            "each result of a message is checked",
            "for answer in messages[j].answered:",
            "for answer in messages[j].answered[:1]:",
        ),
    ),
    *mutants_of(
        "pipeline/arranging/slots",
        (
            "a stub in a block stands before what is said",
            'if stubs and "tool_call_id" not in stubs[0].raw:',
            "if False:",
        ),
        ("a stub has the form of its like", "NO_RESULT, like)", "NO_RESULT)"),
    ),
    *mutants_of(
        "wire/result_blocks",
        ("the assistant's blocks are no results", 'if role not in ("user", "tool"):', "if False:"),
        (
            "each call keeps a result of its own",
            "parts.append({**part, keys[1]:",
            "said or parts.append({**part, keys[1]:",
        ),
        ("a stub shows no pictures", "[] if alone else _not_texts(row", "_not_texts(row"),
    ),
    *mutants_of(
        "wire/part_kinds",
        (
            "low detail is seen",
            'return "image_low" if "low" in details else "image"',
            'return "image"',
        ),
        (
            "refusals are read",
            'return "refusal" if isinstance(part.get("refusal"), str) else None',
            "return None",
        ),
        ("thinking is not said", "if kind in _THINKING_TYPES:", "if False:"),
        ("a call's id stands under its own key", 'kind.endswith("_call") and ', ""),
    ),
    *mutants_of(
        "wire/given_forms",
        ("tuples are lists", "isinstance(value, (list, tuple))", "isinstance(value, list)"),
        ("models have fields", "else model_fields(value)", "else None"),
    ),
    *mutants_of(
        "wire/openai",
        (
            "a user message with results is a result",
            'if in_blocks and role == "user":',
            "if False:",
        ),
    ),
    *mutants_of(
        "pipeline/linting",
        (
            "lint counts as orchestrators do",
            "(settings or Settings()).scale_by_family",
            "True",
        ),
        (
            "a model brings its rules",
            "profile: str | None = None",
            'profile: str | None = "openai"',
        ),
    ),
    *mutants_of(
        "pipeline/advisers/embedding",
        (
            "a text without a vector is asked once",
            "self._memory.put((name, text), vector, size)",
            "vector.size and self._memory.put((name, text), vector, size)",
        ),
        ("no vector is no vector of a question", "or not asked.size:", "or False:"),
    ),
    *mutants_of(
        "pipeline/arguments",
        (
            "every port is checked",
            "if value is not None:\n            require",
            "if False:\n            require",
        ),
        ("a wait is above 0", 'require_seconds("embed_timeout", embed_timeout)', "pass"),
    ),
    *mutants_of(
        "domain/profile",
        (
            "a model's name alone goes first",
            "for text in model_names(model_id)",
            "for text in model_names(model_id)[::-1]",
        ),
        ("a server is no model", "(?<!o)llama", "llama"),
        ("underscores are hyphens", '.replace("_", "-")', ""),
    ),
    *mutants_of(
        "domain/budget",
        ("a window that is not known sets no limit", "if not context_tokens:", "if False:"),
    ),
    *mutants_of(
        "pipeline/chat/memory",
        (
            "every text that is kept counts",
            "sum(map(getsizeof, chain.from_iterable(key)))",
            "getsizeof(text)",
        ),
        ("the terms of scripts without spaces count", "* _ENTRY_PAIR_BYTES", "* 0"),
        ("what comes back leaves the older ones", "self._old_bytes -= entry.bytes", "pass"),
    ),
    *mutants_of(
        "pipeline/chat/transcript",
        (
            "many counters have no more room than one",
            "and self._content_size() > self._content_bytes",
            "and False",
        ),
    ),
    *mutants_of(
        "pipeline/chat/sent_windows",
        (
            "a window that grows back is told",
            "any(w.start != window.start for w in shorter[-1:])",
            "False",
        ),
        (
            "a summary that came is told",
            "w.summary != window.summary for w in known[-1:]",
            "False for w in known[-1:]",
        ),
        (
            "the same request is told the same",
            "w.start != window.start for w in shorter[-1:]",
            "w.start != window.start for w in known[-1:]",
        ),
    ),
    *mutants_of(
        "stages/scoring/gate",
        (
            "relevance opens by a lead",
            "return self.relevance_leads and not (self._open_by_words or self.by_subject)",
            "return False",
        ),
        (
            "the lead counts",
            "and self.relevant_outside >= GATE_RELEVANCE_LEAD * self.relevant_inside",
            "",
        ),
        (
            "a whole chat is asked for at length",
            "return _about_the_whole(cues)\n",
            "return False\n",
        ),
        ("half relevant at least", "and self.relevant_outside >= GATE_RELEVANT\n", "\n"),
        (
            "what is carried is in view",
            "seen[[place for place in carried if place < size]] = True\n",
            "pass\n",
        ),
    ),
    *mutants_of(
        "stages/window",
        ("cuts are foreseen no later than they come", "full - (low - head), side", "full, side"),
    ),
    *mutants_of(
        "stages/structure/stance",
        (
            "contradiction weakens support",
            "held = support * (1.0 - contradiction)",
            "held = support",
        ),
        (
            "contradiction weakens likeness",
            "(1.0 - confidence) * similarity * (1.0 - contradiction)",
            "(1.0 - confidence) * similarity",
        ),
        (
            "support counts once",
            "stance_kernel(similarity, share, stance.contradiction",
            "stance_kernel(similarity, stance.support, stance.contradiction",
        ),
        ("a stance is scaled", "x / total for x in numbers", "x for x in numbers"),
    ),
    *mutants_of(
        "pipeline/advisers/opinion_desk",
        (
            "opinions belong to a model",
            "keys = [(self._name, self._key(content))",
            'keys = [("", self._key(content))',
        ),
        ("all or nothing", "return known if len(known) == len(asked) else None", "return known"),
        ("a deadline ends the wait", "0.0 if expired() else until", "until"),
        ("a late model is not waited for", "else until - self._clock()", "else 1.0"),
        ("what was asked last comes first", "newest_first=True", "newest_first=False"),
    ),
    *mutants_of(
        "pipeline/worker_queue",
        ("a fault leaves the model alone", "self._until = self._clock() + wait", "pass"),
        ("waits grow", "self._faults += 1", "pass"),
        ("an answer ends the row of faults", "self._faults = 0\n        return", "return"),
        ("nothing is put while it is left alone", "if self._backoff.is_waiting:", "if False:"),
        ("a fault drops what waits", "if good else list(self._waiting)", "if good else batch"),
        ("the queue is bounded", "len(self._waiting) < _WORK_MOST_WAITING", "True"),
        ("a thread that ends leaves nobody waiting", "self._waiting.clear()", "pass"),
    ),
    *mutants_of(
        "pipeline/recalling/proving",
        ("pictures come back for less", "cost[list(cheap)] = 1", "pass"),
        ("system messages are always sent", "worth[np.diff(systems) > 0] = 0.0", "pass"),
        ("what a flag decides is no candidate", "if i < worth.size]] = 0.0", "if False]] = 0.0"),
    ),
    *mutants_of(
        "pipeline/recalling/tiering",
        ("whole messages need no block", "max(certificate.upper_bound, whole)", "whole"),
        (
            "what was not looked at counts",
            "return with_left_out(certificate, left_out, others.cost, most)",
            "return certificate",
        ),
        ("forms keep to the room", "form.tokens <= room", "True"),
    ),
    *mutants_of(
        "pipeline/recalling/short_forms",
        (
            "a summary belongs to its content",
            "text = key_bytes(request.entries[i].key)",
            "text = b''",
        ),
        ("one form speaks for all", 'ShownPart("", self.tier, self.note)', "ShownPart(self.text)"),
    ),
    *mutants_of(
        "pipeline/arranging/fitting",
        (
            "what made room counts no more",
            "return proof.without(gains.of(places))",
            "return proof",
        ),
    ),
    *mutants_of(
        "pipeline/recalling/lifting",
        (
            "a name in the question ends the search",
            "if _says_name(asked_names):\n            return values",
            "if False:\n            return values",
        ),
        (
            "names tell what a pronoun means",
            "recent.update(dict.fromkeys(name for names in found for name in names))",
            "pass",
        ),
        ("names are hops", "ties += _ties_by_names(", "_ties_by_names("),
    ),
    *mutants_of(
        "pipeline/request",
        ("nothing is asked of a model that was late", "if missing not in self.notes else []", ""),
    ),
    *mutants_of(
        "pipeline/policies/presets/lethe_walk",
        ("few pairs are judged", "in order[:WALK_JUDGED]]", "in order]"),
        ("pairs with the question first", "(tie[1] != chat.size, -tie[2], ", "(-tie[2], "),
    ),
]
