from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe import Placement
from eunoe_proxy.body import read_chat_body

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), min_size=1, max_size=4)
BLANKS = st.sampled_from(["", " ", "\n", "\t \r\n"])


@pytest.mark.property
@given(fields=st.dictionaries(st.text(), VALUES, max_size=3), messages=MESSAGES, blank=BLANKS)
def test_what_is_read_is_what_json_reads_and_is_written_as_it_came(fields, messages, blank):
    fields.pop("messages", None)
    whole = {**fields, "messages": messages, "last": 1}
    separators = (f"{blank},{blank}", f"{blank}:{blank}")
    text = f"{blank}{json.dumps(whole, separators=separators)}{blank}"
    body = read_chat_body(text.encode())
    assert body is not None
    assert repr(dict(body.values)) == repr(json.loads(text))
    assert [repr(json.loads(piece)) for piece in body.pieces] == [repr(m) for m in messages]
    kept = [Placement(index=i, message=m) for i, m in enumerate(messages)]
    assert body.written(None) == body.written(kept) == text.encode()
    fewer = json.loads(body.written(kept[1:]))
    assert repr(fewer) == repr({**json.loads(text), "messages": json.loads(text)["messages"][1:]})


@given(text=st.text(alphabet='{}[]",: \nam1\\', max_size=40))
def test_nothing_that_json_refuses_is_read(text):
    for whole in (text, f'{{"messages":{text}}}', f'{{"messages":[{{}}]{text}'):
        body = read_chat_body(whole.encode())
        if body is not None:
            assert json.loads(whole)["messages"] == body.messages


def test_a_new_message_is_written_as_json():
    body = read_chat_body(b'{"messages": [{"role": "user", "content": "a"}], "n": 1}')
    assert body is not None
    new = Placement(index=None, message={"role": "user", "content": 'é"\n'})
    half = Placement(index=0, message={"content": "\ud800"}, changed=True)
    assert body.written([new]).decode() == (
        '{"messages": [{"role":"user","content":"é\\"\\n"}], "n": 1}'
    )
    assert body.written([half]) == b'{"messages": [{"content":"\\ud800"}], "n": 1}'


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (' ,"stream":true }', ',"stream":true,"stream_options":{"include_usage":true}}'),
        (',"stream":false}', ',"stream":false}'),
        (',"stream":true,"stream_options":null}', ',"stream":true,"stream_options":null}'),
    ],
)
def test_usage_is_asked_for_once(more, expected):
    body = read_chat_body(b'{"messages":[{}]' + more.encode())
    assert body is not None
    assert body.written(None, ask_usage=True).decode().replace(" ", "") == (
        '{"messages":[{}]' + expected
    )
