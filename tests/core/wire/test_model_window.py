from __future__ import annotations

from typing import Any

import pytest

from eunoe.wire.model_window import find_window, input_room, output_reserve_of


@pytest.mark.parametrize(
    ("body", "model", "base", "expected"),
    [
        ({}, {}, {}, 0),
        ({"num_ctx": "4096"}, {"max_model_len": 8192}, {}, 4096),
        ({"options": {"num_ctx": 2048}}, {"max_model_len": 8192}, {}, 2048),
        ({"options": None, "num_ctx": "much"}, {"max_model_len": 8192}, {}, 8192),
        ({}, {"openai": {"max_model_len": 32768}}, {}, 32768),
        ({}, {"context_length": 131072}, {}, 131072),
        ({}, {"meta": {"n_ctx_train": 40960}}, {}, 40960),
        ({}, {"meta": "?", "openai": {"meta": {"n_ctx": 512, "n_ctx_train": 9}}}, {}, 512),
        ({}, {"max_context_length": 9000, "loaded_context_length": 4000}, {}, 4000),
        ({}, {"info": {"params": {"num_ctx": 3000}}, "max_model_len": 9}, {}, 3000),
        ({}, {"id": "tutor", "info": {"params": {}}}, {"max_model_len": 16000}, 16000),
        ({"model": "tutor"}, {"id": "tutor"}, {"id": "gpt-4o-mini"}, 128_000),
        ({"model": "openai/gpt-4.1-nano"}, {}, {}, 1_047_576),
        ({"model": "gpt-4"}, {"max_model_len": True}, {}, 8192),
        ({"model": "openai/o1-mini"}, {}, {}, 128_000),
        ({"model": "o1"}, {}, {}, 200_000),
        ({"model": "gpt-5-chat-latest"}, {}, {}, 128_000),
        ({"model": "deepseek-r1:8b"}, {"owned_by": "ollama"}, {}, 4096),
        ({"num_ctx": 16000}, {"owned_by": "ollama"}, {}, 16000),
        ({"model": "deepseek-r1-distill-qwen-7b"}, {"owned_by": "openai"}, {}, 0),
        ({"model": "some-new-model"}, {"max_model_len": -1}, {}, 0),
    ],
)
def test_window(body: Any, model: Any, base: Any, expected: int) -> None:
    assert find_window(body, model, base) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, 0),
        ({"max_tokens": 900}, 900),
        ({"max_tokens": 900, "max_completion_tokens": 700}, 700),
        ({"options": {"num_predict": 300}}, 300),
        ({"options": {"num_predict": -1}, "max_tokens": None}, 0),
    ],
)
def test_output_reserve(body: Any, expected: int) -> None:
    assert output_reserve_of(body) == expected


@pytest.mark.parametrize(
    ("caps", "window", "share", "reserve", "room"),
    [
        pytest.param((0, 0), 0, 0.9, 500, 0, id="no limit"),
        pytest.param((1000, 0), 0, 0.9, 0, 1000, id="a cap"),
        pytest.param((1000, 800), 0, 0.9, 0, 800, id="the smaller cap"),
        pytest.param((1000, 0), 0, 0.9, 300, 700, id="less the answer"),
        pytest.param((1000, 0), 0, 0.9, 5000, 500, id="of which half stays"),
        pytest.param((0, 0), 4000, 0.9, 0, 3600, id="a share of the window"),
        pytest.param((0, 0), 4000, 0.9, 1000, 3000, id="or what the answer leaves"),
        pytest.param((2000, 0), 4000, 0.29, 0, 1160, id="the share below the cap"),
        pytest.param((1, 0), 0, 0.9, 1, 1, id="never nothing"),
    ],
)
def test_room_for_the_input(caps: Any, window: int, share: float, reserve: int, room: int) -> None:
    assert input_room(caps, window, share, reserve) == room
