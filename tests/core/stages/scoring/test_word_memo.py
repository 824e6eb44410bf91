from eunoe.stages.scoring.word_memo import WORD_LONGEST, WordMemo


def memo_of(most_bytes):
    made = []

    def make(word):
        made.append(word)
        return (word,), 0, word

    return WordMemo(make, most_bytes), made


def test_an_entry_is_made_once():
    memo, made = memo_of(10_000)
    assert memo["may"] is memo["may"]
    assert memo["dog"][2] == "dog"
    assert made == ["may", "dog"]


def test_the_memo_is_bounded_and_forgets_the_oldest():
    memo, made = memo_of(10_000)
    for number in range(1_000):
        assert memo[f"w{number}"][2] == f"w{number}"
        assert memo["always"][0] == ("always",)
    assert len(memo) < 24
    assert made.count("always") < 100
    memo["w999"]
    memo["w0"]
    assert made.count("w999") == 1
    assert made.count("w0") == 2


def test_very_long_words_are_not_kept():
    memo, made = memo_of(10_000)
    word = "x" * (WORD_LONGEST + 1)
    assert memo[word][2] == memo[word][2] == word
    assert made == [word, word]


def test_numbered_words_are_not_kept():
    memo, made = memo_of(10_000)
    assert memo["ticket-4711"][2] == memo["ticket-4711"][2] == "ticket-4711"
    assert memo["4711"] is memo["4711"]
    assert memo["well-known"] is memo["well-known"]
    assert memo["2031-05-07"] is memo["2031-05-07"]
    assert made == ["ticket-4711", "ticket-4711", "4711", "well-known", "2031-05-07"]
