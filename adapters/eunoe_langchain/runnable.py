"""The runnable before a chat model: it takes what the model takes and gives a shorter list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
)
from langchain_core.language_models import LanguageModelInput
from langchain_core.load.serializable import SerializedConstructor, SerializedNotImplemented
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.prompt_values import ChatPromptValueConcrete, StringPromptValue
from langchain_core.runnables import (
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnablePassthrough,
    RunnableSerializable,
    run_in_executor,
)
from pydantic import ConfigDict, Field, PrivateAttr, field_validator

from eunoe import BudgetError, Report
from eunoe.stages.accounting.price import PriceLookup
from eunoe_langchain.checks import CHECKED_FIELDS, check_field
from eunoe_langchain.graph_state import PreModelHook
from eunoe_langchain.inputs import check_keywords, to_messages
from eunoe_langchain.models import MODEL_FIELDS, models_of
from eunoe_langchain.money import PlanMoney, as_prices
from eunoe_langchain.planning import (
    OnOverflow,
    PlanOptions,
    Reasoning,
    drain_plans,
    plan,
)
from eunoe_langchain.tool_schemas import read_tools
from eunoe_langchain.watching import PlanWatch, thread_name

if TYPE_CHECKING:
    from eunoe_langchain.middleware import HistoryOptimizerMiddleware

ModelInputType = str | StringPromptValue | ChatPromptValueConcrete | list[AnyMessage]


class HistoryOptimizer(RunnableSerializable[LanguageModelInput, list[BaseMessage]]):
    """Keeps a chat history inside a token budget, before every model call.

    ``HistoryOptimizer(max_tokens=8000) | model`` sends the model at most 8,000 tokens. Kept
    messages are the caller's own objects; the stored history is never touched; a tool call never
    parts from its results; the same history always gives the same list, and the list of the next
    turn begins with it except at few cuts, so that a provider's prompt cache holds.

    Attributes:
        max_tokens: tokens allowed for a request, system messages and framing included; above 0.
        reserve_tokens: tokens of these to leave free, for what is added later or for the answer.
        max_cost_usd: dollars that the input of a request may cost, where the model's price is
            known; 0 sets no cap. Where it is not known ``max_tokens`` alone counts, with a warning.
        prices: own prices over the list prices, as a mapping or the path of a JSON file such as
            ``{"models": {"mine": {"input": 1, "output": 4}}, "aliases": {"my-alias": "mine"}}``;
            or in their place a ``ModelPricingTable`` or a ``CurrentPrices``.
        tools: what the model is bound to (``model.bind_tools``): the schemas take room, too. An
            agent tells its middleware of them; a chain and a hook know only what stands here.
        on_overflow: what to do when system messages and the current turn alone are too large:
            ``raise`` a ``BudgetError``, ``truncate`` the largest texts with a marker, ``keep`` all.
        token_counter: ``approximate`` (four characters a token, as in LangChain), ``exact`` (the
            model's tokenizer where it is on this machine, else a close estimate), the name of a
            tokenizer's family such as ``o200k``, a chat model, or a function of one message or of a
            list of messages; one that fails gives way to ``approximate``. Only names are saved.
        policy: ``stable`` (default), ``relevance``, ``window``, ``lethe``, ``lethes``, ``dycp``,
            ``lethus``, ``unified`` or ``off``.
        profile: whose rules the list must keep: ``openai``, ``responses``, ``anthropic``,
            ``gemini``, ``mistral``, ``deepseek``, ``template`` or ``permissive``. By default it
            follows from ``model_id``, or from what earlier answers say of their provider.
        model_id: the model that reads the list; names its tokenizer and its rules.
        reasoning: ``keep``, or ``strip_before_cut``: once something was cut, answers of finished
            turns are sent without their thinking, for providers that refuse thinking whose
            history has changed.
        settings: further knobs by name, as of ``eunoe.Settings``. ``!flags`` in messages are not
            read unless ``read_flags`` is set here.
        embedder: lets meaning count beside words: LangChain ``Embeddings``, or an embedder of
            ``eunoe_backends``. Histories are embedded behind the requests, a request waits
            ``embed_timeout`` seconds for its question.
        embed_in_request: embed what is missing at once, however long it takes; for models in this
            process, and where each request has a process of its own.
        observer: is told of each request (``observe(event)``, see ``eunoe.Observer``): its report,
            its figures, no text. What it raises is logged. A thread that the config names
            (``thread_id``, ``session_id``) is told of with why its prompt cache was lost.
        labeller: a chat model that labels the history by its worth to the question, in the request,
            or a labeller of ``eunoe_backends``; it is waited for ``label_timeout`` seconds.
        summarizer: a chat model, or ``LLMSummarizer``, that sums up behind the answers what a cut
            leaves out; the summary stands at the head of the window from then on.
        summary_store: shares summaries with other processes, as ``RedisSummaryStore`` does.
        entity_extractor: finds names for what "it" may stand for, as ``SpacyExtractor`` does.
        stance_judge: says which messages contradict each other, for ``lethe``.
        structure_timeout: seconds that a request waits for either.
        deadline: seconds for scoring; then the newest turns are sent, and the report says so.
    """

    max_tokens: int = Field(gt=0)
    reserve_tokens: int = Field(default=0, ge=0)
    max_cost_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    prices: Any = None
    tools: list[dict[str, Any]] = Field(default_factory=list)
    on_overflow: OnOverflow = "raise"
    token_counter: Any = "approximate"  # noqa: S105
    policy: str | None = None
    profile: str | None = None
    model_id: str | None = None
    reasoning: Reasoning = "keep"
    settings: dict[str, Any] = Field(default_factory=dict)
    embedder: Any = None
    embed_in_request: bool = False
    embed_timeout: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    labeller: Any = None
    summarizer: Any = None
    summary_store: Any = None
    label_timeout: float = Field(default=20.0, gt=0, allow_inf_nan=False)
    observer: Any = None
    entity_extractor: Any = None
    stance_judge: Any = None
    structure_timeout: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    deadline: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    @field_validator(*CHECKED_FIELDS)
    @classmethod
    def _check(cls, value: Any, info: Any) -> Any:
        check_field(info.field_name, value)
        return value

    _read_prices: tuple[Any, PriceLookup] = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Read the prices once."""
        self._read_prices = self.prices, as_prices(self.prices)

    @field_validator("tools", mode="before")
    @classmethod
    def _read_tools(cls, value: Any) -> list[dict[str, Any]]:
        return read_tools(value)

    @property
    def InputType(self) -> Any:  # noqa: N802  # LangChain's name
        """What a chat model takes."""
        return ModelInputType

    @property
    def OutputType(self) -> Any:  # noqa: N802  # LangChain's name
        """A list of messages."""
        return list[AnyMessage]

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """``dumps`` and ``loads`` work."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Where ``loads`` finds the class; stays when modules move."""
        return ["eunoe_langchain"]

    def to_json(self) -> SerializedConstructor | SerializedNotImplemented:
        """The form for ``dumps``; counters that are no names, and objects, cannot be written."""
        others = [self.summary_store, self.observer, *(getattr(self, n) for n in MODEL_FIELDS)]
        others += [] if isinstance(self.prices, (str, dict)) else [self.prices]
        if any(x is not None for x in others) or not isinstance(self.token_counter, str):
            return self.to_json_not_implemented()
        return super().to_json()

    def invoke(
        self,
        input: LanguageModelInput,  # noqa: A002  # LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[BaseMessage]:
        """The messages to send.

        Args:
            input: what a chat model takes: messages in any form, a prompt value, a string.
            config: callbacks, tags, configurable values.
            **kwargs: ``max_tokens``, ``reserve_tokens``, ``max_cost_usd`` for this call.

        Raises:
            BudgetError: with ``on_overflow="raise"``, if what may not be cut exceeds the budget.
            TypeError: the input is no list of messages, or a keyword is unknown.
        """
        check_keywords(type(self).__name__, kwargs)
        return self._call_with_config(self._run, input, config, **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002  # LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[BaseMessage]:
        """The same, planned off the event loop."""
        check_keywords(type(self).__name__, kwargs)
        return await self._acall_with_config(self._arun, input, config, **kwargs)

    def explain(
        self,
        input: LanguageModelInput,  # noqa: A002  # LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Report:
        """What would be sent, shrunk and dropped, and why; no callbacks, never a BudgetError.

        In a thread that the config names, also why the provider's prompt cache would be lost.
        """
        check_keywords(type(self).__name__, kwargs)
        watch = PlanWatch(thread=thread_name(config), looks_only=True)
        messages = to_messages(input)
        try:
            return plan(messages, self._options(**kwargs, watch=watch)).report
        except BudgetError:
            kept = self._options(**kwargs, on_overflow="keep", watch=watch)
            return plan(messages, kept).report

    def drain(self) -> None:
        """Wait until what is done behind the answers is done: embedding, and summaries.

        For scripts: nothing of it outlives the process.
        """
        drain_plans(self._options())

    def on_key(self, key: str = "messages") -> Runnable[dict[str, Any], dict[str, Any]]:
        """A runnable on a mapping: optimises the messages under one key, keeps the others."""
        return RunnablePassthrough.assign(**{key: itemgetter(key) | self})

    def as_pre_model_hook(self, *, rewrite: bool = False) -> Runnable[Any, dict[str, Any]]:
        """A hook for ``create_react_agent``: the model sees the view, the state stays whole.

        Args:
            rewrite: replace the messages in the state instead, for good. Needs langgraph.
        """
        hook = PreModelHook(self, rewrite)
        return RunnableLambda(hook.update, hook.aupdate, name=f"{self.get_name()}Hook")

    def as_middleware(self) -> HistoryOptimizerMiddleware:
        """Middleware for ``create_agent``; system prompt and tools count against the budget.

        Raises:
            ImportError: langchain is not installed.
        """
        from eunoe_langchain.middleware import HistoryOptimizerMiddleware

        return HistoryOptimizerMiddleware(self)

    def plan_request(
        self,
        messages: Sequence[BaseMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        model_hint: str | None = None,
        provider: str | None = None,
    ) -> list[BaseMessage]:
        """The messages to send beside these tools to this model; for hosts that know both.

        Args:
            messages: system message first, if there is one.
            tools: schemas as they are sent; none for those of the optimizer.
            model_hint: the model, for its tokenizer, unless the optimizer names one.
            provider: its provider as traces name it, such as ``anthropic``.
        """
        known = tuple(tools) or tuple(self.tools)
        options = self._options(tools=known, model_hint=model_hint, provider=provider)
        return plan(messages, options).messages

    def _run(
        self,
        value: LanguageModelInput,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> list[BaseMessage]:
        return plan(to_messages(value), self._options(**kwargs)).messages

    async def _arun(
        self,
        value: LanguageModelInput,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> list[BaseMessage]:
        messages, options = to_messages(value), self._options(**kwargs)
        return (await run_in_executor(None, partial(plan, messages, options))).messages

    def _known_prices(self) -> PriceLookup:
        if self._read_prices[0] is not self.prices:  # set since, or on a copy
            self._read_prices = self.prices, as_prices(self.prices)
        return self._read_prices[1]

    def _options(self, **changes: Any) -> PlanOptions:
        most = changes.pop("max_cost_usd", self.max_cost_usd)
        given = {
            "max_tokens": self.max_tokens,
            "reserve_tokens": self.reserve_tokens,
            "tools": tuple(self.tools),
            "on_overflow": self.on_overflow,
            "token_counter": self.token_counter,
            "policy": self.policy,
            "profile": self.profile,
            "model_id": self.model_id,
            "reasoning": self.reasoning,
            "settings": self.settings,
            "models": models_of(self),
            "deadline": self.deadline,
            "money": PlanMoney(self._known_prices(), most),
            "watch": PlanWatch(thread=thread_name(), observer=self.observer),
        }
        return PlanOptions(**{**given, **changes})
