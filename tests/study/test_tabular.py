import dataclasses

import numpy as np
import pytest
import torch

from batchensemble.datasets import load_table
from batchensemble.methods import make_method
from batchensemble.study.tabular import (
    PAPER_TRAINING,
    compare,
    predict,
    split_table,
    train_networks,
)

SHORT = dataclasses.replace(PAPER_TRAINING, epochs=3)


@pytest.fixture(scope="module")
def splits():
    table = load_table("diabetes")
    return [split_table(table, seed, variant="shift") for seed in range(3)]


def test_training_rows_fill_the_unit_interval_and_test_rows_may_leave_it(splits):
    for split in splits:
        assert split.x_train.min() == 0
        assert split.x_train.max() == 1
        assert (split.y_train.min(), split.y_train.max()) == (0, 1)
        assert split.is_tail.any()
    assert max(split.x_test.max() for split in splits) > 1


def test_a_split_of_one_seed_is_always_the_same_and_seeds_differ():
    table = load_table("breast_cancer")
    a, b, c = (split_table(table, seed) for seed in (0, 0, 1))
    assert np.array_equal(a.x_test, b.x_test)
    assert not np.array_equal(a.x_test, c.x_test)
    assert abs(len(a.x_test) / 569 - 0.2) < 0.002


def test_seeds_trained_as_one_bank_answer_almost_as_trained_alone(splits):
    method = make_method("deep_ensemble", n_members=2)
    together = predict(splits, train_networks(splits, method, SHORT), method)
    for split, dist in zip(splits, together, strict=True):
        (alone,) = predict([split], train_networks([split], method, SHORT), method)
        assert np.allclose(dist.mean, alone.mean, rtol=1e-3, atol=1e-3)


def test_the_four_methods_have_the_published_sizes_and_share_what_trains_alike(splits):
    answers = compare(
        splits[:1], ["batch_ensemble", "deep_ensemble", "mc_dropout", "single"], SHORT
    )
    assert {word: size for word, (size, _) in answers.items()} == {
        "batch_ensemble": 3_788,
        "deep_ensemble": 14_740,
        "mc_dropout": 1_474,
        "single": 1_474,
    }
    (mc,), (single,) = answers["mc_dropout"][1], answers["single"][1]
    # The mean over thinned networks is near the whole network's answer.
    assert np.corrcoef(mc.mean, single.mean)[0, 1] > 0.9
    assert (single.epistemic == 0).all()
    assert (mc.epistemic > 0).all()


def test_the_global_seed_is_left_alone(splits):
    state = torch.get_rng_state()
    compare(splits[:1], ["batch_ensemble"], SHORT)
    assert torch.equal(torch.get_rng_state(), state)
