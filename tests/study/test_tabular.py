import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from batchensemble.study.datasets import Table, load_table
from batchensemble.study.tabular import (
    PAPER,
    PAPER_TRAINING,
    predict,
    split_table,
    train_networks,
)
from batchensemble.training.loop import Training
from batchensemble.training.methods import METHODS, make_method

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


def test_the_target_is_scaled_on_the_training_rows_alone():
    y = np.arange(500.0)
    X = np.random.default_rng(0).normal(size=(500, 3))
    splits = [split_table(Table("line", "regression", X, y), seed) for seed in range(10)]
    assert all((split.y_train.min(), split.y_train.max()) == (0, 1) for split in splits)
    # An end of the line falls into the test set of a third of the splits.
    assert any(split.y_test.min() < 0 or split.y_test.max() > 1 for split in splits)


def test_categories_are_the_tables_not_the_splits():
    X = pd.DataFrame({"a": np.arange(300.0), "b": np.arange(300.0) ** 2, "kind": "usual"})
    X.loc[0, "kind"] = "rare"
    table = Table("rare", "classification", X, np.arange(300) % 2)
    widths = {split_table(table, seed).x_train.shape[1] for seed in range(8)}
    assert widths == {4}


def test_the_papers_setting_is_pinned():
    assert (
        Training(epochs=500, batch_size=64, lr=0.005, weight_decay=0.0, clip_norm=0.1)
        == PAPER_TRAINING
    )
    assert PAPER["hidden"] == (32, 32)
    assert PAPER["dropout"] == 0.1
    assert PAPER["log_variance_bounds"] == (-10.0, 0.0)
    assert PAPER["scaling"] == PAPER["target_scaling"] == "minmax"
    assert PAPER["validation_fraction"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
@pytest.mark.parametrize("variant", ["id", "shift"])
def test_the_papers_setting_stays_finite_and_sensible_for_all_methods(name, variant):
    table = load_table(name)
    splits = [split_table(table, seed, variant=variant) for seed in range(3)]
    for word in METHODS:
        method = make_method(word)
        bank = train_networks(splits, method, PAPER_TRAINING)
        for split, dist in zip(splits, predict(splits, bank, method), strict=True):
            if split.is_regression:
                assert (dist.variances <= 1).all()
                assert np.sqrt(np.mean((dist.mean - split.y_test) ** 2)) < 0.25
            else:
                assert (dist.mode == split.y_test).mean() > 0.85


def test_seeds_trained_as_one_bank_answer_almost_as_trained_alone(splits):
    method = make_method("deep_ensemble", n_members=2)
    together = predict(splits, train_networks(splits, method, SHORT), method)
    for split, dist in zip(splits, together, strict=True):
        (alone,) = predict([split], train_networks([split], method, SHORT), method)
        assert np.allclose(dist.mean, alone.mean, rtol=1e-3, atol=1e-3)


def test_the_four_methods_have_the_published_sizes_and_mc_dropout_is_the_single_network(splits):
    own = splits[:1]
    banks = {word: train_networks(own, make_method(word), SHORT) for word in METHODS}
    assert {word: bank.n_parameters for word, bank in banks.items()} == {
        "batch_ensemble": 3_788,
        "deep_ensemble": 14_740,
        "mc_dropout": 1_474,
        "single": 1_474,
    }
    assert torch.equal(banks["mc_dropout"].theta, banks["single"].theta)
    (mc,) = predict(own, banks["single"], make_method("mc_dropout"))
    (single,) = predict(own, banks["single"], make_method("single"))
    # The mean over thinned networks is near the whole network's answer.
    assert np.corrcoef(mc.mean, single.mean)[0, 1] > 0.9
    assert (single.epistemic == 0).all()
    assert (mc.epistemic > 0).all()


def test_the_global_seed_is_left_alone(splits):
    state = torch.get_rng_state()
    method = make_method("batch_ensemble")
    predict(splits[:1], train_networks(splits[:1], method, SHORT), method)
    assert torch.equal(torch.get_rng_state(), state)
