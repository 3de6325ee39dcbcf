import numpy as np
import pytest

from batchensemble.cli.request_values import values_of
from batchensemble.data.doubts import BatchEnsembleWarning
from batchensemble.data.notation import COMMA, POINT


@pytest.mark.filterwarnings("ignore:.*is written otherwise")
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
