import dataclasses

import numpy as np
import pytest
import torch

from batchensemble.study import experiments
from batchensemble.study.datasets import load_series, load_table, make_shift
from batchensemble.study.experiments import N_PATHS, PAPER, PAPER_TRAINING, prepare
from batchensemble.study.spec import PLAIN, Change, Settings, Unit
from batchensemble.study.splits import split_series, split_table
from batchensemble.training.bank import Bank
from batchensemble.training.loop import Training, TrainingDiverged
from batchensemble.training.methods import METHODS, make_method

SHORT = Settings(epochs=2, most_rows=100, most_windows=15)
TRAINING = dataclasses.replace(PAPER_TRAINING, epochs=2)
SEEDS = (0, 1)
METHOD = make_method("batch_ensemble", n_members=3)
WRITTEN = Change(bounded=False)


def experiment_of(dataset, variant="id", settings=SHORT, change=PLAIN, seeds=SEEDS):
    return prepare(Unit(dataset, variant, ("batch_ensemble",), seeds, settings, (change,)))


def untrained(experiment):
    """A network for each seed, at its initialisation."""
    make = experiment.network((8, 8), PLAIN)
    streams = (torch.Generator().manual_seed(seed) for seed in SEEDS)
    return Bank([METHOD.network(make, stream) for stream in streams])


def predict(experiment, bank, method=METHOD):
    """The predictive of every seed."""
    every = range(len(experiment.rows))
    return [experiment.predict(i, [experiment.members(i, bank, method)]) for i in every]


@pytest.fixture(scope="module")
def shifted():
    return experiment_of("diabetes", "shift", Settings(), seeds=(0, 1, 2))


@pytest.fixture(scope="module")
def seasonal():
    return experiment_of("seasonal")


# What is trained on


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


@pytest.mark.parametrize("dataset", ["diabetes", "seasonal"])
def test_the_log_variance_is_bounded_unless_the_objective_is_the_one_as_written(dataset):
    assert experiment_of(dataset).loss.bounds == (-10, 0)
    assert experiment_of(dataset, change=WRITTEN).loss.bounds == (-np.inf, np.inf)


def test_a_quick_series_keeps_the_windows_on_both_sides_of_the_cut():
    whole = split_series(load_series("seasonal"))
    for n in (15, 40):
        quick = experiment_of("seasonal", settings=dataclasses.replace(SHORT, most_windows=n))
        assert quick.split.train.tolist() == whole.train.tolist()[-n:]
        assert quick.split.test.tolist() == whole.test.tolist()[:n]
        assert quick.facts["n_train"] == quick.facts["n_test"] == [n, n]
    assert len(whole.train) > 40 < len(whole.test)
    every = experiment_of("seasonal", settings=Settings())
    assert every.split.train.tolist() == whole.train.tolist()
    assert every.split.test.tolist() == whole.test.tolist()


@pytest.mark.parametrize("dataset", ["diabetes", "breast_cancer"])
@pytest.mark.parametrize("variant", ["id", "shift"])
def test_a_quick_table_has_fewer_training_rows_and_all_test_rows(dataset, variant):
    table = load_table(dataset)
    quick = experiment_of(dataset, variant, dataclasses.replace(SHORT, most_rows=50))
    for seed, split in zip(SEEDS, quick.splits, strict=True):
        whole = split_table(table, seed, variant=variant)
        assert len(split.x_train) == len(split.y_train) == 50 < len(whole.y_test)
        np.testing.assert_array_equal(split.x_train, whole.x_train[:50])
        np.testing.assert_array_equal(split.y_train, whole.y_train[:50])
        for name in ("x_test", "y_test", "is_tail"):
            np.testing.assert_array_equal(getattr(split, name), getattr(whole, name))
    assert quick.facts["n_train"] == [50, 50]
    assert quick.facts["n_test"] == [len(split.y_test) for split in quick.splits]


def test_a_seed_trains_on_the_rows_of_its_own_split(shifted):
    for rows, split in zip(shifted.rows, shifted.splits, strict=True):
        np.testing.assert_array_equal(shifted.data.x[rows.train], split.x_train)
        np.testing.assert_array_equal(shifted.data.y[rows.train], split.y_train)


# What is trained and predicted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
@pytest.mark.parametrize("variant", ["id", "shift"])
def test_the_papers_setting_stays_finite_and_sensible_for_all_methods(name, variant):
    experiment = experiment_of(name, variant, Settings(), seeds=(0, 1, 2))
    for word in METHODS:
        method = make_method(word)
        bank = experiment.train(method, PAPER_TRAINING)
        dists = predict(experiment, bank, method)
        for split, dist in zip(experiment.splits, dists, strict=True):
            if split.is_regression:
                assert (dist.variances <= 1).all()
                assert np.sqrt(np.mean((dist.mean - split.y_test) ** 2)) < 0.25
            else:
                assert (dist.mode == split.y_test).mean() > 0.85


