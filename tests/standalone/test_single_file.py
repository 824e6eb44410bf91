"""The committed single file: fresh, taken by the host, and alone in the world."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from make_filter import TARGET, main, make_filter
from plugin_host import load_plugin, plugin_class, read_front_matter, rewrite_imports


@pytest.fixture(scope="module")
def text() -> str:
    return TARGET.read_text(encoding="utf-8")


def test_the_file_is_what_the_sources_make():
    assert main(["--check"]) == 0, "run `make filter`"


def test_check_refuses_a_file_that_somebody_edited(tmp_path: Path, capsys: pytest.CaptureFixture):
    edited = tmp_path / "edited.py"
    made = make_filter().encode()
    edited.write_bytes(made + b"# mine\n")
    assert main(["--check", "--output", str(edited)]) == 1
    assert "make filter" in capsys.readouterr().err
    assert main(["--output", str(edited)]) == 0
    assert edited.read_bytes() == made


def test_the_front_matter_is_read(text: str, repository: Path):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    manifest = read_front_matter(text)
    assert manifest["version"] == project["version"]
    assert manifest["description"] == project["description"]
    assert "requirements" not in manifest  # the host would run pip, and switch us off if it fails


def test_the_host_leaves_the_text_as_it_is(text: str):
    assert rewrite_imports(text) == text


@pytest.mark.parametrize("lazy", [True, False], ids=["newer host", "older host"])
def test_the_host_finds_a_filter_with_valves(text: str, lazy: bool):
    kind, found = plugin_class(load_plugin(text, lazy_annotations=lazy))
    assert kind == "filter"
    assert found().valves == found.Valves()
    assert found.Valves.model_json_schema()["properties"]


def requirements_of(names: list[str]) -> set[str]:
    """Return distributions with all that they need here."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            needed = map(Requirement, importlib.metadata.requires(name) or [])
            names += [r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


def link_distributions(names: list[str], folder: Path) -> None:
    """Make a site folder with these distributions, what they need, and nothing else."""
    for name in requirements_of(names):
        for file in importlib.metadata.files(name) or []:
            link = folder / file.parts[0]
            if file.parts[0] != ".." and not link.exists():
                depth = len(file.parts) - 1
                path = Path(file.locate())
                link.symlink_to(path.parents[depth - 1] if depth else path)


ALONE = """
import sys, time, types, json
sys.path.append(sys.argv[1])
import numpy, pydantic
text = open(sys.argv[2], encoding="utf-8").read()
module = types.ModuleType("function_alone")
sys.modules["function_alone"] = module
before = time.process_time()
exec(compile(text, "<string>", "exec"), module.__dict__)
seconds = time.process_time() - before
module.Filter()
ours = sorted(name for name in sys.modules if name.split(".")[0].startswith("eunoe"))
print(json.dumps({"seconds": seconds, "ours": ours}))
"""


@pytest.mark.parametrize("extra", [[], ["tiktoken"]], ids=["without tiktoken", "with tiktoken"])
def test_it_loads_where_only_numpy_and_pydantic_are(
    tmp_path: Path, text: str, extra: list[str], record_property
):
    link_distributions(["numpy", "pydantic", *extra], tmp_path)
    command = [sys.executable, "-I", "-S", "-c", ALONE, str(tmp_path), str(TARGET)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["ours"] == []
    record_property("import_cpu_seconds", result["seconds"])
    print(f"import of the single file: {result['seconds']:.3f} s CPU, aim 0.5 s")
