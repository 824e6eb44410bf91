"""The generator, on a small house of its own: what it makes, and one test per rule."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from filter_rules import RuleError
from make_filter import HOME, make_filter
from plugin_host import load_plugin, plugin_class, read_front_matter

SETTINGS = '''"""Every knob once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Knobs."""

    limit: int = 3  # messages


def newest(values: list[int], settings: Settings) -> list[int]:
    """Return the last values."""
    return [int(value) for value in np.array(values)[-settings.limit :]]
'''
PUBLIC = '''"""Public names."""

from small.settings import Settings, newest

__all__ = ["Settings", "newest"]
'''
DOOR = '''"""The door."""

from __future__ import annotations

# Comments among the imports go with them.
from typing import Any

from pydantic import BaseModel

from small import Settings, newest

# The comment of the class stays.
class Filter:
    """A filter."""

    class Valves(BaseModel):
        """Knobs in the admin's page."""

        limit: int = 2

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(self, body: dict[str, Any]) -> dict[str, Any]:
        """Keep the newest messages."""
        kept = newest(body["messages"], Settings(limit=self.valves.limit))
        return {**body, "messages": kept}
'''
PROJECT = """[project]
name = "small"
version = "1.2.3"
description = "A small house."
license = "MIT"
authors = [{ name = "somebody" }]
"""
FUTURE = "from __future__ import annotations\n\n"


class House:
    """A folder of modules that stands in for core and adapters."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("small/__init__.py", PUBLIC)
        self.write("small/settings.py", SETTINGS)
        self.write("eunoe_openwebui/__init__.py", "")
        self.write("eunoe_openwebui/filter.py", DOOR)
        self.write("pyproject.toml", PROJECT)

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")

    def add(self, text: str, name: str = "extra") -> None:
        """Add a module, and an import of its name ``extra`` to the door."""
        self.write(f"small/{name}.py", text + "\n\ndef extra() -> None:\n    pass\n")
        line = f"from small.{name} import extra\n"
        self.write("eunoe_openwebui/filter.py", DOOR.replace("# Comments", line + "# Comments"))

    def make(self) -> str:
        return make_filter("eunoe_openwebui.filter", [self.folder], self.folder / "pyproject.toml")


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_the_file_is_a_filter_for_the_host(house: House):
    made = house.make()
    kind, found = plugin_class(load_plugin(made))
    assert kind == "filter"
    assert await found().inlet(body={"messages": [1, 2, 3]}) == {"messages": [2, 3]}
    assert read_front_matter(made) == {
        "title": "small",
        "author": "somebody",
        "version": "1.2.3",
        "license": "MIT",
        "description": "A small house.",
        "required_open_webui_version": "0.5.0",
    }


def test_text_is_copied_and_imports_are_gathered(house: House):
    made = house.make()
    assert made.count("import annotations") == 1
    assert (
        "from dataclasses import dataclass\nfrom typing import Any\n\nimport numpy as np\n" in made
    )
    assert "# The comment of the class stays.\nclass Filter:" in made
    assert "limit: int = 3  # messages" in made
    assert "Comments among" not in made
    assert "from small" not in made
    assert made.index("# small.settings: Every knob once.") < made.index("# eunoe_openwebui.filter")


def test_a_changed_source_changes_the_file(house: House):
    before = house.make()
    house.write("small/settings.py", SETTINGS.replace("Return the last", "Give the last"))
    assert house.make() != before


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_interpreter_or_hash_seed(house: House):
    script = (
        "import sys; from pathlib import Path; from make_filter import make_filter;"
        "folder = Path(sys.argv[1]);"
        "text = make_filter('eunoe_openwebui.filter', [folder], folder / 'pyproject.toml');"
        "sys.stdout.buffer.write(text.encode())"
    )
    names = [sys.executable, *(shutil.which(f"python3.{minor}") for minor in (11, 12, 13))]
    made = set()
    for name, seed in ((name, seed) for name in names if name for seed in "07"):
        run = subprocess.run(
            [name, "-c", script, str(house.folder)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(HOME), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=False,
        )
        if run.returncode == 0 or name == sys.executable:
            made.add(run.stdout)
    assert made == {house.make().encode()}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(FUTURE + "import small.settings", "R1", id="import of a module"),
        pytest.param(FUTURE + "from small import settings", "R1", id="module as a name"),
        pytest.param(FUTURE + "from small.settings import *", "R1", id="star"),
        pytest.param(FUTURE + "from small.settings import newest as n", "R1", id="alias"),
        pytest.param(FUTURE + "from small.settings import nothing", "R1", id="unknown name"),
        pytest.param(FUTURE + "from small.nothing import x", "R1", id="unknown module"),
        pytest.param(FUTURE + "from small.extra import extra", "R1", id="cycle"),
        pytest.param(
            FUTURE + "def f() -> None:\n    from small.settings import newest", "R1", id="nested"
        ),
        pytest.param(FUTURE + "try:\n    import json\nfinally:\n    pass", "R1", id="conditional"),
        pytest.param("import json", "R1", id="no future import"),
        pytest.param(FUTURE + "X = 1; import json", "R1", id="import shares a line"),
        pytest.param(FUTURE + "newest = 1", "R2", id="defined twice"),
        pytest.param(FUTURE + "for newest in ():\n    pass", "R2", id="bound twice by a loop"),
        pytest.param(FUTURE + '__all__ = ["extra"]', "R2", id="__all__ outside __init__"),
        pytest.param(FUTURE + "from json import loads as Any", "R3", id="imported twice"),
        pytest.param(FUTURE + "dataclass = 1", "R3", id="defined and imported"),
        pytest.param(FUTURE + "def sum() -> None:\n    pass", "R3", id="builtin hidden"),
        pytest.param(FUTURE + "from .settings import newest", "R4", id="relative"),
        pytest.param(
            FUTURE + "def f() -> None:\n    from .settings import newest",
            "R4",
            id="relative nested",
        ),
        pytest.param(FUTURE + "from typing import TYPE_CHECKING", "R4", id="TYPE_CHECKING"),
        pytest.param(FUTURE + "import typing\nX = typing.TYPE_CHECKING", "R4", id="attribute"),
        pytest.param(FUTURE + "import requests", "R5", id="package not allowed"),
        pytest.param(FUTURE + "import pydantic", "R5", id="pydantic in the core"),
        pytest.param(FUTURE + "import tiktoken", "R5", id="lazy package at the top"),
        pytest.param(FUTURE + "def f() -> None:\n    import tiktoken", "R5", id="without a try"),
        pytest.param(
            FUTURE + "def f() -> None:\n    try:\n        import requests\n"
            "    except ImportError:\n        pass",
            "R5",
            id="package not allowed, in a try",
        ),
        pytest.param(
            FUTURE + "import importlib\nX = importlib.import_module('tiktoken')",
            "R5",
            id="import_module at the top",
        ),
        pytest.param(FUTURE + "X = __file__", "R5", id="a place"),
        pytest.param(FUTURE + "# tokens taken from " + "main text", "R6", id="rewritten"),
        pytest.param(FUTURE + "class Pipe:\n    pass", "R7", id="other kind of plugin"),
        pytest.param(FUTURE + "from asyncio import Event", "R7", id="other kind, imported"),
        pytest.param(FUTURE + "class Filter:\n    pass", "R7", id="second Filter"),
    ],
)
def test_a_broken_rule_stops_the_build(house: House, text: str, rule: str):
    house.add(text)
    with pytest.raises(RuleError) as caught:
        house.make()
    faults = [fault for fault in caught.value.faults if f" {rule} " in f" {fault}"]
    assert faults
    assert all("extra" in fault or "filter.py" in fault for fault in faults)


@pytest.mark.parametrize(
    "text",
    [
        "def f() -> None:\n    try:\n        import toktok\n    except ImportError:\n        pass",
        "import importlib\n\n\ndef f() -> object:\n    return importlib.import_module('toktok')",
        "def f() -> None:\n    import json",
        "from collections.abc import Sequence\n\nX: Sequence[int] = [i for i in range(3)]",
        "import numpy as np\n\nX = np.zeros(3)",
        (
            "def f() -> None:\n    try:\n        from eunoe_backends import LedgerStore\n"
            "    except ImportError:\n        pass"
        ),
    ],
)
def test_what_the_rules_allow_is_made(house: House, text: str):
    house.add(FUTURE + text)
    assert load_plugin(house.make()).extra() is None
