from hypothesis import given
from hypothesis import strategies as st

from eunoe.pipeline.chat.opinion_memory import OpinionMemory

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=80)


@given(steps=steps, bound=st.integers(1, 20))
def test_it_is_bounded_and_never_wrong(steps, bound):
    memory: OpinionMemory[int] = OpinionMemory(bound)
    put = set()
    for write, key in steps:
        if write:
            memory.put(key, key * key, 1)
            put.add(key)
        found = memory.get(key)
        assert found is None or (key in put and found == key * key)
        assert len(memory._young) + len(memory._old) <= bound + 2


@given(steps=steps)
def test_many_at_once_are_what_they_are_one_by_one(steps):
    memory: OpinionMemory[int] = OpinionMemory(8)
    for write, key in steps:
        if write:
            memory.put(key, key * key, 1)
        keys = [key, key + 1, key]
        assert memory.get_all(keys) == [memory.get(k) for k in keys]


def test_what_is_used_stays():
    memory: OpinionMemory[int] = OpinionMemory(8)
    memory.put("used", 1, 1)
    for key in range(100):
        memory.put(key, key, 1)
        assert memory.get("used") == 1
    memory.put("used", 2, 1)
    assert memory.get("used") == 1
    assert memory.get(0) is None