def test_seeds_trained_as_one_bank_predict_almost_as_trained_alone(shifted):
    method = make_method("deep_ensemble", n_members=2)
    three_epochs = dataclasses.replace(TRAINING, epochs=3)
    together = predict(shifted, shifted.train(method, three_epochs), method)
    for seed, dist in enumerate(together):
        one = experiment_of("diabetes", "shift", Settings(), seeds=(seed,))
        (alone,) = predict(one, one.train(method, three_epochs), method)
        assert np.allclose(dist.mean, alone.mean, rtol=1e-3, atol=1e-3)


def test_the_four_methods_have_the_published_sizes_and_mc_dropout_is_the_single_network():
    experiment = experiment_of("diabetes", "shift", Settings(), seeds=(0,))
    banks = {word: experiment.train(make_method(word), TRAINING) for word in METHODS}
    assert {word: bank.n_parameters for word, bank in banks.items()} == {
        "batch_ensemble": 3_788,
        "deep_ensemble": 14_740,
        "mc_dropout": 1_474,
        "single": 1_474,
    }
    assert torch.equal(banks["mc_dropout"].theta, banks["single"].theta)
    (mc,) = predict(experiment, banks["single"], make_method("mc_dropout"))
    (single,) = predict(experiment, banks["single"], make_method("single"))
    # The mean over thinned networks is near the whole network's answer.
    assert np.corrcoef(mc.mean, single.mean)[0, 1] > 0.9
    assert (single.epistemic == 0).all()
    assert (mc.epistemic > 0).all()


