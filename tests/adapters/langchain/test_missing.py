"""Without LangChain the error says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("langchain_core", "needs langchain-core: pip install 'eunoe[langchain]'"),
        ("numpy", "numpy"),
    ],
)
def test_the_missing_package_is_named(missing, expected):
    code = f"import sys; sys.modules[{missing!r}] = None\nimport eunoe_langchain"
    paths = os.pathsep.join(str(REPOSITORY / folder) for folder in ("core", "adapters"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("ModuleNotFoundError: ")
    assert expected in last
    assert ("eunoe[langchain]" in last) is (missing == "langchain_core")
