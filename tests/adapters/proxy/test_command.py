from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import threading
from pathlib import Path

import httpx
import pytest

from eunoe_cli.__main__ import main
from eunoe_cli.proxy import add_arguments, make_app
from eunoe_web.serving import listening_socket
from proxied import DONE, delta, talk

REPOSITORY = Path(__file__).resolve().parents[3]


def test_it_serves_and_sigterm_ends_it_cleanly(upstream, command, tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    process, url = command("--port", "0", "--max-tokens", "1500", "--ledger", str(ledger))
    body = {"model": "gpt-4o", "messages": talk(40)}
    answer = httpx.post(f"{url}/chat/completions", json=body, timeout=30)
    assert answer.status_code == 200
    assert answer.headers["x-eunoe-outcome"] == "fitted"
    process.send_signal(signal.SIGTERM)
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (0, "", "")
    [line] = ledger.read_text().splitlines()  # entered before it ended
    assert json.loads(line)["requests"] == 1


def test_a_running_answer_is_finished_at_sigterm(upstream, command):
    go_on = threading.Event()

    def pieces(body):
        yield delta("a")
        assert go_on.wait(10)
        yield DONE

    upstream.pieces = pieces
    process, url = command("--port", "0")
    body = {"model": "m", "stream": True, "messages": talk(1)}
    with httpx.stream("POST", f"{url}/chat/completions", json=body, timeout=30) as answer:
        parts = answer.iter_raw()
        assert next(parts) == delta("a")
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        go_on.set()
        assert b"".join(parts) == DONE
    _, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (0, "")


def test_an_answer_without_an_end_ends_after_the_grace(upstream, command):
    ended = threading.Event()

    def pieces(body):
        while not ended.wait(0.05):
            yield delta("more")

    upstream.pieces = pieces
    process, url = command("--port", "0", "--grace", "1")
    body = {"model": "m", "stream": True, "messages": talk(1)}
    with httpx.stream("POST", f"{url}/chat/completions", json=body, timeout=30) as answer:
        next(answer.iter_raw())
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert process.returncode == 0
    ended.set()


def test_pieces_of_an_answer_do_not_wait_for_each_other():
    with listening_socket("127.0.0.1", 0) as listening:
        caller = socket.create_connection(listening.getsockname())
        taken, _ = listening.accept()
        with caller, taken:
            # asyncio switches Nagle's algorithm off for this protocol alone
            assert taken.proto == socket.IPPROTO_TCP


def test_a_taken_address_is_said(capsys):
    pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["proxy", "--upstream", "http://127.0.0.1:1/", "--port", port]) == 2
    told = capsys.readouterr().err
    assert "eunoe proxy: " in told
    assert "ends without /v1" in told


def test_a_wrong_address_is_said(capsys):
    assert main(["proxy", "--upstream", "localhost:11434"]) == 2
    assert "http://localhost:11434/v1" in capsys.readouterr().err


def test_openais_own_client_is_served(upstream, proxy):
    openai = pytest.importorskip("openai")
    upstream.pieces = lambda body: iter([delta("a"), delta("b"), DONE])
    upstream.answer = json.dumps(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
    )
    running = proxy(max_tokens=1500)
    with openai.OpenAI(base_url=f"{running.url}/v1", api_key="k", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=talk(40))
        assert raw.headers["x-eunoe-outcome"] == "fitted"
        assert raw.parse().id == "x"
        stream = client.chat.completions.create(model="m", messages=talk(1), stream=True)
        assert [chunk.choices[0].delta.content for chunk in stream] == ["a", "b"]
        upstream.statuses = [429]
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="m", messages=talk(1))


def test_the_options_for_prices_reach_the_settings(tmp_path):
    file = tmp_path / "prices.json"
    file.write_text('{"models": {"mine": {"input": 1, "output": 2}}}')
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    upstream = ["--upstream", "http://127.0.0.1:9/v1"]
    money = ["--prices", str(file), "--live-prices", "--max-cost", "$0.02"]
    settings = make_app(parser.parse_args([*upstream, *money])).settings
    assert (settings.price_file, settings.live_prices) == (str(file), True)
    assert settings.max_cost_usd == 0.02
    plain = make_app(parser.parse_args(upstream)).settings
    assert (plain.live_prices, plain.max_cost_usd) == (False, 0)
