import numpy as np

from batchensemble import CategoricalPredictive, GaussianPredictive, SamplePredictive
from batchensemble.cli.scores import MEANINGS, in_words
from batchensemble.metrics import (
    summarise_classification,
    summarise_paths,
    summarise_regression,
)
from batchensemble.plots.sheets import brief

RANDOM = np.random.default_rng(0)


def test_every_score_of_the_library_has_a_name_and_a_meaning():
    y = RANDOM.normal(size=5)
    members = RANDOM.normal(size=(5, 2)), RANDOM.uniform(1, 2, size=(5, 2))
    found = {
        **summarise_regression(y, GaussianPredictive(*members)),
        **summarise_classification([0, 1, 0, 1, 0], CategoricalPredictive(np.full((5, 2, 2), 0.5))),
        **summarise_paths(y[:, None], SamplePredictive(RANDOM.normal(size=(5, 2, 9, 1)))),
    }
    assert found.keys() <= MEANINGS.keys()
    told = in_words(found, target="price", task="regression", coverage=0.9)
    assert len(told) == len(found)
    assert ("RMSE", brief(found["rmse"]), "typical error, in units of price") in told
