import numpy as np
import pytest
from fixtures import TINY_FORECASTER, long_frame

from batchensemble import Forecaster, metrics
from batchensemble.cli.forecast_scores import judged_on_last_steps


@pytest.fixture(scope="module")
def fitted():
    df = long_frame()
    last = df.groupby("unique_id").cumcount(ascending=False) < 4
    return Forecaster(**TINY_FORECASTER).fit(df[~last]), df, last


def test_every_observed_value_is_judged_and_the_missing_ones_are_counted(fitted):
    model, df, last = fitted
    df = df.copy()
    missing = df.index[last][[0, 1, 5]]  # of two series
    df.loc[missing, "y"] = np.nan
    facts = judged_on_last_steps(model, df, model.panel_.ids)
    assert facts["n_judged"] == 9
    assert facts["judged_on"] == (
        "the held-out last 4 steps of each series, 9 of 12 values; the others are missing"
    )
    truth = df.loc[last, "y"].to_numpy()
    mean = model.predict()["BatchEnsemble"].to_numpy()
    known = ~np.isnan(truth)
    assert facts["scores"]["rmse"] == pytest.approx(metrics.rmse(truth[known], mean=mean[known]))


def test_without_gaps_nothing_is_said_of_them(fitted):
    model, df, _ = fitted
    facts = judged_on_last_steps(model, df, model.panel_.ids)
    assert (facts["n_judged"], facts["judged_on"]) == (
        12,
        "the held-out last 4 steps of each series",
    )
