"""The command itself: help, exit codes, stopping."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from eunoe_cli import compare
from eunoe_cli.arguments import PROVIDERS
from eunoe_cli.explain import POLICIES
from eunoe_cli.registry import SUBCOMMANDS
from eunoe_web.serving import listening_socket


def run_python(repository, *arguments, **more):
    path = os.pathsep.join(str(repository / folder) for folder in ("core", "adapters"))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def test_help_loads_nothing_heavy(repository):
    code = (
        "import sys; from eunoe_cli.__main__ import make_parser; make_parser(None).format_help();"
        "print([m for m in ('numpy', 'eunoe', 'pydantic') if m in sys.modules])"
    )
    assert run_python(repository, "-c", code).stdout.strip() == "[]"


@pytest.mark.parametrize("command", [entry.name for entry in SUBCOMMANDS])
def test_each_command_explains_itself(eunoe, command):
    code, out, _ = eunoe(command, "--help")
    assert code == 0
    assert f"usage: eunoe {command}" in out


def test_help_names_every_command(eunoe):
    code, out, _ = eunoe()
    assert code == 2
    assert all(entry.summary in out for entry in SUBCOMMANDS)


def test_version(eunoe):
    assert eunoe("--version")[1].startswith("eunoe ")


@pytest.mark.parametrize("command", ["proxy", "observe"])
@pytest.mark.parametrize("port", ["99999", "65536", "-1", "http", "1.5", "", "9" * 30, "８０"])
def test_a_port_is_a_port(eunoe, command, port):
    code, out, err = eunoe(command, f"--port={port}")
    assert (code, out) == (2, "")
    assert "no port; write a number from 0 to 65535" in err


@pytest.mark.parametrize("port", [65_536, -1])
def test_a_port_that_no_machine_has_cannot_be_had(port):
    with pytest.raises(OSError, match="allowed: 0 to 65535"):
        listening_socket("127.0.0.1", port)


def test_a_bad_file_ends_with_two(eunoe, tmp_path):
    code, out, err = eunoe("lint", str(tmp_path / "none.json"))
    assert (code, out) == (2, "")
    assert err.startswith("eunoe lint: ")
    assert "Traceback" not in err


def test_a_stop_is_quiet(eunoe, write, chat, monkeypatch):
    def stop(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "run", stop)
    assert eunoe("compare", write(chat)) == (130, "", "\nstopped\n")


def test_a_reader_that_leaves_is_no_error(repository, write, chat):
    path = write(chat)
    script = f"'{sys.executable}' -m eunoe_cli explain '{path}' --all | true"
    done = run_python(repository, "-c", f"import os; os.system({script!r})")
    assert "Traceback" not in done.stderr


def test_an_output_that_cannot_be_written_ends_with_two(eunoe, tmp_path):
    code, _, err = eunoe("filter", "--short", "-o", str(tmp_path / "no" / "f.py"))
    assert code == 2
    assert "No such file" in err


def test_names_of_choices_are_those_of_the_core():
    from eunoe import PROFILES
    from eunoe.domain.settings import POLICY_NAMES

    assert tuple(PROFILES) == PROVIDERS
    assert sorted(POLICIES) == sorted(POLICY_NAMES)
