"""Names by a real pipeline of spaCy: a blank one with a ruler, since models are not on an index."""

from __future__ import annotations

import builtins
import subprocess
import sys
import threading

import pytest

from eunoe import BackendError, ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe_backends import SpacyExtractor

PATTERNS = [
    {"label": "ORG", "pattern": [{"LOWER": "payments"}, {"LOWER": "api"}]},
    {"label": "GPE", "pattern": "Kiel"},
    {"label": "DATE", "pattern": "Monday"},
]


@pytest.fixture(scope="module")
def spacy():
    return pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'eunoe[spacy]'")


def ruled(spacy, patterns=PATTERNS, language="en"):
    """A blank pipeline that knows some names."""
    pipeline = spacy.blank(language)
    pipeline.add_pipe("entity_ruler").add_patterns(patterns)
    return pipeline


@pytest.fixture(scope="module")
def pipeline(spacy):
    return ruled(spacy)


def test_entities_are_found_as_they_are_written(pipeline):
    texts = ["The payments API moved to Kiel.", "", "nothing here", "PAYMENTS API on Monday"]
    expected = [["payments API", "Kiel"], [], [], ["PAYMENTS API"]]
    assert SpacyExtractor(pipeline).extract(texts) == expected
    assert SpacyExtractor(pipeline).extract([]) == []


def test_numbers_and_times_are_no_names_unless_asked(pipeline):
    assert SpacyExtractor(pipeline).extract(["see Kiel on Monday"]) == [["Kiel"]]
    everything = SpacyExtractor(pipeline, skip_labels=())
    assert everything.extract(["see Kiel on Monday"]) == [["Kiel", "Monday"]]
    assert everything.name != SpacyExtractor(pipeline).name


def test_any_text_can_be_read(pipeline):
    extractor = SpacyExtractor(pipeline)
    texts = ["\ud800 Kiel", "\x00", "猫が寝た", "🙂 Kiel", " \n ", "Kiel " * 3]
    assert list(map(len, extractor.extract(texts))) == [1, 0, 0, 1, 0, 3]


def test_of_a_text_beyond_the_bound_of_the_pipeline_the_head_is_read(spacy):
    pipeline = ruled(spacy)
    pipeline.max_length = 20
    assert SpacyExtractor(pipeline).extract(["Kiel " + "x " * 50 + "Kiel"]) == [["Kiel"]]


def test_a_pipeline_without_entities_finds_none(spacy):
    assert SpacyExtractor(spacy.blank("xx")).extract(["Kiel"]) == [[]]


def test_pipelines_are_told_apart_by_name(spacy, pipeline):
    names = [SpacyExtractor(p).name for p in (pipeline, ruled(spacy), pipeline)]
    assert names[0] == names[2] != names[1]


def test_threads_may_share_it(pipeline):
    extractor, found = SpacyExtractor(pipeline), []
    work = lambda: found.append(extractor.extract(["Kiel and the payments api"] * 40))  # noqa: E731
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[["Kiel", "payments api"]] * 40] * 6


def test_a_pipeline_by_its_name(spacy, tmp_path):
    ruled(spacy).to_disk(tmp_path / "ours")
    extractor = SpacyExtractor(str(tmp_path / "ours"))
    assert extractor.extract(["to Kiel"]) == [["Kiel"]]
    assert str(tmp_path / "ours") in extractor.name


def test_a_missing_pipeline_is_named(spacy):
    with pytest.raises(BackendError, match="python -m spacy download no_such_pipeline"):
        SpacyExtractor("no_such_pipeline")


def test_without_spacy_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "spacy":
            raise ImportError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(BackendError, match=r"pip install 'eunoe\[spacy\]'"):
        SpacyExtractor("en_core_web_sm")


def test_spacy_is_only_imported_when_it_is_used():
    code = "import eunoe_backends, sys; sys.exit('spacy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.returncode == 0


@pytest.mark.parametrize("value", [None, 7, object(), SpacyExtractor])
def test_what_is_no_pipeline_is_refused(value):
    with pytest.raises(SettingsError, match="a loaded spaCy pipeline"):
        SpacyExtractor(value)


def test_it_tells_what_it_stands_for(pipeline):
    """The answer is far back; what "it" is was named in small letters in the last turn."""
    texts = ["the payments api wants the login kilo-7", "ok"]
    texts += [t for i in range(8) for t in (f"the app {i} wants the login {i}", "ok")]
    texts += [t for i in range(12) for t in (f"item {i} wants sand" + " lorem" * 25, "dolor" * 25)]
    texts += ["please test the payments api", "it passed", "which login does it want?"]
    chat = Conversation.from_openai_messages(
        [{"role": "assistant" if i % 2 else "user", "content": t} for i, t in enumerate(texts)]
    )

    def score(extractor):
        by = ContextOrchestrator(
            TokenBudget(500),
            memory=PipelineMemory(),
            entity_extractor=extractor,
            structure_timeout=30,
        )
        return by.process_sync(chat, policy="relevance").report.decisions[0].score

    assert score(SpacyExtractor(pipeline)) > 1.5 * score(None)
