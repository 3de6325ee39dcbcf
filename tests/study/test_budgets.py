import pytest

from batchensemble.study.budgets import widths_within
from batchensemble.study.published import N_PARAMETERS

INPUTS = {"adult": 108, "breast_cancer": 30, "phoneme": 5, "california": 8, "diabetes": 10}


def mlp(inputs, first, later, outputs=2):
    """Weights and biases of two hidden layers and the heads."""
    return (inputs + 1) * first + (first + 1) * later + (later + 1) * outputs


def batch_ensemble(inputs, first, later, outputs, n_members=10):
    """Each layer has a weight, and for each member vectors r, s and a bias."""
    heads = [(later, 1)] * 2 if outputs == "two heads" else [(later, outputs)]
    layers = [(inputs, first), (first, later), *heads]
    return sum(i * o + n_members * (i + 2 * o) for i, o in layers)


NARROWER = {  # widths of each of ten networks, and parameters of all
    "adult": ((6, 8), 7_280),
    "breast_cancer": ((10, 9), 4_290),
    "phoneme": ((14, 14), 3_240),
    "california": ((14, 14), 3_660),
    "diabetes": ((14, 13), 3_770),
}
WIDER = {
    "adult": ((143, 143), 45_879),
    "breast_cancer": ((105, 105), 21_025),
    "phoneme": ((85, 85), 13_010),
    "california": ((84, 84), 13_896),
    "diabetes": ((86, 86), 14_588),
}


@pytest.mark.parametrize("dataset", INPUTS)
def test_ten_narrower_networks_use_95_to_100_percent_of_batch_ensembles_parameters(dataset):
    inputs, budget = INPUTS[dataset], N_PARAMETERS[dataset]["batch_ensemble"]
    assert 10 * mlp(inputs, 32, 32) == N_PARAMETERS[dataset]["deep_ensemble"]
    widths = widths_within(lambda a, b: 10 * mlp(inputs, a, b), budget)
    size = 10 * mlp(inputs, *widths)
    assert (widths, size) == NARROWER[dataset]
    assert 0.95 * budget <= size <= budget
    # No pair of widths that is more equal fits.
    for a in range(1, 33):
        for b in range(1, 33):
            if abs(a - b) < abs(widths[0] - widths[1]):
                assert not 0.95 * budget <= 10 * mlp(inputs, a, b) <= budget


@pytest.mark.parametrize("dataset", INPUTS)
def test_a_wider_batch_ensemble_uses_95_to_100_percent_of_the_deep_ensembles_parameters(dataset):
    inputs, known = INPUTS[dataset], N_PARAMETERS[dataset]
    outputs = "two heads" if dataset in ("california", "diabetes") else 2
    assert batch_ensemble(inputs, 32, 32, outputs) == known["batch_ensemble"]
    widths = widths_within(
        lambda a, b: batch_ensemble(inputs, a, b, outputs), known["deep_ensemble"]
    )
    size = batch_ensemble(inputs, *widths, outputs)
    assert (widths, size) == WIDER[dataset]
    assert 0.95 * known["deep_ensemble"] <= size <= known["deep_ensemble"]


def test_a_budget_that_no_widths_meet_is_refused_in_words():
    with pytest.raises(ValueError, match=r"no widths near 1 give 95% to 100 % of 150 parameters"):
        widths_within(lambda a, b: 100 * a * b, 150)
