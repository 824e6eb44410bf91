"""Every snippet, table and link of the README is true."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from eunoe import PROFILES
from eunoe.domain.flag import FLAG_NAMES
from eunoe.domain.settings import POLICY_NAMES
from eunoe.stages.counting.tokenizer import find_tokenizer
from eunoe.stages.flags import read_flags
from eunoe_cli.__main__ import main
from model_server import running_server

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "core/README.md", "standalone/README.md")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [
    line.removeprefix("$ ")
    for language, code in BLOCKS
    if language == "console"
    for line in code.splitlines()
    if line.startswith("$ ")
]
SHELL = [
    line.partition("#")[0].strip()
    for language, code in BLOCKS
    if language == "sh"
    for line in code.splitlines()
]


def part(name: str) -> str:
    end = "figures" if name.startswith("figures:") else name
    found = re.search(f"<!-- {name} -->\n(.*?)<!-- /{end} -->", README, re.DOTALL)
    assert found, name
    return found[1].strip("\n")


PATHS = os.pathsep.join(str(REPOSITORY / x) for x in ("core", "adapters", "examples"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATHS}
PROXY_PORT = "8787"
OBSERVER_PORT = "8788"


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=REPOSITORY,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def proxy_of_the_readme() -> Iterator[str]:
    """Runs the command of the README, at a free port and before a server that answers."""
    pytest.importorskip("uvicorn")
    [line] = [line for line in COMMANDS if line.startswith("eunoe proxy ")]
    arguments = shlex.split(line)[1:]
    answer = {
        "id": "a",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hello."},
            }
        ],
    }
    with running_server() as behind:
        behind.headers = {"Content-Type": "application/json"}
        behind.answer = json.dumps(answer)
        arguments[arguments.index("--upstream") + 1] = behind.url
        command = [sys.executable, "-m", "eunoe_cli", *arguments, "--port", "0"]
        with subprocess.Popen(
            command, cwd=REPOSITORY, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline().split()[2].split(":")[2].split("/")[0]
            finally:
                process.terminate()
            assert process.wait(30) == 0


@contextmanager
def observer_of_the_readme() -> Iterator[str]:
    """Runs the command of the README at a free port."""
    pytest.importorskip("uvicorn")
    [line] = [line for line in COMMANDS if line.startswith("eunoe observe")]
    command = [sys.executable, "-m", "eunoe_cli", *shlex.split(line)[1:], "--port", "0"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[2].split(":")[2]
        finally:
            process.terminate()
        assert process.wait(30) == 0


def test_there_are_snippets_of_every_kind():
    assert len(PYTHON) >= 3
    assert len(COMMANDS) >= 4
    assert len(SHELL) >= 5
    assert {language for language, _ in BLOCKS} == {"python", "console", "sh"}


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.strip().splitlines()[-1][:30])
def test_python_snippets_run(code: str):
    if "langchain" in code:
        pytest.importorskip("langchain_core")
    if PROXY_PORT in code:
        pytest.importorskip("openai")
        with proxy_of_the_readme() as port:
            done = run_python(code.replace(PROXY_PORT, port))
    elif OBSERVER_PORT in code:
        with observer_of_the_readme() as port:
            done = run_python(code.replace(OBSERVER_PORT, port))
            told = json.load(urlopen(f"http://127.0.0.1:{port}/events"))
        assert [row["session"] for row in told["events"]] == ["a greeting"]
    else:
        done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(line: str, monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)
    name, *arguments = shlex.split(line)
    assert name == "eunoe"
    if arguments[0] == "proxy":  # it serves until it is stopped
        with proxy_of_the_readme() as port:
            assert urlopen(f"http://127.0.0.1:{port}/health").status == 200
        return
    if arguments[0] == "observe":
        with observer_of_the_readme() as port:
            assert urlopen(f"http://127.0.0.1:{port}/").status == 200
        return
    assert main(arguments) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("line", SHELL)
def test_shell_lines_name_what_is_there(line: str):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if line.startswith("make "):
        makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        assert re.search(f"^{line.split()[1]}:", makefile, re.MULTILINE)
    for extras in re.findall(r"\.\[([\w,]+)\]", line):
        assert set(extras.split(",")) <= set(project["optional-dependencies"])
    for file in re.findall(r"examples/\S+", line):
        assert (REPOSITORY / file).is_file()
    for file in re.findall(r"tests/\S+", line):
        assert (REPOSITORY / file).is_file()
    assert line.startswith(("make ", "pip install ", "python3 -m venv ", ".venv/bin/"))


def test_every_flag_is_in_the_table_and_every_example_is_read():
    rows = re.findall(r"^\| `(!([a-z_]+)[^`]*)` \|", README, re.MULTILINE)
    assert sorted(name for _, name in rows) == sorted(FLAG_NAMES)
    for example, _ in rows:
        reading = read_flags(f"{example} text")
        assert reading is not None
        assert (reading.problems, reading.rest) == ((), "text")
    assert read_flags("!important: text") is None
    assert read_flags("![picture](x)") is None
    assert read_flags("!!pin text") is None


def test_every_policy_and_profile_is_named():
    rows = re.findall(r"^\| `([a-z]+)`(?: \(default\))? \|", README, re.MULTILINE)
    assert set(POLICY_NAMES) <= set(rows)
    assert all(f"`{name}`" in README for name in PROFILES)


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_are_there(page: str):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    home = (REPOSITORY / page).parent
    links = re.findall(r"\]\(([^)#\s]+)", re.sub(r"`[^`\n]*`", "", text))
    assert [link for link in links if "://" not in link and not (home / link).exists()] == []


def test_the_settings_table_is_made_from_the_code():
    assert run_python("import update_readme as u; print(u.settings_table())").stdout.strip(
        "\n"
    ) == part("settings"), "run: python examples/update_readme.py"


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("langchain_core") is None or not find_tokenizer("o200k").exact,
    reason="the figures were made with langchain-core and an exact tokenizer",
)
@pytest.mark.parametrize("name", ["compare", "facts"])
def test_the_figures_are_what_the_scripts_give(name: str):
    done = run_python(f"import update_readme as u; print(u.{name}_table())")
    assert done.stdout.strip("\n") == part(f"figures:{name}"), (
        "run: python examples/update_readme.py"
    )
