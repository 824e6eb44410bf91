from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.dates import day_number, day_span, find_clock, find_dates, has_date


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("on 2024-05-03 at noon", ((2024, 5, 3),)),
        ("29.12.2023, 22:42", ((2023, 12, 29),)),
        ("13/05/2023", ((2023, 5, 13),)),
        ("05/13/2023", ((2023, 5, 13),)),
        ("1:56 pm on 8 May, 2023", ((2023, 5, 8),)),
        ("March-15-2024", ((2024, 3, 15),)),
        ("the 3rd of June", ((0, 6, 3),)),
        ("June 2023", ((2023, 6, 0),)),
        ("back in october", ((0, 10, 0),)),
        ("3. Mai 2024", ((2024, 5, 3),)),
        ("3 de enero de 2024", ((2024, 1, 3),)),
        ("2024年5月3日", ((2024, 5, 3),)),
        ("5月3日", ((0, 5, 3),)),
        ("3 мая 2024", ((2024, 5, 3),)),
        ("you may go", ()),
        ("room 1203", ()),
        ("2024-13-40", ((2024, 0, 0),)),
    ],
)
def test_dates_in_text(text, wanted):
    assert find_dates(text) == wanted


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("1:56 pm", 836), ("12:05 am", 5), ("22:42", 1362), ("noon", -1), ("29:00", -1)],
)
def test_clock(text, minutes):
    assert find_clock(text) == minutes


def test_spans_of_day_month_and_year():
    day = date(2023, 5, 8).toordinal()
    assert day_span((2023, 5, 8)) == (day, day)
    assert day_span((0, 5, 8), 2023) == (day, day)
    assert day_span((2023, 12, 0)) == (
        date(2023, 12, 1).toordinal(),
        date(2023, 12, 31).toordinal(),
    )
    assert day_span((2024, 0, 0))[1] - day_span((2024, 0, 0))[0] == 365
    assert day_span((0, 5, 8)) == (0, 0)
    assert day_span((2023, 2, 30)) == (0, 0)
    assert day_number((2023, 2, 30)) == 0


@pytest.mark.property
@given(st.text(alphabet="0123456789-/. :MayJune年月日 ", max_size=40))
def test_any_text_gives_possible_dates(text):
    for year, month, day in find_dates(text):
        assert 0 <= month <= 12
        assert 0 <= day <= 31
        assert year == 0 or 1900 <= year <= 2099


@pytest.mark.property
@given(
    st.lists(
        st.sampled_from(
            [
                "2024",
                "19999",
                "5",
                "13",
                "May",
                "in",
                "-",
                "/",
                ".",
                " ",
                "年",
                "月",
                "日",
                "x",
                "th",
            ]
        ),
        max_size=10,
    ).map("".join),
    st.booleans(),
)
def test_there_is_a_date_where_one_is_found(text, months):
    assert has_date(text, months=months) == bool(find_dates(text, months=months))
