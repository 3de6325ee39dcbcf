import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from batchensemble.nn.dropout import keep_masks, threshold
from batchensemble.training.engines.fused import numbers
from batchensemble.training.engines.fused.compiling import FAST

NEAR_ZERO = np.geomspace(1e-37, 1, 20_001)
WHOLE = np.concatenate([np.linspace(-200, 200, 100_001), NEAR_ZERO, -NEAR_ZERO]).astype(np.float32)
INSIDE = WHOLE[(WHOLE >= -87) & (WHOLE <= 88)]  # where float32 has room for e**x


def looped(function):
    """On every number of an array, compiled as the loops of the engine are."""

    @njit(error_model="numpy", fastmath=FAST)
    def loop(x, out):
        for i in range(len(x)):
            out[i] = function(x[i])

    def call(x):
        out = np.full_like(x, 7)
        loop(x, out)
        return out

    return call


EXP, SIGMOID, TANH, SOFTPLUS = map(
    looped, (numbers.exp, numbers.sigmoid, numbers.tanh, numbers.softplus)
)


@njit(error_model="numpy", fastmath=FAST)
def kept(key, limit, out):
    for i in range(len(out)):
        out[i] = numbers.is_kept(i, key, limit)


def relative(values, truth):
    return np.abs(values / truth - 1).max()


def test_exp_is_that_of_float64_within_1e_7_over_the_range_of_float32():
    assert relative(EXP(INSIDE), np.exp(INSIDE.astype(np.float64))) < 1.2e-7


def test_exp_is_infinite_above_the_range_of_numbers_and_stays_at_its_end_below():
    low, high = EXP(np.array([-87, 88], np.float32))
    below = EXP(np.array([-88, -1e30, -np.inf], np.float32))
    above = EXP(np.array([89, 1e30, np.inf], np.float32))
    assert (below == low).all()
    assert (above == np.inf).all()
    assert 0 < low < 2e-38
    assert 1e38 < high < np.inf


def test_exp_of_zero_is_one():
    assert EXP(np.zeros(3, np.float32)).tolist() == [1, 1, 1]


def test_sigmoid_is_that_of_float64_within_2e_7():
    truth = 1 / (1 + np.exp(-INSIDE.astype(np.float64)))
    assert relative(SIGMOID(INSIDE), truth) < 2e-7
    assert (np.diff(SIGMOID(np.sort(WHOLE))) >= -1e-7).all()
    assert SIGMOID(WHOLE).min() >= 0
    assert SIGMOID(WHOLE).max() <= 1


def test_tanh_is_that_of_float64_within_3e_7_of_one():
    # Not relative: near zero it is a difference of numbers near one, as good as weights of float32.
    values = TANH(WHOLE)
    assert np.abs(values - np.tanh(WHOLE.astype(np.float64))).max() < 3e-7
    assert np.abs(values).max() <= 1
    assert TANH(np.zeros(1, np.float32))[0] == 0


def test_softplus_is_that_of_float64_within_3e_7():
    assert relative(SOFTPLUS(INSIDE), np.logaddexp(0, INSIDE.astype(np.float64))) < 3e-7
    large = np.array([100, 1e4, 1e30, np.inf], np.float32)
    assert np.array_equal(SOFTPLUS(large), large)
    assert (SOFTPLUS(-large) < 2e-38).all()


@pytest.mark.parametrize("function", [EXP, SIGMOID, TANH, SOFTPLUS])
@pytest.mark.parametrize("n", [1, 100])
def test_nan_stays_nan_alone_and_among_others(function, n):
    x = np.zeros(n, np.float32)
    x[::3] = np.nan
    assert np.array_equal(np.isnan(function(x)), np.isnan(x))


@given(key=st.integers(-(2**31), 2**31 - 1), p=st.floats(0, 0.999), n=st.integers(1, 300))
@settings(max_examples=100, deadline=None)
def test_a_unit_is_kept_where_the_masks_of_plain_torch_keep_it(key, p, n):
    ours = np.empty(n, np.uint8)
    kept(np.int32(key), np.int32(threshold(p)), ours)
    theirs = keep_masks(torch.tensor(key, dtype=torch.int32), (n,), p)
    assert np.array_equal(ours, theirs.numpy())
