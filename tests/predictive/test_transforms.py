"""Transforms against finite differences and their own definition."""

import math

import numpy as np
import pytest

from batchensemble.predictive import Transform

TRANSFORMS = {
    "above": Transform.straight(0.0),
    "within": Transform.straight(-1.0, 5.0),
    "logarithmic": Transform.logarithmic(0.7, 40.0),
    "between": Transform.between(0.0, 100.0, 2.0),
}
EACH = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)


@EACH
def test_a_transform_and_its_inverse_undo_each_other_inside(transform):
    y = np.linspace(transform.low, min(transform.high, 90.0), 999)
    z = transform.inverse(y)
    assert (np.diff(z) > 0).all()
    np.testing.assert_allclose(transform(z), y, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(transform.inverse(transform(z)), z, rtol=1e-12, atol=1e-12)


@EACH
def test_no_number_leads_out_of_the_range(transform):
    z = np.array([-np.inf, -1e30, -1.0, 0.0, 3.0, 1e3, 1e30, np.inf])
    y = transform(z)
    assert (y >= transform.low).all()
    assert (y <= transform.high).all()
    assert y[0] == transform.low
    assert y[-1] == transform.high
    assert (np.diff(y) >= 0).all()
    # Beyond the range, the inverse is that of its ends.
    beyond = np.array([transform.low - 7, min(transform.high, 1e9) + 7])
    np.testing.assert_array_equal(
        transform.inverse(beyond),
        transform.inverse(np.clip(beyond, transform.low, transform.high)),
    )


@EACH
def test_the_slope_is_the_derivative_and_does_not_jump(transform):
    top = min(transform.end, 20.0)
    z, h = np.linspace(transform.starts[0] + 1e-3, top - 1e-3, 501), 1e-6
    numeric = (transform(z + h) - transform(z - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(transform.log_slope(z)), numeric, rtol=1e-5)
    slopes, _ = transform.bend(np.array([transform.starts[0] - 1, transform.starts[0]]))
    assert slopes.tolist() == [0, 1]
    for start in transform.starts[1:]:
        before, after = transform.log_slope(np.array([start - 1e-9, start + 1e-9]))
        assert before == pytest.approx(after, abs=1e-6)


@pytest.mark.parametrize(
    "transform",
    [*TRANSFORMS.values(), Transform.logarithmic(1.0, 1e30)],
    ids=[*TRANSFORMS, "steep"],
)
def test_knots_are_the_bends_and_between_two_of_them_no_slope_grows_much(transform):
    knots = transform.knots
    assert (np.diff(knots) > 0).all()
    assert {*transform.starts, transform.end} <= {*knots.tolist()}
    assert np.abs(np.diff(transform.log_slope(knots[:-1]))).max(initial=0) <= 4 + 1e-9


def test_between_its_bends_it_is_a_logarithm():
    transform, y = TRANSFORMS["logarithmic"], np.array([1.0, 2.0, 4.0, 8.0])
    steps = np.diff(transform.inverse(y))
    np.testing.assert_allclose(steps, 0.7 * math.log(2), rtol=1e-12)
    low, high = transform.inverse(np.array([0.2, 0.5]))
    assert high - low == pytest.approx(0.3)


def test_between_two_ends_it_is_the_same_from_both():
    transform, y = TRANSFORMS["between"], np.linspace(0, 50, 101)
    np.testing.assert_allclose(
        transform.inverse(y) + transform.inverse(100 - y), transform.end, rtol=1e-12
    )


@pytest.mark.parametrize(
    "parts",
    [
        (0.0, math.inf, (), ()),
        (0.0, math.inf, (0.0,), (0.0, 1.0)),
        (0.0, math.inf, (1.0, 0.0), (0.0, 0.0)),
        (0.0, math.inf, (0.0,), (1.0,)),  # exponential for ever
        (0.0, math.inf, (0.0, 1.0, 800.0), (0.0, 1.0, 0.0)),  # its slope is too large
        (0.0, 7.0, (0.0,), (0.0,), 5.0),  # its end is not its largest value
        (math.nan, math.inf, (0.0,), (0.0,)),
        (0.0, math.inf, tuple(range(9)), (0.0,) * 9),
    ],
)
def test_what_is_no_rising_function_is_refused(parts):
    with pytest.raises(ValueError, match="expected"):
        Transform(*parts)


def test_at_the_end_is_the_largest_value_itself():
    random = np.random.default_rng(0)
    for high, share in zip(random.uniform(1, 99, 300), random.uniform(0.01, 0.4, 300), strict=True):
        transform = Transform.between(0.0, high, share * high)
        assert (transform(np.array([transform.end, transform.end + 1, np.inf])) == high).all()
