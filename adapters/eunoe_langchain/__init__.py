"""eunoe for LangChain: the messages that matter, inside the budget, before every model call.

    from eunoe_langchain import HistoryOptimizer

    chain = HistoryOptimizer(max_tokens=8000) | model

Only ``langchain_core`` is imported here; ``langchain`` and ``langgraph`` where a method needs them.
"""

from eunoe import BudgetError, Report

try:
    from eunoe_langchain.approximate import approximate_tokens
    from eunoe_langchain.counters import CounterError, as_list_counter
    from eunoe_langchain.history import OptimizedHistory, wrap_history_factory
    from eunoe_langchain.inputs import to_messages
    from eunoe_langchain.runnable import HistoryOptimizer
    from eunoe_langchain.shortcut import optimize_messages
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "langchain_core":
        raise
    _HINT = "eunoe_langchain needs langchain-core: pip install 'eunoe[langchain]'"
    raise ModuleNotFoundError(_HINT, name=error.name) from error

__all__ = [
    "BudgetError",
    "CounterError",
    "HistoryOptimizer",
    "OptimizedHistory",
    "Report",
    "approximate_tokens",
    "as_list_counter",
    "optimize_messages",
    "to_messages",
    "wrap_history_factory",
]
