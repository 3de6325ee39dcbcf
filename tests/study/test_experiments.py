import dataclasses

import numpy as np
import pytest
import torch

from batchensemble.study import series, tabular
from batchensemble.study.datasets import load_series, load_table
from batchensemble.study.experiments import prepare
from batchensemble.study.spec import PLAIN, Change, Settings, Unit
from batchensemble.training.bank import Bank
from batchensemble.training.methods import make_method

SHORT = Settings(epochs=2, most_rows=100, most_windows=15)
SEEDS = (0, 1)
METHOD = make_method("batch_ensemble", n_members=3)
WRITTEN = Change(bounded=False)


def experiment_of(dataset, variant="id", settings=SHORT, change=PLAIN):
    return prepare(Unit(dataset, variant, ("batch_ensemble",), SEEDS, settings, (change,)))


def untrained(experiment):
    """A network for each seed, as it starts."""
    make = experiment.network(8, PLAIN)
    streams = (torch.Generator().manual_seed(seed) for seed in SEEDS)
    return Bank([METHOD.network(make, stream) for stream in streams])


def test_numbers_about_the_tails_are_of_the_rows_that_training_had_none_of():
    experiment = experiment_of("diabetes", "shift")
    bank = untrained(experiment)
    table = load_table("diabetes")
    for seed, dist, found in zip(
        SEEDS,
        tabular.predict(experiment.splits, bank, METHOD),
        experiment.judge(bank, METHOD),
        strict=True,
    ):
        split = tabular.split_table(table, seed, variant="shift")
        errors = (dist.mean - split.y_test) ** 2
        rest = np.sqrt(errors[~split.is_tail].mean())
        assert found.metrics["tail_rmse"] == pytest.approx(np.sqrt(errors[split.is_tail].mean()))
        assert found.metrics["tail_rmse"] != pytest.approx(rest)
        assert found.metrics["rmse"] == pytest.approx(np.sqrt(errors.mean()))
        np.testing.assert_array_equal(found.arrays["is_tail"], split.is_tail)


@pytest.mark.parametrize("variant", ["id", "shift"])
def test_every_prediction_of_a_class_is_judged_by_the_class_of_its_own_row(variant):
    experiment = experiment_of("breast_cancer", variant)
    bank = untrained(experiment)
    for split, dist, found in zip(
        experiment.splits,
        tabular.predict(experiment.splits, bank, METHOD),
        experiment.judge(bank, METHOD),
        strict=True,
    ):
        given = [row[label] for row, label in zip(dist.mean, split.y_test, strict=True)]
        assert found.metrics["nll"] == pytest.approx(-np.mean(np.log(given)))
        np.testing.assert_array_equal(found.arrays["y"], split.y_test)
        assert ("tail_nll" in found.metrics) == (variant == "shift")
        if variant == "shift":
            own = [p for p, is_tail in zip(given, split.is_tail, strict=True) if is_tail]
            assert found.metrics["tail_nll"] == pytest.approx(-np.mean(np.log(own)))


@pytest.mark.parametrize("dataset", ["diabetes", "seasonal"])
def test_the_log_variance_is_bounded_unless_the_objective_is_the_one_as_written(dataset):
    assert experiment_of(dataset).loss.bounds == (-10, 0)
    assert experiment_of(dataset, change=WRITTEN).loss.bounds == (-np.inf, np.inf)


def test_a_quick_series_keeps_the_windows_on_both_sides_of_the_cut():
    whole = series.split_series(load_series("seasonal"))
    for n in (15, 40):
        found = experiment_of("seasonal", settings=dataclasses.replace(SHORT, most_windows=n))
        assert found.split.train.tolist() == whole.train.tolist()[-n:]
        assert found.split.test.tolist() == whole.test.tolist()[:n]
        assert found.facts["n_train"] == found.facts["n_test"] == [n, n]
    assert len(whole.train) > 40 < len(whole.test)
    every = experiment_of("seasonal", settings=Settings())
    assert every.split.train.tolist() == whole.train.tolist()
    assert every.split.test.tolist() == whole.test.tolist()


@pytest.mark.parametrize("dataset", ["diabetes", "breast_cancer"])
@pytest.mark.parametrize("variant", ["id", "shift"])
def test_a_quick_table_has_fewer_training_rows_and_all_test_rows(dataset, variant):
    table = load_table(dataset)
    quick = experiment_of(dataset, variant, dataclasses.replace(SHORT, most_rows=50))
    for seed, found in zip(SEEDS, quick.splits, strict=True):
        whole = tabular.split_table(table, seed, variant=variant)
        assert len(found.x_train) == len(found.y_train) == 50 < len(whole.y_test)
        np.testing.assert_array_equal(found.x_train, whole.x_train[:50])
        np.testing.assert_array_equal(found.y_train, whole.y_train[:50])
        for name in ("x_test", "y_test", "is_tail"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert quick.facts["n_train"] == [50, 50]
    assert quick.facts["n_test"] == [len(split.y_test) for split in quick.splits]


@pytest.mark.parametrize("change", [PLAIN, WRITTEN])
def test_a_lost_network_is_told_and_nothing_else_is_said_of_it(change):
    experiment = experiment_of("diabetes", change=change)
    bank = untrained(experiment)
    whole = experiment.judge(bank, METHOD)
    bank.theta[0] = torch.nan
    lost, other = experiment.judge(bank, METHOD)
    assert (lost.metrics, lost.curves, lost.arrays) == ({"diverged": 1.0}, {}, {})
    assert other.metrics == whole[1].metrics
    # Only as written may networks be lost, so only there is it said that one was not.
    assert [found.metrics.get("diverged") for found in whole] == [
        None if change == PLAIN else 0.0
    ] * 2


def test_a_lost_network_of_a_series_leaves_the_other_seeds_alone():
    experiment = experiment_of("seasonal")
    bank = untrained(experiment)
    whole = experiment.judge(bank, METHOD)
    bank.theta[0] = float("nan")
    lost, other = experiment.judge(bank, METHOD)
    assert lost.metrics == {"diverged": 1.0}
    assert other.metrics == whole[1].metrics
