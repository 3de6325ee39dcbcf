import numpy as np

from batchensemble.data.panels import read_panel
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.windows import continued_back


def test_values_in_the_place_of_others_are_marked_and_nothing_else_changes():
    random = np.random.default_rng(0)
    series = read_panel(random.normal(size=20))
    encoded = SeriesEncoder("difference", calendar=False, linear=True).fit(series).encode(series)
    rows, _, repeated = continued_back(series.starts, np.array([3]), 1)
    taken = encoded.take(rows, repeated)
    assert taken.covariates[:, 0].tolist() == [-1.0] * 3 + [1.0] * len(series.values)
    np.testing.assert_array_equal(taken.values[3:], encoded.values)
    assert taken.known(slice(0, 5)).tolist() == series.values[:2].tolist()
