import numpy as np
import pytest
import torch
from fixtures import generator
from scipy.special import softmax

from batchensemble.estimators.heads import ClassHead, NumberHead, read_numbers
from batchensemble.training.losses import FREE, GaussianNLL

OUTPUTS = torch.randn(5, 3, 2, generator=generator(), dtype=torch.float64).numpy()


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
def test_a_number_comes_back_in_its_own_units(scaling):
    y = np.random.default_rng(0).normal(1e5, 30, size=200)
    head = NumberHead.learned(y, scaling, GaussianNLL(FREE))
    scaled = head.encode(y)
    assert scaled.dtype == np.float32
    if scaling == "standard":
        assert (scaled.mean(), scaled.std()) == pytest.approx((0, 1), abs=1e-5)
    else:
        assert (scaled.min(), scaled.max()) == (0, 1)
    outputs = np.stack([scaled, np.zeros(200)], -1)[:, None].astype(np.float64)
    dist = head.predictive(outputs)
    assert np.allclose(dist.mean, y, atol=1e-2)
    assert np.allclose(dist.std, head.scale)


def test_numbers_are_the_moments_of_the_loss_in_the_targets_units():
    loss = GaussianNLL((-3.0, 2.0))
    head = NumberHead(10.0, 2.0, loss)
    mean, log_variance = loss.moments(torch.from_numpy(OUTPUTS))
    dist = head.predictive(OUTPUTS)
    assert np.allclose(dist.means, 10 + 2 * mean.numpy())
    assert np.allclose(dist.variances, 4 * np.exp(log_variance.numpy()))
    assert np.allclose(head.disagreement(OUTPUTS), dist.means.var(1))


def test_one_number_for_all_rows_still_has_a_scale():
    assert NumberHead.learned(np.full(9, 5.0), "standard", GaussianNLL()).scale == pytest.approx(
        5e-6
    )
    assert NumberHead.learned(np.zeros(9), "minmax", GaussianNLL()).scale == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array(["a", "b"]), "expected numbers as targets, got .* use Classifier"),
        (np.array([1.0, 1e101]), "size at most 1e100, got values from 1.0 to 1e\\+101"),
    ],
)
def test_targets_that_are_no_usable_numbers_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        read_numbers(values)


@pytest.mark.parametrize("labels", [["b", "a", "c", "a"], [3, 1, 2, 1], [True, False, True, True]])
def test_labels_and_their_numbers_are_one_to_one(labels):
    values = np.array(labels)
    head = ClassHead.learned(values)
    assert head.sizes == (len(set(labels)),)
    assert np.array_equal(head.classes[head.encode(values)], values)


def test_a_temperature_divides_the_logits_of_every_member_and_no_disagreement():
    cold, warm = ClassHead(np.array([0, 1])), ClassHead(np.array([0, 1]), 2.0)
    assert np.allclose(cold.predictive(OUTPUTS).probabilities, softmax(OUTPUTS, -1))
    assert np.allclose(warm.predictive(OUTPUTS).probabilities, softmax(OUTPUTS / 2, -1))
    assert np.array_equal(cold.disagreement(OUTPUTS), warm.disagreement(OUTPUTS))
    shifted = OUTPUTS + torch.randn(5, 3, 1, generator=generator(1), dtype=torch.float64).numpy()
    assert np.allclose(cold.disagreement(shifted), cold.disagreement(OUTPUTS))
    assert not np.allclose(cold.disagreement(2 * OUTPUTS), cold.disagreement(OUTPUTS))


def test_labels_of_mixed_kinds_and_of_one_class_are_refused():
    with pytest.raises(ValueError, match="labels of one kind, got \\['int', 'str'\\]"):
        ClassHead.learned(np.array([1, "a"], dtype=object))
    with pytest.raises(ValueError, match="at least 2 classes in y, got one class"):
        ClassHead.learned(np.array([1, 1]))


@pytest.mark.parametrize("step", [1.0, 0.25, 5.0])
def test_targets_on_a_grid_have_a_narrowest_spread_of_a_tenth_of_its_steps(step):
    values = 100 + step * np.repeat([0.0, 1.0, 2.0, 7.0], 12)
    head = NumberHead.learned(values, "standard", GaussianNLL())
    assert head.grid_share(values) == pytest.approx(0.1 * step)
    assert head.grid_share(values.astype(np.float32)) == pytest.approx(0.1 * step)


def test_targets_of_many_values_or_of_one_have_no_narrowest_spread():
    head = NumberHead(0.0, 1.0, GaussianNLL())
    assert head.grid_share(np.random.default_rng(0).normal(size=200)) == 0
    assert head.grid_share(np.full(200, 3.0)) == 0
    assert head.grid_share(np.repeat(np.arange(10), 9)) == 0  # too few rows for each


def test_many_rare_classes_are_no_concern_of_scikit_learn():
    assert len(ClassHead.learned(np.arange(100)).classes) == 100  # a warning would be an error


def test_targets_that_differ_in_their_last_digits_are_told_apart():
    y = 1e15 + np.arange(8.0) / 8
    head = NumberHead.learned(y, "standard", GaussianNLL(FREE))
    assert head.scale == y.std() < 1
    assert NumberHead.learned(np.full(8, 1e15), "standard", GaussianNLL(FREE)).scale == 1e9
