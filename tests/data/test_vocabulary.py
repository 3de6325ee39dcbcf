import numpy as np
import pandas as pd
import pytest

from batchensemble.data.frames import read_columns
from batchensemble.data.vocabulary import read_vocabulary

TABLE = read_columns(pd.DataFrame({"colour": ["red", "blue"], "size": [1.0, np.nan]}))


def test_listed_categories_are_kept_in_their_order_as_texts():
    listed = {"colour": ["blue", "red", "green"], "size": [2, 1, None]}
    assert read_vocabulary(listed, TABLE) == {
        "colour": ["blue", "red", "green"],
        "size": ["2", "1", None],
    }
    assert read_vocabulary({}, TABLE) == {}


def test_a_vocabulary_that_does_not_fit_the_table_is_refused():
    with pytest.raises(ValueError, match=r"named in categories .*'color'; did you mean 'colour'"):
        read_vocabulary({"color": ["red"]}, TABLE)
    with pytest.raises(ValueError, match=r"'colour' holds \['blue'\], not in its given"):
        read_vocabulary({"colour": ["red"]}, TABLE)
    for words in ([], ["red", "red", "blue"], [1, "1"]):
        with pytest.raises(ValueError, match="'colour' must be at least one and all different"):
            read_vocabulary({"colour": words}, TABLE)
