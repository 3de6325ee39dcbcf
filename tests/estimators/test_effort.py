import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from batchensemble.estimators.effort import (
    BLIND_STEPS,
    FEWEST_STEPS,
    GIGAFLOPS,
    MOST_STEPS,
    PATIENT_SCORES,
    PATIENT_STEPS,
    STEPS_BETWEEN_SCORES,
    length_for,
    training_length,
    weights_of,
)
from batchensemble.estimators.presets import CLASSIFIER_PRESETS, PRESETS
from batchensemble.training.methods import BatchEnsemble

NETWORK = {"n_weights": 20_000, "n_networks": 5, "n_members": 4, "has_held_out": True}
ROWS = st.integers(1, 10**7)


def length(n_rows, preset="default", presets=PRESETS, **given):
    network = NETWORK | {name: given.pop(name) for name in NETWORK if name in given}
    return training_length(presets[preset] | given, n_rows, **network)


def steps(chosen):
    return chosen["epochs"] * chosen["epoch_steps"]


@pytest.mark.parametrize("presets", [PRESETS, CLASSIFIER_PRESETS])
@pytest.mark.parametrize("preset", PRESETS)
@given(n_rows=ROWS, n_weights=st.integers(1, 10**7), held_out=st.booleans())
@settings(max_examples=50, deadline=None)
def test_any_table_gets_a_number_for_every_setting(preset, presets, n_rows, n_weights, held_out):
    chosen = length(n_rows, preset, presets, n_weights=n_weights, has_held_out=held_out)
    for name in ("lr", "batch_size", "epochs", "patience"):
        assert 0 < chosen[name] < math.inf, name
    assert all(isinstance(chosen[name], int) for name in ("batch_size", "epochs", "patience"))


@given(n_rows=ROWS, n_weights=st.integers(1, 10**7))
@settings(max_examples=100, deadline=None)
def test_steps_stay_between_the_fewest_and_the_most_and_scores_come_often_enough(n_rows, n_weights):
    chosen = length(n_rows, n_weights=n_weights)
    fewest, most = STEPS_BETWEEN_SCORES
    assert fewest <= chosen["epoch_steps"] <= most
    # The last epoch is whole.
    assert FEWEST_STEPS <= steps(chosen) < MOST_STEPS + chosen["epoch_steps"]


def test_at_ten_thousand_rows_a_training_costs_what_it_is_worth():
    for effort in (0.2, 1.0):
        chosen = length(10_000, effort=effort, n_weights=100_000)
        # Each row goes through a weight three times, by a multiplication and an addition, in each
        # of five networks; their members share the rows of a batch that is split.
        flops = 5 * 2 * 3 * 100_000 * chosen["batch_size"] * steps(chosen)
        assert flops == pytest.approx(effort * GIGAFLOPS * 1e9, rel=0.05)


def test_members_that_see_whole_batches_cost_as_much_each_and_get_fewer_steps():
    split, shared = (length(10_000, n_weights=100_000, batching=b) for b in ("split", "shared"))
    assert steps(split) == pytest.approx(4 * steps(shared), rel=0.1)


def test_more_effort_never_means_fewer_steps_and_no_limit_means_the_most():
    counts = [steps(length(10_000, effort=e)) for e in (0.01, 0.2, 1.0, 5.0, math.inf)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    assert counts[-1] >= MOST_STEPS


def test_ten_times_the_rows_take_about_five_times_as_long():
    few, many = (length(n, n_weights=300_000, batch_size=256) for n in (10_000, 100_000))
    assert steps(many) / steps(few) == pytest.approx(10**0.68, rel=0.1)


def test_without_rows_for_early_stopping_training_is_short():
    chosen = length(40, has_held_out=False, effort=math.inf)
    assert steps(chosen) <= BLIND_STEPS + chosen["epoch_steps"]
    assert steps(length(40, effort=math.inf)) >= MOST_STEPS  # negative control


@given(n_rows=ROWS)
@settings(max_examples=100, deadline=None)
def test_a_batch_is_at_most_half_the_rows_and_larger_for_large_tables(n_rows):
    batch = length(n_rows)["batch_size"]
    assert 1 <= batch <= max(1, n_rows // 2)
    if n_rows >= 2048:
        assert batch == (1024 if n_rows > 100_000 else 256)


def test_patience_is_some_scores_and_some_steps_at_least_and_grows():
    for n_rows in (40, 1000, 10_000, 10**6):
        chosen = length(n_rows)
        assert chosen["patience"] >= PATIENT_SCORES
        assert chosen["patience"] * chosen["epoch_steps"] >= PATIENT_STEPS
        assert chosen["patience_growth"] > 0


def test_explicit_settings_stay_and_epochs_are_passes_then():
    given = {"epochs": 7, "batch_size": 33, "lr": 0.1, "patience": 4}
    chosen = length(10_000, **given)
    assert {name: chosen[name] for name in given} == given
    assert chosen["epoch_steps"] is None
    assert chosen["patience_growth"] == 0


def test_small_tables_learn_more_slowly_where_the_preset_leaves_it_open():
    small, large = (length(n, presets=CLASSIFIER_PRESETS)["lr"] for n in (4_999, 5_000))
    assert small < large
    assert length(10, "fast")["lr"] == PRESETS["fast"]["lr"]


@pytest.mark.parametrize("hidden", [(), (8,), (16, 8, 4)])
def test_weights_are_counted_as_torch_has_them(hidden):
    sizes = [5, *hidden, 2]
    layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
    assert weights_of(5, hidden, 2) == sum(layer.weight.numel() for layer in layers)


def test_a_recipe_costs_what_its_embedded_columns_and_layers_multiply():
    plain = {"in_features": 8, "hidden": (128, 128), "heads": (1, 1)}
    embedded = plain | {"embedding": {"n_positions": 3, "counts": (5, 7), "width": 4}}
    for recipe, n_inputs in ((plain, 8), (embedded, 8 + 5 * 4)):
        found = length_for(PRESETS["default"], 10_000, BatchEnsemble(2), recipe, has_held_out=True)
        weights = weights_of(n_inputs, (128, 128), 2)
        assert found == length(10_000, n_weights=weights, n_networks=1, n_members=2)
