import dataclasses

import numpy as np
import pytest
import torch

from batchensemble.study.datasets import make_seasonal
from batchensemble.study.series import (
    N_PATHS,
    forecast,
    split_series,
    train_forecasters,
)
from batchensemble.study.tabular import PAPER_TRAINING
from batchensemble.training.methods import METHODS, make_method

SHORT = dataclasses.replace(PAPER_TRAINING, epochs=2)


@pytest.fixture(scope="module")
def split():
    return split_series(make_seasonal(100))


def test_training_windows_lie_in_the_first_part_and_test_targets_in_the_second(split):
    length = split.context + split.horizon
    assert (split.context, split.horizon) == (12, 5)
    assert split.train.tolist() == list(range(80 - length + 1))
    assert split.test.tolist() == list(range(80 - split.context, 100 - length + 1))
    first_targets = split.test + split.context
    assert first_targets.min() == 80
    assert first_targets.max() + split.horizon == 100


def test_the_scale_is_learned_from_the_first_part_alone():
    series = make_seasonal(100)
    split = split_series(series)
    assert split.values[:80].min() == 0
    assert split.values[:80].max() == 1
    later = dataclasses.replace(series, values=series.values + 1000 * (np.arange(100) >= 80))
    np.testing.assert_array_equal(split_series(later).values[:80], split.values[:80])


def test_the_truth_of_a_test_window_is_what_follows_its_context(split):
    for row, start in zip(split.y_test, split.test, strict=True):
        np.testing.assert_array_equal(row, split.values[start + 12 : start + 17].astype(float))


def test_every_method_has_the_published_size_and_as_many_paths(split):
    methods = {word: make_method(word) for word in METHODS}
    banks = {
        word: train_forecasters(split, [0, 1], method, SHORT) for word, method in methods.items()
    }
    assert {word: bank.n_parameters // 2 for word, bank in banks.items()} == {
        "batch_ensemble": 10_790,
        "deep_ensemble": 55_380,
        "mc_dropout": 5_538,
        "single": 5_538,
    }
    answers = {word: forecast(split, [0, 1], banks[word], methods[word]) for word in METHODS}
    for word, dists in answers.items():
        members = {"mc_dropout": 100, "single": 1}.get(word, 10)
        for dist in dists:
            assert dist.paths.shape == (len(split.test), members, N_PATHS // members, 5)
    single, other = answers["single"]
    assert (single.epistemic == 0).all()
    assert not np.allclose(single.mean, other.mean)


def test_a_seed_forecasts_almost_the_same_alone_and_in_a_bank_of_seeds(split):
    method = make_method("batch_ensemble", n_members=2)
    together = forecast(split, [3, 4], train_forecasters(split, [3, 4], method, SHORT), method)
    alone = forecast(split, [4], train_forecasters(split, [4], method, SHORT), method)
    np.testing.assert_allclose(together[1].paths, alone[0].paths, atol=1e-4)


def test_the_global_seed_is_left_alone(split):
    state = torch.get_rng_state()
    method = make_method("single")
    forecast(split, [0], train_forecasters(split, [0], method, SHORT), method)
    assert torch.equal(torch.get_rng_state(), state)
