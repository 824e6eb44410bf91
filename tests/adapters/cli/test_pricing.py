"""What models cost, and what a request may, as options of the command."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest

from eunoe_cli.pricing import dollars, kept_prices_file

OWN = {"models": {"mine": {"input": 10, "output": 40}}, "aliases": {"chef": "mine"}}


def cost_line(out: str) -> str:
    [line] = [x for x in out.splitlines() if x.startswith("cost: ")]
    return line


def test_explain_tells_what_a_request_costs(eunoe: Any, write: Any, chat: Any) -> None:
    path = write(chat)
    code, out, err = eunoe("explain", path, "--budget", "400", "--model", "gpt-4o")
    assert (code, err) == (0, "")
    assert cost_line(out).startswith("cost: ≈$0.00")
    assert "untouched ≈$0.00" in cost_line(out)
    assert "no price known" in cost_line(eunoe("explain", path, "--budget", "400")[1])
    _, out, _ = eunoe("explain", path, "--budget", "400", "--model", "gpt-4o", "--json")
    told = json.loads(out)["report"]
    assert told["cost"]["sent"]["prompt"] == told["tokens_after"]
    assert 0 < told["cost"]["sent"]["usd"] < told["cost"]["untouched"]["usd"]
    assert told["cost"]["measured"] is False


@pytest.mark.parametrize("model", ["mine", "chef"])
def test_own_prices_and_a_cap(eunoe: Any, write: Any, chat: Any, model: str) -> None:
    path, own = write(chat), write(OWN, "own.json")
    given = ("explain", path, "--budget", "4000", "--model", model, "--prices", own)
    _, out, _ = eunoe(*given, "--max-cost", "0.003")
    assert "of 300 allowed" in out
    assert " of $0.0030 allowed for " in cost_line(out)
    assert "of 4,000 allowed" in eunoe(*given)[1]
    unknown = eunoe("explain", path, "--budget", "4000", "--max-cost", "0.003")[1]
    assert "of 4,000 allowed" in unknown
    assert "money sets no limit" in unknown


def test_a_file_without_prices_is_wrong_use(eunoe: Any, write: Any, chat: Any) -> None:
    for own in ("no json", {"models": {"m": {"input": -1, "output": 1}}}):
        code, out, err = eunoe("explain", write(chat), "--prices", write(own, "own.json"))
        assert (code, out) == (2, "")
        assert "allowed" in err


def test_live_prices_are_kept_and_offline_the_list_serves(
    eunoe: Any, write: Any, chat: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fetched = []
    answer: Any = ValueError("offline")

    def fetch(prices: Any) -> Any:
        from eunoe import BackendError

        fetched.append(1)
        if isinstance(answer, Exception):
            raise BackendError("offline")
        return answer

    monkeypatch.setattr("eunoe_backends.price_sources.OpenRouterPrices._fetch", fetch)
    given = ("explain", write(chat), "--model", "gpt-4o", "--live-prices")
    listed = cost_line(eunoe(*given[:-1])[1])
    code, out, err = eunoe(*given)
    assert code == 0
    assert "no live prices: the listed ones count" in err
    assert cost_line(out) == listed
    price = {"prompt": "0.001", "completion": "0.002"}
    answer = {"data": [{"id": "openai/gpt-4o", "pricing": price}]}
    for _ in range(3):
        _, out, err = eunoe(*given)
        assert "no live prices" not in err
        assert cost_line(out) != listed
    assert len(fetched) == 2  # for a day the kept ones serve
    assert kept_prices_file().is_file()


@pytest.mark.parametrize(
    ("text", "value"), [("0.01", 0.01), ("$2", 2.0), (" .5 ", 0.5), ("1e-5", 1e-5)]
)
def test_sums(text: str, value: float) -> None:
    assert dollars(text) == value


@pytest.mark.parametrize("text", ["0", "-1", "", "much", "nan", "inf", "1 cent"])
def test_what_is_no_sum(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"write 0\.01"):
        dollars(text)
