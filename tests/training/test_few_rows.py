import numpy as np
import pytest
import torch

from batchensemble import Classifier, Regressor
from batchensemble.training.few_rows import FEW_ROWS, forward_of
from batchensemble.training.methods.base import CALLS_WORTH_LOADING
from batchensemble.training.models import predict_rows

SETTINGS = {
    "default": {},
    "deep ensemble": {"method": "deep_ensemble"},
    "single": {"method": "single"},
    "paper": {"preset": "paper"},
    "members in the heads": {"adapters": ("", "rsb"), "folds": 1, "n_members": 3},
    "quantiles": {"scaling": "quantile"},
}
ADDS_IN_ORDER = "BLAS_INFO=open" in torch.__config__.show()


def table(n=120, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 4)), random.normal(size=n)


def same(one, other):
    if ADDS_IN_ORDER:
        return np.array_equal(one, other)
    return np.allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_loops_compute_what_torch_computes(settings):
    x, y = table()
    model = Regressor(epochs=2, random_state=0, **settings).fit(x, y).model_
    encoded, ensemble = model.encoder.transform(x), model.ensemble
    whole = np.concatenate(list(predict_rows(ensemble.members, encoded, ensemble.device)))
    assert whole.shape[0] == len(x) > FEW_ROWS
    for n in (1, 2, 3, FEW_ROWS):
        few = ensemble.members.compiled(encoded[:n])
        assert same(np.broadcast_to(few, whole[:n].shape), whole[:n])


def test_layers_too_wide_for_blas_to_add_in_one_go_differ_in_the_last_digits_alone():
    x, y = table()
    model = Regressor(epochs=1, random_state=0, hidden=(512, 512)).fit(x, y).model_
    encoded, ensemble = model.encoder.transform(x), model.ensemble
    whole = np.concatenate(list(predict_rows(ensemble.members, encoded, ensemble.device)))
    few = ensemble.members.compiled(encoded[:FEW_ROWS])
    np.testing.assert_allclose(few, whole[:FEW_ROWS], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [Regressor, Classifier])
def test_a_row_is_answered_to_the_last_bit_as_among_others_before_and_after_loops_load(kind):
    x, y = table()
    model = kind(epochs=2, random_state=0).fit(x, y if kind is Regressor else y > 0)
    ask = model.predict_interval if kind is Regressor else model.predict_proba
    whole, shift = ask(x), model.shift_score(x)
    for i in range(CALLS_WORTH_LOADING + 20):
        assert same(ask(x[i : i + 1]), whole[i : i + 1])
    for n in (2, 3, 7, FEW_ROWS, FEW_ROWS + 1):
        assert same(ask(x[:n]), whole[:n])
        assert same(model.shift_score(x[:n]), shift[:n])


def test_loops_are_loaded_once_they_pay_and_prepare_loads_them_at_once():
    x, y = table(400)  # with so many rows held out that fit asks for no few rows
    members = Regressor(epochs=2, random_state=0).fit(x, y).model_.ensemble.members
    first = [members.of_few_rows() for _ in range(CALLS_WORTH_LOADING + 1)]
    assert first[-1] is not None
    assert first[:-1] == [None] * CALLS_WORTH_LOADING
    other = Regressor(epochs=2, random_state=0).fit(x, y).model_.ensemble.members
    other.prepare()
    assert other.of_few_rows() is not None


def test_dropout_masks_and_other_precisions_are_left_to_torch():
    x, y = table()
    dropped = Regressor("mc_dropout", epochs=2, n_passes=3).fit(x, y).model_.ensemble.members
    dropped.prepare()
    assert dropped.of_few_rows() is None
    members = Regressor(epochs=2).fit(x, y).model_.ensemble.members
    assert forward_of(members.network.float()) is None
    assert forward_of(torch.nn.Linear(2, 2)) is None


def test_rows_of_another_width_are_refused():
    x, y = table()
    for settings in ({}, {"preset": "paper"}):
        members = Regressor(epochs=2, **settings).fit(x, y).model_.ensemble.members
        with pytest.raises(ValueError, match="encoded inputs, got 2"):
            members.compiled(np.zeros((1, 2), np.float32))
