from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from batchensemble import Classifier, JointRegressor, Regressor
from batchensemble.training import together
from batchensemble.training.together import fit_together

QUICK = {"preset": "fast", "n_members": 2, "hidden": (8,), "random_state": 0}


def table(n_rows, seed=0, columns=3):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, columns))
    return x, x[:, 0] + x[:, 1] + 0.3 * random.normal(size=n_rows)


def fit(kind, settings, x, y, **how):
    return kind(**settings).fit(x, y, **how)


@pytest.fixture
def banks(monkeypatch):
    """How many networks were trained at a time."""
    sizes = []

    def counted(*arguments, **how):
        bank, histories = together_fit(*arguments, **how)
        sizes.append(len(bank))
        return bank, histories

    together_fit = together.fit_models
    monkeypatch.setattr(together, "fit_models", counted)
    return sizes


def theta(model):
    return model.model_.ensemble.bank.theta


def assert_alike(one, other):
    """But for rounding: networks are multiplied several at a time."""
    assert torch.allclose(theta(one), theta(other), atol=1e-5)
    for own, theirs in zip(one.history_, other.history_, strict=True):
        assert np.allclose(own.losses, theirs.losses, atol=1e-5)
        assert np.allclose(own.scores, theirs.scores, atol=1e-5)
        assert own.best_epochs == theirs.best_epochs
        assert own.ended == theirs.ended


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({"epochs": 60, "patience": 2, "lr": 0.05}, (90, 90, 90)),  # end at other epochs
        ({"batch_size": 32}, (300, 420, 360)),  # of other lengths, by the preset
        ({"batch_size": 32, "epochs": 3, "validation_fraction": 0}, (120, 40, 200)),
        ({"method": "deep_ensemble", "epochs": 9, "patience": 2}, (90, 90)),
    ],
)
def test_each_model_is_the_one_that_its_fit_gives_alone_and_so_is_its_history(
    settings, sizes, banks
):
    groups = [table(n, seed) for seed, n in enumerate(sizes)]
    fits = [partial(fit, Regressor, QUICK | settings, *group) for group in groups]
    alone = [one() for one in fits]
    n_alone = len(banks)
    both = fit_together(fits)
    assert banks[n_alone:] == [sum(banks[:n_alone])]
    for one, other in zip(alone, both, strict=True):
        assert_alike(one, other)
    assert not torch.allclose(theta(alone[0]), theta(alone[1]), atol=1e-2)  # negative control


def test_classes_weights_and_calibrations_are_kept_apart(banks):
    fits = []
    for seed in range(3):
        x, y = table(120, seed)
        weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
        how = {"sample_weight": weight, "calibrate": True}
        fits.append(partial(fit, Classifier, QUICK | {"epochs": 4}, x, y > 0, **how))
    alone, both = [one() for one in fits], fit_together(fits)
    assert banks[-1] == 3 * banks[0]
    x, _ = table(20, seed=9)
    for one, other in zip(alone, both, strict=True):
        assert_alike(one, other)
        assert np.array_equal(one.predict_set(x), other.predict_set(x))


def test_what_differs_in_shape_or_settings_is_trained_apart(banks):
    few = QUICK | {"epochs": 2}
    same = partial(fit, Regressor, few, *table(90))
    others = [
        partial(fit, Regressor, few, *table(90, columns=4)),
        partial(fit, Regressor, few | {"lr": 0.01}, *table(90)),
        partial(fit, Regressor, few | {"batch_size": 10}, *table(90)),
        partial(fit, Classifier, few, table(90)[0], table(90)[1] > 0),
    ]
    fit_together([same, *others, same])
    alone = banks[0] // 2
    assert sorted(banks) == [alone] * 4 + [2 * alone]


def test_a_time_limit_is_that_of_a_fit_alone(banks):
    limited = partial(fit, Regressor, QUICK | {"epochs": 2, "time_limit": 100}, *table(90))
    fit_together([limited, limited])
    assert len(banks) == 2


def test_fits_of_several_models_each_are_made_together_too(banks):
    def joint(seed):
        x, y = table(90, seed)
        targets = pd.DataFrame({"a": y, "b": -y + x[:, 2]})
        return JointRegressor(**QUICK, epochs=3).fit(x, targets)

    fits = [partial(joint, seed) for seed in (0, 1)]
    alone, n_alone = [one() for one in fits], len(banks)
    both = fit_together(fits)
    assert len(banks) - n_alone == n_alone // 2
    for one, other in zip(alone, both, strict=True):
        for own, theirs in zip(one.regressors_.values(), other.regressors_.values(), strict=True):
            assert_alike(own, theirs)


def test_one_that_diverges_fails_alone(monkeypatch, banks):
    def caught(x, y):
        try:
            return Regressor(**QUICK, epochs=3).fit(x, y)
        except together.TrainingDiverged as error:
            return str(error)

    real = together.fit_models

    def lost_with_91_rows(method, make, loss, data, *more, **how):
        if len(data.x) % 90:
            raise together.TrainingDiverged("lost")
        return real(method, make, loss, data, *more, **how)

    monkeypatch.setattr(together, "fit_models", lost_with_91_rows)
    fits = [partial(caught, *table(n, seed)) for seed, n in enumerate((90, 91, 90, 90))]
    first, lost, *others = fit_together(fits)
    assert lost == "lost"
    assert all(isinstance(model, Regressor) for model in (first, *others))
    assert_alike(others[-1], fits[-1]())


def test_an_error_of_a_fit_is_its_own_and_nothing_is_left_behind():
    def broken():
        raise ValueError("no rows")

    with pytest.raises(ValueError, match="no rows"):
        fit_together([broken, partial(fit, Regressor, QUICK, *table(90))])
    model = fit(Regressor, QUICK | {"epochs": 2}, *table(90))  # outside, a fit trains at once
    assert model.n_parameters_ > 0
