import numpy as np
import pytest
import torch

from batchensemble import Regressor
from batchensemble.training.precision import single_precision


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_inside_numbers_are_single_and_outside_as_the_caller_wants_them(double):
    with single_precision():
        assert torch.zeros(1).dtype == torch.float32
        with single_precision():
            pass
        assert torch.zeros(1).dtype == torch.float32
    assert torch.zeros(1).dtype == torch.float64
    with pytest.raises(KeyError), single_precision():
        raise KeyError
    assert torch.zeros(1).dtype == torch.float64


def test_inside_products_are_not_rounded_to_half_precision():
    x = torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        with single_precision():
            assert (x @ x).dtype == torch.float32
        assert (x @ x).dtype == torch.bfloat16


def test_inside_tensors_are_made_on_the_processor_whatever_device_is_the_default():
    with torch.device("meta"):
        with single_precision():
            assert torch.zeros(1).device.type == "cpu"
        assert torch.zeros(1).device.type == "meta"


@pytest.fixture
def low():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.skipif(not hasattr(torch.backends.mkldnn, "matmul"), reason="older than torch 2.9")
def test_a_fit_is_the_same_however_products_may_be_rounded_elsewhere(low):
    random = np.random.default_rng(0)
    x = random.normal(size=(600, 64))
    y = x[:, 0] + random.normal(size=600)
    model = Regressor("mc_dropout", epochs=2, random_state=0)
    here = model.fit(x, y).predict(x)
    assert torch.get_float32_matmul_precision() == "medium"
    torch.set_float32_matmul_precision("highest")
    assert np.array_equal(here, model.fit(x, y).predict(x))
