"""The function for Open WebUI, printed and written."""

from __future__ import annotations

from eunoe_cli import filter as filter_command
from plugin_host import load_plugin


def test_it_prints_the_committed_file(eunoe, repository):
    text = (repository / "standalone" / "eunoe_filter.py").read_text(encoding="utf-8")
    code, out, _ = eunoe("filter")
    assert code == 0
    assert out == text


def test_it_writes_a_file(eunoe, repository, tmp_path):
    target = tmp_path / "f.py"
    code, out, _ = eunoe("filter", "-o", str(target))
    assert code == 0
    assert "paste it" in out
    assert target.read_bytes() == (repository / "standalone" / "eunoe_filter.py").read_bytes()


def test_the_short_one_loads_as_the_host_loads_it(eunoe):
    _, out, _ = eunoe("filter", "--short")
    assert hasattr(load_plugin(out), "Filter")


def test_the_short_one_is_the_example(eunoe, repository):
    example = (repository / "examples" / "openwebui_function.py").read_text(encoding="utf-8")
    assert eunoe("filter", "--short")[1] == example.replace("  # noqa: F401", "")


def test_it_is_found_in_the_clone_that_one_stands_in(repository, monkeypatch, tmp_path):
    somewhere = tmp_path / "lib" / "site-packages" / "eunoe_cli" / "filter.py"
    monkeypatch.setattr(filter_command, "__file__", str(somewhere))
    monkeypatch.chdir(tmp_path)
    assert filter_command.find_single_file() is None
    monkeypatch.chdir(repository)
    assert filter_command.find_single_file() == repository / "standalone" / "eunoe_filter.py"


def test_without_the_file_it_says_where_it_is(eunoe, monkeypatch):
    monkeypatch.setattr(filter_command, "find_single_file", lambda: None)
    code, out, err = eunoe("filter")
    assert (code, out) == (2, "")
    assert "standalone/eunoe_filter.py" in err
