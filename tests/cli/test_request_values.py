from dataclasses import replace

import numpy as np
import pytest

from batchensemble.cli.request_values import values_of
from batchensemble.data.notation import COMMA, POINT
from batchensemble.data.telling import BatchEnsembleWarning


@pytest.mark.filterwarnings("ignore:.*is written differently")
@pytest.mark.parametrize("beside", [{"b": COMMA}, {"b": POINT}, {}])
def test_texts_are_read_as_in_files_of_the_model_and_numbers_are_what_they_are(beside):
    read = values_of("a", "number", beside, [1.5, "1.234", None, "12.5"])
    np.testing.assert_array_equal(read, [1.5, 1.234, np.nan, 12.5])
    usual = {"a": np.linspace(500, 9_000, 9)}
    for cells in ([800, "1.234"], [800, "1,234"]):
        assert values_of("a", "number", beside, cells, usual).tolist() == [800, 1234]
    with pytest.raises(ValueError, match="got '1,5'; correct the cell"):
        values_of("a", "number", beside, [1.5, "1,5"])


def test_a_text_that_is_no_number_is_refused_with_its_row():
    with pytest.raises(ValueError, match=r"the request, row 2, column 'a'.*got '1,5,'"):
        values_of("a", "number", {}, [1, "1,5,"])
    with pytest.warns(BatchEnsembleWarning, match=r"the request .*'1,5' as 1\.5"):
        assert values_of("a", "number", {"b": COMMA}, [1, "1,5"]).tolist() == [1, 1.5]


@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_numbers_beside_texts_of_another_notation_do_not_change_how_these_are_read():
    for cells in (["12.125"], [12.5, "12.125"], [None, "12.125"]):
        assert values_of("a", "number", {"a": COMMA}, cells)[-1] == 12125
    read = values_of("a", "number", {"a": COMMA}, [1234.5, "1.234,50"])
    assert read.tolist() == [1234.5, 1234.5]
    share = replace(POINT, sign="%")
    for beside in ("", "12 %", None):
        assert values_of("a", "number", {"a": share}, [12, beside])[0] == 12
