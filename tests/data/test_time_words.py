import numpy as np
import pandas as pd
import pytest

from batchensemble.data.time_words import freq_word, shown, some, when


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([3], "3"),
        ([2.5], "2.5"),
        (["a"], "'a'"),
        ([True], "True"),
        (["a" * 999], "'" + 99 * "a" + "..."),
    ],
)
def test_an_id_is_shown_as_python_writes_it(values, text):
    assert shown(np.array(values), 0) == text


def test_midnight_is_left_out_of_a_date():
    assert when(pd.Timestamp("2024-02-29")) == "2024-02-29"
    assert when(pd.Timestamp("2024-02-29 12:00")) == "2024-02-29 12:00:00"
    assert when(7) == "7"


def test_of_many_times_five_are_named_and_the_others_counted():
    times = pd.Index(range(5))
    assert some(times) == "0, 1, 2, 3, 4"
    assert some(times, 1204) == "0, 1, 2, 3, 4 and 1,199 more"


def test_a_frequency_is_written_as_the_user_may_pass_it():
    assert (freq_word(2), freq_word(pd.offsets.MonthBegin())) == ("2", "'MS'")
