import numpy as np
import pytest
import torch
from fixtures import generator

from batchensemble.nn.members import (
    INITS,
    check_members,
    expand_members,
    gram_penalty,
    init_biases_,
    init_scales_,
)


def test_every_member_sees_the_same_rows_without_a_copy():
    x = torch.randn(5, 3)
    expanded = expand_members(x, 4)
    assert expanded.shape == (5, 4, 3)
    assert torch.equal(expanded[:, 2], x)
    assert expanded.data_ptr() == x.data_ptr()


def test_sequences_get_the_member_axis_before_the_features():
    assert expand_members(torch.randn(5, 7, 3), 4).shape == (5, 7, 4, 3)


def test_a_member_axis_of_another_length_is_refused_also_one_of_length_1():
    for members in (1, 3, 5):
        with pytest.raises(ValueError, match=r"expected \(batch, ..., members=4, features\), got"):
            check_members(torch.zeros(2, members, 3), 4)
    with pytest.raises(ValueError, match="call expand_members"):
        check_members(torch.zeros(4), 4)
    check_members(torch.zeros(2, 4, 3), 4)


@pytest.mark.parametrize("n_members", [0, -1, 1.5, "2", True])
def test_an_ensemble_has_a_whole_number_of_members(n_members):
    with pytest.raises(ValueError, match="at least 1"):
        expand_members(torch.zeros(2, 3), n_members)


def test_random_signs_are_written_are_signs_and_differ_between_members():
    vectors = init_scales_(torch.full((10, 64), torch.nan), "random_sign", generator())
    assert set(vectors.unique().tolist()) == {-1.0, 1.0}
    assert len({tuple(row) for row in vectors.tolist()}) == 10
    assert 0.4 < (vectors > 0).float().mean() < 0.6  # 640 fair coins: 0.5 +- 0.02


def test_ones_are_ones_and_normal_has_mean_1_and_sd_one_half():
    assert (init_scales_(torch.zeros(3, 4), "ones", None) == 1).all()
    values = init_scales_(torch.zeros(100, 100), "normal", generator())
    assert values.mean().item() == pytest.approx(1, abs=0.02)
    assert values.std().item() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("shape", [(4, 9), (9, 9)])
def test_orthogonal_rows_are_orthogonal_and_as_long_as_random_signs(shape):
    rows = init_scales_(torch.zeros(shape), "orthogonal", generator())
    assert torch.allclose(rows @ rows.T, shape[1] * torch.eye(shape[0]), atol=1e-4)


@pytest.mark.parametrize("shape", [(10, 3), (10, 1)])
def test_with_more_members_than_features_columns_are_orthogonal_and_the_size_is_kept(shape):
    rows = init_scales_(torch.zeros(shape), "orthogonal", generator())
    gram = rows.T @ rows
    assert torch.allclose(gram, gram.diagonal().mean() * torch.eye(shape[1]), atol=1e-4)
    assert rows.square().sum().item() == pytest.approx(shape[0] * shape[1], rel=1e-5)


def test_biases_start_at_zero_or_as_orthogonal_unit_rows():
    for init in INITS:
        bias = init_biases_(torch.full((4, 9), torch.nan), init, generator())
        expected = torch.eye(4) if init == "orthogonal" else torch.zeros(4, 4)
        assert torch.allclose(bias @ bias.T, expected, atol=1e-5)
    assert (init_biases_(torch.ones(9), "orthogonal", None) == 0).all()


def test_an_unknown_word_is_answered_with_the_known_ones_and_the_closest():
    with pytest.raises(ValueError, match=r"'random_sign', 'ones'.*did you mean 'random_sign'"):
        init_scales_(torch.zeros(2, 2), "random_signs", None)


def test_the_same_generator_gives_the_same_first_values():
    a, b = (init_scales_(torch.zeros(5, 5), "normal", generator(3)) for _ in range(2))
    assert torch.equal(a, b)


def test_the_penalty_is_0_for_orthogonal_members_1_for_copies_and_0_for_one():
    assert gram_penalty(3 * torch.eye(4)).item() == 0
    assert gram_penalty(torch.randn(1, 6).repeat(5, 1)).item() == pytest.approx(1)
    assert gram_penalty(torch.randn(1, 6)).item() == 0


def test_the_penalty_is_the_mean_squared_cosine_between_different_members():
    vectors = torch.randn(4, 6, generator=generator())
    cosines = [
        torch.cosine_similarity(vectors[i], vectors[j], dim=0) ** 2
        for i in range(4)
        for j in range(4)
        if i != j
    ]
    assert gram_penalty(vectors).item() == pytest.approx(
        torch.stack(cosines).mean().item(), rel=1e-5
    )


def test_descending_the_penalty_pulls_members_apart_also_from_zero_biases():
    vectors = torch.randn(3, 8, generator=generator()).requires_grad_()
    before = gram_penalty(vectors)
    (gradient,) = torch.autograd.grad(before, vectors)
    assert gram_penalty(vectors - 0.1 * gradient) < before
    zero = torch.zeros(3, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(gram_penalty(zero), zero)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("init", INITS)
def test_layers_of_half_precision_start_as_others_do(init, dtype):
    vectors = init_scales_(torch.empty(2, 400, dtype=dtype), init, generator(0)).float()
    assert vectors.square().mean() == pytest.approx(1.25 if init == "normal" else 1.0, rel=0.1)
    if init == "orthogonal":
        assert abs(float(vectors[0] @ vectors[1])) < 0.1
    assert init_biases_(torch.empty(2, 4, dtype=dtype), init, generator(0)).isfinite().all()


@pytest.mark.parametrize("x", [torch.tensor(1.0), [[1.0]], np.ones((2, 3))])
def test_only_a_tensor_with_features_is_shown_to_all_members(x):
    with pytest.raises(TypeError, match=r"expected a tensor \(\.\.\., features\), got"):
        expand_members(x, 3)
