"""Topics cover the chat once, in order, in any script."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eunoe_backends.label_topics import find_topics


@given(texts=st.lists(st.text(max_size=30), max_size=120), most=st.integers(1, 10))
def test_topics_cover_every_message_once(texts, most):
    topics = find_topics(texts, most)
    assert len(topics) <= most
    assert [i for t in topics for i in range(t.start, t.stop)] == list(range(len(texts)))


def test_a_change_of_subject_begins_a_topic_in_any_script():
    for first, second in (
        ("We plant tomatoes in the garden", "Install the python package and compile"),
        ("我们在花园里种西红柿", "安装软件包并编译程序"),
    ):
        topics = find_topics([first] * 10 + [second] * 10, 20)
        assert [(t.start, t.stop) for t in topics] == [(0, 10), (10, 20)]
        assert set(topics[0].terms).isdisjoint(topics[1].terms)
        assert topics[1].opening.startswith(second[:5])
