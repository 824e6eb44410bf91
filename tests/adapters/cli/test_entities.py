"""`--entities`: names by a pipeline of spaCy in explain, compare and proxy."""

from __future__ import annotations

import argparse
import json

import pytest

from eunoe_backends import SpacyExtractor
from eunoe_cli import proxy
from model_server import running_server
from served import running_app

TEXTS = ["the payments api wants the login kilo-7", "ok"]
TEXTS += [t for i in range(8) for t in (f"the app {i} wants the login {i}", "ok")]
TEXTS += [t for i in range(12) for t in (f"item {i} wants sand" + " lorem" * 25, "dolor" * 25)]
TEXTS += ["please test the payments api", "it passed", "which login does it want?"]
CHAT = [{"role": "assistant" if i % 2 else "user", "content": t} for i, t in enumerate(TEXTS)]


@pytest.fixture
def pipeline(tmp_path):
    """The folder of a blank pipeline that knows one name in small letters."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    made = spacy.blank("en")
    known = [{"label": "ORG", "pattern": [{"LOWER": "payments"}, {"LOWER": "api"}]}]
    made.add_pipe("entity_ruler").add_patterns(known)
    made.to_disk(tmp_path / "names")
    return str(tmp_path / "names")


@pytest.fixture
def path(write):
    return write(CHAT)


def score_of_the_first(eunoe, path, *more):
    words = ("explain", path, "--json", "--budget", "500", "--policy", "relevance", *more)
    code, out, err = eunoe(*words)
    assert (code, err) == (0, "")
    return json.loads(out)["report"]["decisions"][0]["score"]


def test_explain_learns_what_it_stands_for(eunoe, path, pipeline):
    plain = score_of_the_first(eunoe, path)
    assert score_of_the_first(eunoe, path, "--entities", pipeline) > 1.5 * plain


@pytest.fixture
def asked(monkeypatch):
    """The texts that a pipeline is asked for."""
    texts = []
    known = SpacyExtractor.extract

    def extract(self, given):
        texts.extend(given)
        return known(self, given)

    monkeypatch.setattr(SpacyExtractor, "extract", extract)
    return texts


def test_compare_asks_for_names_too(eunoe, path, pipeline, asked):
    words = ("compare", path, "--json", "--budget", "500", "--policies", "stable,relevance")
    assert eunoe(*words)[0] == 0
    assert asked == []
    code, _, err = eunoe(*words, "--entities", pipeline)
    assert (code, err) == (0, "")
    assert any("payments api" in text for text in asked)


@pytest.mark.parametrize("command", ["explain", "compare"])
def test_a_pipeline_that_is_not_there_ends_with_two(eunoe, path, command):
    pytest.importorskip("spacy")
    code, out, err = eunoe(command, path, "--entities", "no_such_pipeline")
    assert (code, out) == (2, "")
    assert "python -m spacy download no_such_pipeline" in err


def test_the_proxy_takes_the_same_option(eunoe, pipeline, asked):
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    parser = argparse.ArgumentParser()
    proxy.add_arguments(parser)
    with running_server() as server:
        words = ["--upstream", server.url, "--max-tokens", "500", "--policy", "relevance"]
        for more, expected in (([], False), (["--entities", pipeline], True)):
            with running_app(proxy.make_app(parser.parse_args([*words, *more]))) as url:
                body = {"model": "m", "messages": CHAT}
                httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30, trust_env=False)
            assert any("payments api" in text for text in asked) == expected
    code, _, err = eunoe("proxy", *words, "--entities", "no_such_pipeline")
    assert code == 2
    assert "no_such_pipeline" in err