def test_every_forecaster_has_the_published_size_and_as_many_paths(seasonal):
    methods = {word: make_method(word) for word in METHODS}
    banks = {word: seasonal.train(method, TRAINING) for word, method in methods.items()}
    assert {word: bank.n_parameters // 2 for word, bank in banks.items()} == {
        "batch_ensemble": 10_790,
        "deep_ensemble": 55_380,
        "mc_dropout": 5_538,
        "single": 5_538,
    }
    answers = {word: predict(seasonal, banks[word], methods[word]) for word in METHODS}
    for word, dists in answers.items():
        members = {"mc_dropout": 100, "single": 1}.get(word, 10)
        for dist in dists:
            assert dist.paths.shape == (len(seasonal.split.test), members, N_PATHS // members, 5)
    single, other = answers["single"]
    assert (single.epistemic == 0).all()
    assert not np.allclose(single.mean, other.mean)


def test_a_seed_forecasts_almost_the_same_alone_and_in_a_bank_of_seeds():
    method = make_method("batch_ensemble", n_members=2)
    both, one = (experiment_of("seasonal", seeds=seeds) for seeds in ((3, 4), (4,)))
    together = predict(both, both.train(method, TRAINING), method)
    alone = predict(one, one.train(method, TRAINING), method)
    np.testing.assert_allclose(together[1].paths, alone[0].paths, atol=1e-4)


@pytest.mark.parametrize("dataset", ["diabetes", "seasonal"])
def test_the_global_seed_is_left_alone(dataset):
    state = torch.get_rng_state()
    experiment = experiment_of(dataset)
    experiment.judge(experiment.train(METHOD, TRAINING), METHOD)
    assert torch.equal(torch.get_rng_state(), state)


# How it is judged


def test_numbers_about_the_tails_are_of_the_rows_that_training_had_none_of():
    experiment = experiment_of("diabetes", "shift")
    bank = untrained(experiment)
    table = load_table("diabetes")
    for seed, dist, judgement in zip(
        SEEDS, predict(experiment, bank), experiment.judge(bank, METHOD), strict=True
    ):
        split = split_table(table, seed, variant="shift")
        errors = (dist.mean - split.y_test) ** 2
        tail, rest = (np.sqrt(errors[rows].mean()) for rows in (split.is_tail, ~split.is_tail))
        assert judgement.metrics["tail_rmse"] == pytest.approx(tail)
        assert judgement.metrics["tail_rmse"] != pytest.approx(rest)
        assert judgement.metrics["rmse"] == pytest.approx(np.sqrt(errors.mean()))
        np.testing.assert_array_equal(judgement.arrays["is_tail"], split.is_tail)


@pytest.mark.parametrize("variant", ["id", "shift"])
def test_every_prediction_of_a_class_is_judged_by_the_class_of_its_own_row(variant):
    experiment = experiment_of("breast_cancer", variant)
    bank = untrained(experiment)
    for split, dist, judgement in zip(
        experiment.splits, predict(experiment, bank), experiment.judge(bank, METHOD), strict=True
    ):
        likelihoods = [row[label] for row, label in zip(dist.mean, split.y_test, strict=True)]
        assert judgement.metrics["nll"] == pytest.approx(-np.mean(np.log(likelihoods)))
        np.testing.assert_array_equal(judgement.arrays["y"], split.y_test)
        assert ("tail_nll" in judgement.metrics) == (variant == "shift")
        if variant == "shift":
            tail = [p for p, is_tail in zip(likelihoods, split.is_tail, strict=True) if is_tail]
            assert judgement.metrics["tail_nll"] == pytest.approx(-np.mean(np.log(tail)))


@pytest.mark.parametrize("change", [PLAIN, WRITTEN])
def test_of_a_diverged_network_nothing_is_kept_but_that_it_diverged(change):
    experiment = experiment_of("diabetes", change=change)
    bank = untrained(experiment)
    whole = experiment.judge(bank, METHOD)
    bank.theta[0] = torch.nan
    diverged, other = experiment.judge(bank, METHOD)
    assert (diverged.metrics, diverged.curves, diverged.arrays) == ({"diverged": 1.0}, {}, {})
    assert other.metrics == whole[1].metrics
    # Only as written may networks diverge, so only there is it said that one did not.
    assert [judgement.metrics.get("diverged") for judgement in whole] == [
        None if change == PLAIN else 0.0
    ] * 2


@pytest.mark.parametrize("dataset", ["breast_cancer", "seasonal"])
def test_a_diverged_network_leaves_the_other_seeds_alone(dataset):
    experiment = experiment_of(dataset)
    bank = untrained(experiment)
    whole = experiment.judge(bank, METHOD)
    bank.theta[0] = float("nan")
    diverged, other = experiment.judge(bank, METHOD)
    assert diverged.metrics == {"diverged": 1.0}
    assert other.metrics == whole[1].metrics


def test_predictions_that_are_not_finite_raise_training_diverged():
    experiment = experiment_of("diabetes")
    bank = untrained(experiment)
    bank.theta[0] = torch.nan
    with pytest.raises(TrainingDiverged, match="predict numbers that are not finite"):
        predict(experiment, bank)


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("diabetes", "GaussianPredictive"),
        ("breast_cancer", "CategoricalPredictive"),
        ("seasonal", "SamplePredictive"),
        ("diabetes", "judge_regression"),
        ("breast_cancer", "judge_classification"),
        ("seasonal", "judge_paths"),
    ],
)
def test_another_error_in_predicting_or_judging_is_not_taken_for_divergence(
    monkeypatch, dataset, name
):
    def fail(*args):
        raise ValueError("means: expected shape (3,), got (2,)")

    experiment = experiment_of(dataset)
    bank = untrained(experiment)
    monkeypatch.setattr(experiments, name, fail)
    with pytest.raises(ValueError, match="expected shape"):
        experiment.judge(bank, METHOD)


def test_the_features_chosen_for_the_shift_are_kept_for_each_seed():
    units = (
        Unit("diabetes", variant, ("single",), (0, 1), Settings()) for variant in ("shift", "id")
    )
    shifted, plain = (prepare(unit).facts for unit in units)
    table = load_table("diabetes")
    expected = [
        list(make_shift(table.X, table.y, task="regression", seed=seed).features) for seed in (0, 1)
    ]
    assert shifted["shifted_features"] == expected
    assert all(len(own) == 2 for own in expected)
    assert "shifted_features" not in plain


def test_uniform_biases_lie_within_the_bound_of_a_linear_layer_and_zero_ones_are_zero():
    experiment = prepare(Unit("diabetes", "id", ("batch_ensemble",), (0,), Settings()))
    for how, is_zero in (("zero", True), ("uniform", False)):
        make = experiment.network(change=Change(bias=how))
        network = make(torch.Generator().manual_seed(0), n_members=10)
        for layer in network.modules():
            if getattr(layer, "bias", None) is not None:
                bound = layer.weight.shape[-1] ** -0.5
                assert bool((layer.bias == 0).all()) == is_zero
                assert layer.bias.abs().max() <= bound
    with pytest.raises(ValueError, match="did you mean 'uniform'"):
        experiment.network(change=Change(bias="uniforme"))
