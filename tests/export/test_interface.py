import numpy as np
import pandas as pd
from fixtures import TINY_RECURRENT, long_frame

from batchensemble import Forecaster
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.export.interface import column_slots, inputs_of


def names(columns, outputs=("mean", "std")):
    X = pd.DataFrame(np.eye(len(columns)), columns=columns)
    return [slot.name for slot in column_slots(TableEncoder().fit(X), outputs)]


def test_inputs_are_named_like_the_columns_whatever_these_are_called():
    columns = ["a", "two words", "é, %", "1", "v0", "MEAN"]
    assert names(columns) == columns


def test_a_column_named_like_an_output_or_not_at_all_gets_a_line_behind():
    assert names(["mean", "x", ""]) == ["mean_", "x", "_"]


def test_no_two_columns_get_the_same_name():
    columns = ["mean_", "mean", "", "_", "mean__"]
    assert names(columns) == ["mean_", "mean___", "__", "_", "mean__"]


def test_a_forecaster_asks_for_covariates_only_if_it_has_some():
    for calendar in (True, False):
        model = Forecaster(calendar=calendar, **TINY_RECURRENT).fit(long_frame())
        assert ("covariates" in [slot.name for slot in inputs_of(model)]) is calendar
