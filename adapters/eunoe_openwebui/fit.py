"""One request of the host -> the messages to send. Synchronous work, run off the event loop."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

from eunoe.domain.budget import TokenBudget
from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError
from eunoe.domain.flag import FLAG_NAMES
from eunoe.domain.log import logger
from eunoe.domain.report import Report
from eunoe.domain.settings import Settings
from eunoe.pipeline.accounts.observing import StageClock
from eunoe.pipeline.accounts.sent_lists import SentLists, sent_list
from eunoe.pipeline.advisers.advice import may_be_cut
from eunoe.pipeline.orchestrator import ContextOrchestrator
from eunoe.pipeline.result import OrchestratorResult
from eunoe.stages.accounting.forecast import RequestForecast, provider_forecast
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.request_cost import estimated_cost
from eunoe.stages.counting.tokenizer import family_of, find_tokenizer
from eunoe.wire.model_window import find_window, input_room, output_reserve_of
from eunoe.wire.sent_schemas import sent_schemas
from eunoe_openwebui.advisers import NO_FILTER_ADVISERS, FilterAdvisers
from eunoe_openwebui.choosing import FilterChoice, choose_messages
from eunoe_openwebui.documents import find_documents, names_target, with_flags_in_front
from eunoe_openwebui.hook import FilterRequest
from eunoe_openwebui.money import allowed_with_money
from eunoe_openwebui.turn import TurnNotes, next_turn_notes, with_flags_again, with_given_again
from eunoe_openwebui.valves import FilterValves
from eunoe_openwebui.window import base_model_id, priced_model_id

_ENGINES_REMEMBERED = 8
_MODEL_PROMPT_FRAMING = 4

OverflowMode = Literal["raise", "truncate", "keep"]
_OVERFLOW_MODES: dict[str, OverflowMode] = {
    "truncate": "truncate",
    "keep": "keep",
    "refuse": "raise",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOutcome:
    """What to send, and the account of it.

    Attributes:
        messages: to send.
        report: of the pipeline.
        result: of the pipeline, for an observer.
        notes: on this turn, for its next step.
        allowed: tokens that it may take, the model's own prompt included; a flag may lower it.
        read: what was given, with all flags where they count, those included that an earlier step
            of the turn took out.
        afterwards: what to do once it is answered, off the event loop; None for nothing.
    """

    messages: list[Any]
    report: Report
    result: OrchestratorResult
    notes: TurnNotes
    allowed: int
    read: list[Mapping[str, Any]]
    afterwards: Callable[[], object] | None = None


class EngineShelf:
    """Orchestrators by settings: changed valves get a new one, the others keep what they know."""

    def __init__(self) -> None:
        self._engines: dict[tuple[object, ...], ContextOrchestrator] = {}
        self._lock = threading.Lock()

    def engine(
        self, settings: Settings, on_overflow: OverflowMode, advisers: FilterAdvisers
    ) -> ContextOrchestrator:
        """The orchestrator for these settings and models."""
        embedder, labeller, seconds = advisers.embedder, advisers.labeller, advisers.seconds
        key = (
            settings,
            on_overflow,
            embedder,
            labeller,
            advisers.summarizer,
            advisers.store,
            advisers.extractor,
            seconds,
        )
        with self._lock:
            if key not in self._engines:
                while len(self._engines) >= _ENGINES_REMEMBERED:
                    self._engines.pop(next(iter(self._engines)))
                self._engines[key] = ContextOrchestrator(
                    settings=settings,
                    on_overflow=on_overflow,
                    embedder=embedder,
                    embed_timeout=seconds,
                    embed_behind=False,
                    labeller=labeller,
                    summarizer=advisers.summarizer,
                    summary_store=advisers.store,
                    entity_extractor=advisers.extractor,
                    structure_timeout=seconds,
                )
            return self._engines[key]


def fit_request(
    request: FilterRequest,
    valves: FilterValves,
    shelf: EngineShelf,
    views: SentLists,
    factor: float = 1.0,
    late: Callable[[], bool] | None = None,
    advisers: FilterAdvisers = NO_FILTER_ADVISERS,
    clock: StageClock | None = None,
    prices: PriceLookup | None = None,
    hit_share: float = 1.0,
) -> FilterOutcome:
    """Choose what the model sees.

    Args:
        request: of the host.
        valves: of the operator, resolved for the model.
        shelf: orchestrators made before.
        views: what was sent before; this request is noted there.
        factor: real tokens for each that we count.
        late: asked now and then; once it says True, the newest turns are sent.
        advisers: models that are asked beside the words.
        clock: measures how long each stage takes; None where nobody observes.
        prices: of models; by default their list prices.
        hit_share: part of a repeated beginning that the model's cache gives back, in [0, 1].

    Raises:
        BudgetError: it does not fit and the valves say "refuse".
    """
    model_id = str(request.body.get("model") or "")
    real_model = base_model_id(request.model) or model_id
    messages = with_flags_again(request.earlier, request.body["messages"])
    if valves.read_flags:
        messages = with_flags_in_front(messages, request.written)
    own_prompt = _own_prompt(request.model_prompt, messages)
    prompt_tokens = _prompt_tokens(own_prompt, real_model)
    priced = allowed_with_money(
        allowed_tokens(request, valves),
        valves.max_cost_usd,
        list_prices() if prices is None else prices,
        priced_model_id(model_id, request.model, request.base),
    )
    allowed = priced.tokens
    engine = shelf.engine(settings_of(valves), _OVERFLOW_MODES[valves.on_overflow], advisers)

    def choose(conversation: Conversation, room: int) -> OrchestratorResult:
        return engine.process_sync(
            conversation,
            model_id=real_model or None,
            profile=None if valves.provider_rules == "auto" else valves.provider_rules,
            tools=sent_schemas(request.body) or None,
            output_reserve=0,
            budget=TokenBudget(room),
            expired=late,
            clock=clock,
        )

    counter = find_tokenizer(family_of(real_model))
    documents = find_documents(messages, request.written, counter)
    if documents is not None and valves.read_flags and names_target(messages):
        documents = None  # a target counts them
    try:
        choice = choose_messages(
            choose,
            messages,
            documents,
            room=max(1, int(allowed / factor) - prompt_tokens),
            chat=request.chat,
            again=bool(request.earlier.counted),
        )
    except BudgetError as error:
        raise priced.refusal(error) from None
    sent = with_given_again(choice.placements, request.body["messages"])
    choice = replace(choice, placements=tuple(sent))
    report, forecast = _seen_with_the_last(request, views, messages, choice, own_prompt)
    window = find_window(request.body, request.model, request.base)
    forecast = provider_forecast(forecast, prompt_tokens, factor, window)
    asked = (advisers.embedder, advisers.labeller, advisers.extractor) != (None, None, None)
    due = asked and may_be_cut(report.tokens_before, report.budget)
    counted = report.tokens_after + prompt_tokens
    notes = next_turn_notes(request.earlier, messages, choice.placements, report, counted, forecast)
    costing = estimated_cost(
        lambda: forecast, priced.prices, priced.model_id, hit_share=hit_share, most_usd=priced.usd
    )
    warnings = (*report.warnings, *priced.notes, *advisers.faults)
    return FilterOutcome(
        messages=[placed.message for placed in choice.placements],
        report=replace(report, costing=costing, warnings=warnings),
        result=choice.result,
        notes=replace(notes, chat=request.chat, model=model_id, priced=priced.model_id or ""),
        allowed=min(allowed, math.ceil((report.budget + prompt_tokens) * factor)),
        read=messages,
        afterwards=partial(_finish, engine, choice.conversation if due else None, choice.result)
        if due or choice.result.due is not None
        else None,
    )


def _seen_with_the_last(
    request: FilterRequest,
    views: SentLists,
    messages: Sequence[Mapping[str, Any]],
    choice: FilterChoice,
    own_prompt: str,
) -> tuple[Report, RequestForecast]:
    """The report and the forecast, with what the chat's request before tells of a prompt cache.

    Args:
        messages: as given, documents included.
        choice: what is sent of them.
        own_prompt: what the host puts in front of every list.
    """
    report, model_id = choice.report, str(request.body.get("model") or "")
    sent = sent_list(
        messages,
        choice.placements,
        report.decisions.sizes,
        tools=sent_schemas(request.body) or None,
        tool_tokens=report.tool_tokens,
        prompt=own_prompt,
    )
    continued = bool(request.earlier.counted)
    outlook = views.follow(request.chat, sent, model_id=model_id, continued=continued)
    if outlook.bust is not None:
        report = replace(report, cache_lost=outlook.bust.describe())
    forecast = choice.forecast.with_left_out(request.earlier.left_out_tokens)
    if request.chat:  # the first request of it that is known here: no cache is counted on
        forecast = forecast.with_repeated(outlook.repeated or 0)
        forecast = forecast.with_unchanged(outlook.unchanged)
    return report, forecast


def _finish(
    engine: ContextOrchestrator, conversation: Conversation | None, result: OrchestratorResult
) -> None:
    """What is done after an answer: the chat embedded and labelled, a summary written."""
    if conversation is not None:
        engine.prepare_sync(conversation, ahead=True)
    engine.write_summary(result)


def allowed_tokens(request: FilterRequest, valves: FilterValves) -> int:
    """Input tokens of the request: within the window's share, the caps and the answer's room."""
    window = find_window(request.body, request.model, request.base)
    if not window and not valves.max_tokens:
        window = valves.default_window
    reserve = output_reserve_of(request.body) or valves.answer_reserve
    caps = (valves.max_tokens, request.user.max_tokens)
    return input_room(caps, window, valves.context_percent / 100, reserve)


def settings_of(valves: FilterValves) -> Settings:
    """The pipeline's settings; the water marks are kept in order.

    Counts are scaled by family: what is too low here is refused by the provider.
    """
    high = max(30, valves.cut_at_percent)
    low = min(max(5, valves.cut_to_percent), high - 1)
    return Settings(
        policy=valves.policy,
        recall=_filter_recall_mode(valves.recall),
        high_water=high / 100,
        low_water=low / 100,
        recall_share=valves.recall_percent / 100,
        deep_recall_share=valves.deep_recall_percent / 100,
        recall_floor=valves.recall_floor,
        summary_tokens=valves.summary_tokens,
        pair_coherence=valves.pair_coherence or None,
        tool_penalty=valves.tool_penalty if valves.tool_penalty < 1.0 else None,
        scale_by_family=True,
        read_flags=valves.read_flags,
        locked_flags=locked_flag_names(valves.locked_flags),
    )


def _filter_recall_mode(name: str) -> Literal["auto", "always", "never"]:
    return "always" if name == "always" else "never" if name == "never" else "auto"


@lru_cache(maxsize=64)
def locked_flag_names(text: str) -> tuple[str, ...]:
    """The flags that a valve names: "!Full, target" are ("full", "target"); "all" are all."""
    if text.strip().lower() == "all":
        return tuple(sorted(FLAG_NAMES))
    names = {name.strip().lstrip("!").lower() for name in text.split(",")} - {"", "none"}
    if unknown := names.difference(FLAG_NAMES):
        logger.warning("eunoe: there are no such flags to lock: %s", ", ".join(sorted(unknown)))
    return tuple(sorted(names.intersection(FLAG_NAMES)))


def _own_prompt(prompt: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """What the host will add in front: the model's prompt less what the list already holds."""
    system = next((m.get("content") for m in messages if m.get("role") == "system"), "")
    if isinstance(system, str) and system and prompt.endswith(system):
        prompt = prompt[: -len(system)]
    return prompt if prompt.strip() else ""


def _prompt_tokens(prompt: str, model_id: str) -> int:
    if not prompt:
        return 0
    return find_tokenizer(family_of(model_id)).count(prompt) + _MODEL_PROMPT_FRAMING
