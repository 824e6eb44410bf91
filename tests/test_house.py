"""The house rules that no other tool checks."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import filter_rules
from make_filter import FOLDERS, ROOT_MODULE, collect
from mutants import MUTANTS
from mutation_check import TABLES

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = sorted(
    path.parent.name for folder in FOLDERS for path in folder.glob("eunoe*/__init__.py")
)
SOURCES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
BUNDLED_PACKAGES = ("eunoe", ROOT_MODULE.split(".")[0])
MOST_LINES = 320
WITHOUT_TESTS: frozenset[str] = frozenset()
"""Stage modules whose mirrored test is still to come."""


def named(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def test_files_are_short():
    lengths = {named(path): len(path.read_text(encoding="utf-8").split("\n")) for path in SOURCES}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_stage_has_its_mirrored_test():
    home = REPOSITORY / "core" / "eunoe" / "stages"
    missing = set()
    for path in home.rglob("*.py"):
        if path.name == "__init__.py":
            continue
        inside = path.relative_to(home)
        mirror = REPOSITORY / "tests" / "core" / "stages" / inside.parent / f"test_{path.name}"
        if not mirror.is_file():
            missing.add(str(inside))
    assert sorted(missing) == sorted(WITHOUT_TESTS)


def test_every_module_can_go_into_the_single_file():
    needed = collect(ROOT_MODULE, FOLDERS)
    modules = [m for m in needed if m.name.split(".")[0] not in BUNDLED_PACKAGES]
    for package in BUNDLED_PACKAGES:
        for path in sorted(p for folder in FOLDERS for p in (folder / package).rglob("*.py")):
            folder = next(folder for folder in FOLDERS if path.is_relative_to(folder))
            name = ".".join(path.relative_to(folder).with_suffix("").parts)
            name = name.removesuffix(".__init__")
            modules.append(filter_rules.read_module(name, path, FOLDERS))
    faults = filter_rules.check_names(ROOT_MODULE, modules)
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_there(package: str):
    module = importlib.import_module(package)
    names = [package] + [
        info.name for info in pkgutil.walk_packages(module.__path__, f"{package}.") if info.ispkg
    ]
    for name in names:
        found = importlib.import_module(name)
        public = getattr(found, "__all__", [])
        assert len(public) == len(set(public)), name  # ruff sorts them
        assert [item for item in public if not hasattr(found, item)] == [], name


def test_the_packages_are_those_that_are_built_and_checked():
    built = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(Path(path).name for path in built) == PACKAGES
    assert sorted(PROJECT["tool"]["importlinter"]["root_packages"]) == PACKAGES
    assert sorted(PROJECT["tool"]["coverage"]["run"]["source_pkgs"]) == PACKAGES
    for folder in FOLDERS:
        for package in folder.glob("eunoe*/__init__.py"):
            assert (package.parent / "py.typed").is_file(), package


def test_the_extra_all_has_every_extra():
    extras = PROJECT["project"]["optional-dependencies"]
    [everything] = extras["all"]
    assert sorted(everything[len("eunoe[") : -1].split(",")) == sorted(set(extras) - {"all"})


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [path for name in run.stdout.splitlines() if (path := REPOSITORY / name).is_file()]


def test_no_file_names_a_package_host_or_a_place_of_ours():
    words = [f"{host}.org" for host in ("pypi", "pythonhosted", "npmjs", "deb.debian", "conda")]
    words += ["/".join(["", "work", ""]), "/".join(["", "root", ""]), "index" + "-url"]
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{named(path)}: {word}" for word in words if word in text]
    allowed = {"Makefile: index" + "-url"}  # the option that keeps hosts out of the pins
    assert set(found) - allowed == set()


def build_wheel(source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    [wheel] = target.glob("*.whl")
    return wheel


@pytest.mark.slow
def test_the_wheel_is_the_packages_and_the_same_from_every_clone(tmp_path: Path):
    clone = tmp_path / "clone"
    for path in tracked_files():
        copy = clone / path.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    here, there = build_wheel(REPOSITORY, tmp_path / "a"), build_wheel(clone, tmp_path / "b")
    assert here.name == there.name
    assert here.read_bytes() == there.read_bytes()

    inside = {name for name in zipfile.ZipFile(here).namelist() if ".dist-info/" not in name}
    expected = {
        str(path.relative_to(folder))
        for folder in FOLDERS
        for package in PACKAGES
        for path in tracked_files()
        if path.is_relative_to(folder / package)
    }
    assert inside == expected


def test_every_mutant_finds_its_line_and_its_tests():
    lines = {m.module: (REPOSITORY / "core/eunoe" / f"{m.module}.py").read_text() for m in MUTANTS}
    assert [m.breaks for m in MUTANTS if lines[m.module].count(m.old) != 1] == []
    assert {m.name for m in MUTANTS} <= set(TABLES)
    assert [t for tests in TABLES.values() for t in tests if not (REPOSITORY / t).exists()] == []
