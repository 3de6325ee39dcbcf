import pytest
import torch

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
