"""The package as an importer sees it."""

from __future__ import annotations

import subprocess
import sys

import eunoe_langchain


def test_all_is_sorted_and_true():
    names = eunoe_langchain.__all__
    assert names == sorted(names)
    assert all(hasattr(eunoe_langchain, name) for name in names)
    assert "BudgetError" in names


def test_importing_it_brings_in_no_agent_framework_and_the_core_does_not_bring_it_in():
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; import eunoe; "
        "assert not any(m.startswith(('eunoe_langchain', 'langchain')) for m in sys.modules); "
        "import eunoe_langchain; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('langchain', 'langgraph')))"
    )
    done = subprocess.run(  # our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_without_langchain_the_middleware_says_what_to_install():
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; sys.modules['langchain'] = None; "
        "import eunoe_langchain as e; e.HistoryOptimizer(max_tokens=9).as_middleware()"
    )
    done = subprocess.run(  # our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install 'langchain>=1'" in done.stderr
