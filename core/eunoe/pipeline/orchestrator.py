"""The one entry: a conversation goes in, a valid list within the budget comes out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from eunoe.domain.budget import Budget, TokenBudget
from eunoe.domain.checking import require_choice, require_number
from eunoe.domain.conversation import Conversation
from eunoe.domain.ports import (
    Embedder,
    EntityExtractor,
    Labeller,
    Observer,
    StanceJudge,
    Summarizer,
    SummaryStore,
    TokenCounter,
)
from eunoe.domain.profile import profile_of
from eunoe.domain.settings import Settings
from eunoe.pipeline.accounts.correcting import corrected_by_usage
from eunoe.pipeline.accounts.observing import ObserverDesk, StageClock
from eunoe.pipeline.advisers.advice import make_advisers
from eunoe.pipeline.arguments import check_parts, check_request
from eunoe.pipeline.asked_request import AskedRequest, never_expired, no_mark
from eunoe.pipeline.chat.transcript import PipelineMemory, process_memory
from eunoe.pipeline.counted_by import answer_by_counter
from eunoe.pipeline.preparing import prepare_chat
from eunoe.pipeline.request_flow import ChoiceParts, OnOverflow, choose_list
from eunoe.pipeline.result import OrchestratorResult
from eunoe.pipeline.strategies import OWN_STRATEGIES, Strategies
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.priced_limit import allowed_by_price
from eunoe.stages.counting.message_cost import count_tools
from eunoe.stages.counting.tokenizer import model_counter

OVERFLOW_CHOICES = ("raise", "truncate", "keep")


class ContextOrchestrator:
    """Decides before each model call what the model sees.

    One instance may serve many chats, users and threads: it remembers facts by content alone, and
    what it remembers never changes an answer.

    Args:
        budget: how much may be sent; none means no limit.
        settings: the knobs.
        on_overflow: what to do when the system messages and the current turn alone are too large:
            ``raise`` a ``BudgetError``, ``truncate`` the user's message, or ``keep`` them whole.
        token_counter: counts tokens; by default the tokenizer of the model, if its vocabulary is
            on this machine, else an estimate; these step in for one that fails. Never the network.
        flag_cap: tokens to which flags such as ``!full`` may raise the budget; by default no flag
            raises it.
        prices: what models cost, for the report and a budget in money; else their list prices.
        memory: what is remembered between requests; by default the process shares one.
        embedder: lets likeness of meaning count beside words. A history is embedded behind the
            request, once it passes half of the budget; a request embeds its question alone.
        embed_in_request: embed what is missing in the request, however long it takes.
        embed_timeout: seconds that a request waits for its question's vector.
        embed_behind: a request has its history embedded, and a summary written that is due, once it
            is answered; False leaves that to ``prepare`` and ``write_summary``.
        labeller: a model that labels the history by its worth, when ``prepare`` is called.
        label_timeout: seconds that a request asks and waits for labels itself; None does not.
        summarizer: sums up what a cut leaves out, behind the answers; the summary stands at the
            head of the window once it is there.
        summary_store: shares summaries with other workers.
        observer: is told of each request that is answered; never changes or fails one.
        entity_extractor: finds names beside those of our own analysis, for what "it" or "the file"
            may stand for and for the walk of ``lethe``.
        stance_judge: says which messages contradict each other, for the walk of ``lethe``.
        structure_timeout: seconds that a request waits for either.
        strategies: a scorer, an algorithm of selection, in place of the house's own.

    Raises:
        SettingsError: a setting is not allowed.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        settings: Settings | None = None,
        on_overflow: OnOverflow = "raise",
        token_counter: TokenCounter | None = None,
        flag_cap: int | None = None,
        prices: PriceLookup | None = None,
        memory: PipelineMemory | None = None,
        embedder: Embedder | None = None,
        embed_in_request: bool = False,
        embed_timeout: float = 0.5,
        embed_behind: bool = True,
        labeller: Labeller | None = None,
        label_timeout: float | None = None,
        summarizer: Summarizer | None = None,
        summary_store: SummaryStore | None = None,
        observer: Observer | None = None,
        entity_extractor: EntityExtractor | None = None,
        stance_judge: StanceJudge | None = None,
        structure_timeout: float = 1.0,
        strategies: Strategies | None = None,
    ) -> None:
        require_choice("on_overflow", on_overflow, OVERFLOW_CHOICES)
        check_parts(
            budget,
            settings,
            token_counter,
            flag_cap,
            embed_timeout,
            label_timeout,
            structure_timeout,
            prices=prices,
            memory=memory,
            embedder=embedder,
            labeller=labeller,
            summarizer=summarizer,
            summary_store=summary_store,
            observer=observer,
            entity_extractor=entity_extractor,
            stance_judge=stance_judge,
            strategies=strategies,
        )
        self._strategies = OWN_STRATEGIES if strategies is None else strategies
        self.budget: Budget = budget if budget is not None else TokenBudget()
        self.settings = settings if settings is not None else Settings()
        self.on_overflow: OnOverflow = on_overflow
        self._counter = token_counter
        self._flag_cap = flag_cap
        self.prices: PriceLookup = prices if prices is not None else list_prices()
        self._memory = memory if memory is not None else process_memory()
        self._advisers = make_advisers(
            self._memory,
            embedder,
            labeller,
            summarizer,
            summary_store=summary_store,
            embed_in_request=embed_in_request,
            embed_timeout=embed_timeout,
            embed_behind=embed_behind,
            label_timeout=label_timeout,
            entity_extractor=entity_extractor,
            stance_judge=stance_judge,
            structure_timeout=structure_timeout,
        )
        self._desk = None if observer is None else ObserverDesk(observer, self.prices)

    async def process(
        self,
        conversation: Conversation,
        *,
        model_id: str | None = None,
        profile: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        output_reserve: int | None = None,
        usage: object = None,
        session_id: str | None = None,
        policy: str | None = None,
        budget: Budget | None = None,
        deadline: float | None = None,
    ) -> OrchestratorResult:
        """The same as ``process_sync``, with the work off the event loop.

        Args:
            deadline: seconds after which scoring is given up and the newest turns are sent instead,
                with the same guarantees; the report says so. None waits.
        """
        if deadline is not None:
            require_number("deadline", deadline, "seconds, 0 or above, or None")
        given_up, timer = threading.Event(), None
        if deadline:
            timer = asyncio.get_running_loop().call_later(deadline, given_up.set)
        elif deadline is not None:
            given_up.set()
        work = asyncio.to_thread(
            self.process_sync,
            conversation,
            model_id=model_id,
            profile=profile,
            tools=tools,
            output_reserve=output_reserve,
            usage=usage,
            session_id=session_id,
            policy=policy,
            budget=budget,
            expired=given_up.is_set,
        )
        try:
            return await work
        finally:
            given_up.set()  # a cancelled task ends its work at the next step
            if timer is not None:
                timer.cancel()

    def process_sync(
        self,
        conversation: Conversation,
        *,
        model_id: str | None = None,
        profile: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        output_reserve: int | None = None,
        usage: object = None,
        session_id: str | None = None,
        policy: str | None = None,
        budget: Budget | None = None,
        expired: Callable[[], bool] | None = None,
        clock: StageClock | None = None,
        learn: bool = True,
    ) -> OrchestratorResult:
        """The list that the model should see now.

        Args:
            conversation: the whole chat, the current question and running tool steps last.
            model_id: chooses the tokenizer and the provider's rules.
            profile: name of the rules, over what the model id says.
            tools: schemas sent along; they take room.
            output_reserve: tokens to leave for the answer.
            usage: what the provider reported for the last request, a mapping or a client's own
                object, best as ``result.reported(usage)``. Where it counts more tokens than we do,
                so much less is sent now that the budget holds in the provider's tokens.
            session_id: whose chat; plays no part in what is chosen, labels made ahead set aside.
            policy, budget: over those of the orchestrator, for this request.
            expired: asked between steps; once it says True, scoring is given up and the newest
                turns are sent instead.
            clock: measures how long each stage takes; an observer has one of its own.
            learn: have done behind the answer what later requests need, and tell the observer;
                False for a look at what would be sent.

        Returns:
            The caller's own objects in order, unless something had to be cut or mended.

        Raises:
            BudgetError: what may not be cut is too large, and ``on_overflow`` is ``raise``.
            ConversationError: it is no ``Conversation``.
            SettingsError: an unknown profile or policy, or an argument of the wrong type.
        """
        name = self.settings.policy if policy is None else policy
        check_request(conversation, model_id, tools, output_reserve, name, budget)
        desk = self._desk if learn else None
        clock = StageClock() if clock is None and desk is not None else clock
        cap = self.budget if budget is None else budget
        priced = allowed_by_price(cap, self.prices, model_id, reserve=output_reserve or 0)
        chat = str(session_id or conversation.session_id or "")

        def answer(counter: TokenCounter, notes: tuple[str, ...]) -> OrchestratorResult:
            asked = AskedRequest(
                policy=name,
                profile=profile_of(model_id, profile),
                counter=counter,
                limit=priced.tokens,
                priced=priced,
                tool_tokens=count_tools(tools, counter) if tools else 0,
                reserve=output_reserve or 0,
                chat=chat,
                expired=expired if expired is not None else never_expired,
                notes=(*notes, *priced.notes),
                mark=clock.mark if clock is not None else no_mark,
            )
            if usage:
                asked = corrected_by_usage(conversation, asked, usage, self._memory, self._choose)
                asked.mark("correcting")
            return self._choose(conversation, asked, learn=learn)

        own = partial(model_counter, model_id, scale_by_family=self.settings.scale_by_family)
        result = answer_by_counter(self._counter, own, answer)
        if desk is not None and clock is not None:
            desk.tell(
                result,
                conversation.raw,
                tools=tools,
                model_id=model_id,
                session_id=chat,
                milliseconds=clock.milliseconds,
            )
        return result

    def _choose(
        self, conversation: Conversation, asked: AskedRequest, *, learn: bool = True
    ) -> OrchestratorResult:
        parts = ChoiceParts(
            memory=self._memory,
            settings=self.settings,
            advisers=self._advisers,
            flag_cap=self._flag_cap,
            on_overflow=self.on_overflow,
            strategies=self._strategies,
        )
        return choose_list(conversation, asked, parts, learn=learn)

    def drain(self) -> None:
        """Finish the work that is done after an answer: what is to be embedded or summed up."""
        self._advisers.drain()

    def write_summary(self, result: OrchestratorResult) -> bool:
        """Write the summary that is due after a request, for as long as it takes.

        Returns:
            Whether one was due and was written.
        """
        desk = self._advisers.summaries
        return desk is not None and result.due is not None and desk.write(result.due)

    async def prepare(self, conversation: Conversation, *, ahead: bool = False) -> bool:
        """``prepare_sync``, off the event loop."""
        return await asyncio.to_thread(self.prepare_sync, conversation, ahead=ahead)

    def prepare_sync(self, conversation: Conversation, *, ahead: bool = False) -> bool:
        """Before a request, or ``ahead`` after an answer: embed the chat and have it labelled.

        Returns:
            Whether all of it worked; if not, the request does without.
        """
        return prepare_chat(conversation, self._advisers, self._memory, self.settings, ahead=ahead)
