from eunoe.stages.scoring.word_tables import WORD_MONTHS, WORD_STOPS


def test_every_month_has_a_number():
    assert set(WORD_MONTHS.values()) == set(range(1, 13))
    assert WORD_MONTHS["march"] == 3
    assert WORD_MONTHS["декабря"] == 12


def test_stop_words_are_folded():
    assert {"en", "de", "fr", "es", "pt", "it", "ru"} <= set(WORD_STOPS)
    for words in WORD_STOPS.values():
        assert words == words.lower()
