import numpy as np
import pytest
import torch

from batchensemble.nn.embeddings import Embeddings
from batchensemble.training.engines.fused.forward import dense, embed


def test_a_layer_is_a_matrix_product_a_bias_and_a_relu():
    random = np.random.default_rng(0)
    for n_rows, n_in, n_out, is_last in ((1, 1, 1, True), (6, 7, 5, False), (9, 4, 3, True)):
        x, weight = random.normal(size=(4, n_rows, n_in)), random.normal(size=(4, n_in, n_out))
        bias = random.normal(size=(4, n_out))
        expected = np.einsum("mri,mio->mro", x, weight) + bias[:, None]
        if not is_last:
            expected = np.maximum(expected, 0)
        np.testing.assert_allclose(dense(x, weight, bias, is_last), expected, atol=1e-13)


def test_members_in_a_row_share_their_inputs():
    random = np.random.default_rng(0)
    x, weight, bias = (random.normal(size=size) for size in ((2, 3, 5), (6, 5, 4), (6, 4)))
    shared = dense(x, weight, bias, False)
    assert np.array_equal(shared, dense(np.repeat(x, 3, axis=0), weight, bias, False))


@pytest.mark.parametrize("n_in", [3, 50, 64])
def test_a_row_gets_the_same_bits_whatever_comes_with_it(n_in):
    random = np.random.default_rng(0)
    x, weight, bias = (random.normal(size=size) for size in ((3, 11, n_in), (3, n_in, 9), (3, 9)))
    together = dense(x, weight, bias, True)
    for n_rows in range(1, 8):
        few = dense(np.ascontiguousarray(x[:, :n_rows]), weight, bias, True)
        assert np.array_equal(few, together[:, :n_rows])


def test_nan_stays_nan_behind_a_relu():
    assert np.isnan(dense(np.full((1, 1, 2), np.nan), np.ones((1, 2, 1)), np.zeros((1, 1)), False))


def test_embeddings_are_those_of_torch_and_numbers_beyond_all_bins_or_words_are_held():
    layer = Embeddings(2, 3, (4, 5), n_bins=6, width=3, generator=torch.Generator().manual_seed(0))
    folded = layer.double().fold(1, 1)
    random = np.random.default_rng(0)
    numbers, positions = random.normal(size=(50, 2)), random.uniform(0, 6, (50, 3))
    x = np.hstack([numbers, positions, random.integers(0, [4, 5], (50, 2))])
    x[0, 2:] = 6, 0, 3, 3, 4
    tables = folded.curves.numpy(), folded.vectors.numpy(), np.array(folded.starts, np.int64)
    expected = folded(torch.tensor(x).unsqueeze(1))[:, 0].detach().numpy()
    assert np.allclose(embed(x, 2, *tables)[0], expected, rtol=0, atol=1e-15)
    x[:, 2:] = np.nan
    assert embed(x, 2, *tables).shape == (1, 50, 17)
    x[:, 2:] = 1e300
    assert np.isfinite(embed(x, 2, *tables)[0, :, -6:]).all()
