"""Options, the ban on the network, and running the tests on the single file."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from make_filter import FOLDERS, ROOT_MODULE, TARGET, collect
from plugin_host import load_plugin

HOUSE = frozenset(path.name for folder in FOLDERS for path in folder.glob("eunoe*"))
LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1", "0.0.0.0"})

settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--standalone",
        action="store_true",
        help="run on standalone/eunoe_filter.py instead of the packages",
    )


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(forbid_network)
    if config.getoption("--standalone"):
        loaded = sorted(name for name in sys.modules if name.split(".")[0] in HOUSE)
        if loaded:
            raise pytest.UsageError(f"loaded before the single file: {loaded}")
        replace_packages(load_plugin(TARGET.read_text(encoding="utf-8")))


def forbid_network(event: str, args: tuple[Any, ...]) -> None:
    """Fail the test that asks for a host other than this machine."""
    if event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    if host is not None and (host.decode() if isinstance(host, bytes) else host) not in LOOPBACK:
        pytest.fail(f"a test asked the network for {host!r}")


class View(types.ModuleType):
    """A module of ours whose names live in the single file; setting one sets it there."""

    def __init__(self, name: str, single: types.ModuleType) -> None:
        super().__init__(name)
        self.__dict__["_single"] = single

    def __getattr__(self, name: str) -> Any:
        submodule = f"{self.__name__}.{name}"
        return sys.modules.get(submodule) or getattr(self.__dict__["_single"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif f"{self.__name__}.{name}" not in sys.modules:  # submodules are found by name
            setattr(self.__dict__["_single"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_single"], name)


class Missing(MetaPathFinder):
    """Skips the tests of modules of ours that are not in the single file."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> None:
        if fullname.split(".")[0] in HOUSE:
            pytest.skip(f"{fullname} is not in the single file", allow_module_level=True)


def replace_packages(single: types.ModuleType) -> None:
    """Put a view of the single file in the place of each module that it is made of."""
    bundled = {module.name: module.is_package for module in collect(ROOT_MODULE, FOLDERS)}
    for name in list(bundled):
        while name := name.rpartition(".")[0]:
            bundled[name] = True
    for name, is_package in sorted(bundled.items()):
        view = View(name, single)
        if is_package:
            view.__path__ = []
        sys.modules[name] = view
    sys.meta_path.insert(0, Missing())


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder with pyproject.toml."""
    return Path(__file__).resolve().parent.parent
