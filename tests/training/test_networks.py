import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from fixtures import bank_of_forecasters, generator, randomised, torch_exported

from batchensemble.nn import expand_members
from batchensemble.training.bank import Bank
from batchensemble.training.losses import FREE, GaussianNLL
from batchensemble.training.networks import MLP, Recurrent

PARAMETERS = {  # inputs, heads: batch_ensemble, single or mc_dropout, deep_ensemble
    "adult": (108, (2,), 7_584, 4_610, 46_100),
    "breast_cancer": (30, (2,), 4_308, 2_114, 21_140),
    "phoneme": (5, (2,), 3_258, 1_314, 13_140),
    "california": (8, (1, 1), 3_704, 1_410, 14_100),
    "diabetes": (10, (1, 1), 3_788, 1_474, 14_740),
}


def count(module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("dataset", PARAMETERS)
@pytest.mark.parametrize("method", ["batch_ensemble", "single", "deep_ensemble"])
def test_the_published_parameter_counts_are_met_exactly(dataset, method):
    n_in, heads, *published = PARAMETERS[dataset]
    expected = dict(zip(["batch_ensemble", "single", "deep_ensemble"], published, strict=True))
    counts = {
        "batch_ensemble": count(MLP(n_in, heads, n_members=10)),
        "single": count(MLP(n_in, heads, adapters="")),
        "deep_ensemble": 10 * count(MLP(n_in, heads, adapters="")),
    }
    assert counts[method] == expected[method]


@pytest.mark.parametrize(
    "adapters", ["".join(s) for n in range(1, 4) for s in itertools.combinations("rsb", n)]
)
def test_every_set_of_adapters_costs_what_its_vectors_hold(adapters):
    sizes = [(8, 32), (32, 32), (32, 1), (32, 1)]
    expected = 0
    for n_in, n_out in sizes:
        expected += n_in * n_out
        expected += 10 * n_in if "r" in adapters else 0
        expected += 10 * n_out if "s" in adapters else 0
        expected += 10 * n_out if "b" in adapters else n_out
    assert count(MLP(8, (1, 1), n_members=10, adapters=adapters)) == expected


@pytest.mark.parametrize("last", range(1, 11))
def test_members_in_the_last_layers_alone_cost_only_there(last):
    words = [""] * (10 - last) + ["rsb"] * last
    deep = MLP(10, (1, 1), hidden=(32,) * 9, n_members=10, adapters=words)
    plain = count(MLP(10, (1, 1), hidden=(32,) * 9, adapters=""))
    hidden = 10 * (32 + 32 + 32) - 32
    first = 10 * (10 + 32 + 32) - 32
    heads = 2 * (10 * (32 + 1 + 1) - 1)
    extra = heads + min(last - 1, 8) * hidden + (first if last == 10 else 0)
    assert count(deep) == plain + extra


def test_widths_may_be_numbers_of_numpy():
    assert MLP(3, (1,), hidden=np.array([4, 5])).hidden == (4, 5)
    for width in (0, 2.0, "4"):
        with pytest.raises(ValueError, match="expected hidden to be whole numbers"):
            MLP(3, (1,), hidden=(width,))


def test_members_equal_plain_networks_with_their_effective_weights():
    net = randomised(MLP(5, (1, 1), hidden=(7, 6), n_members=3)).eval().double()
    x = torch.randn(9, 3, 5, generator=generator(1), dtype=torch.float64)
    for k in range(3):
        h = x[:, k]
        for layer in net.layers:
            weight = layer.weight * torch.outer(layer.s[k], layer.r[k])
            h = torch.relu(h @ weight.T + layer.bias[k])
        for j, head in enumerate(net.heads):
            weight = head.weight * torch.outer(head.s[k], head.r[k])
            expected = h @ weight.T + head.bias[k]
            assert torch.allclose(net(x)[:, k, j], expected.squeeze(-1))


def test_given_masks_switch_dropout_on_in_any_mode_and_zeros_silence_a_layer():
    net = randomised(MLP(5, (2,), hidden=(7, 6), n_members=3, dropout=0.5)).eval()
    x = expand_members(torch.randn(4, 5, generator=generator(1)), 3)
    kept = torch.ones(4, 3, 13, dtype=torch.uint8)
    assert not torch.allclose(net(x, kept), net(x))  # kept units are scaled up
    silent = kept.clone()
    silent[..., 7:] = 0
    assert torch.allclose(net(x, silent), net.heads[0].bias.expand(4, 3, 2))


def test_dropout_is_drawn_in_training_and_off_in_evaluation():
    net = MLP(5, (2,), n_members=3, dropout=0.5)
    x = expand_members(torch.randn(4, 5), 3)
    assert not torch.equal(net(x), net(x))
    net.eval()
    assert torch.equal(net(x), net(x))


def test_masks_are_independent_between_members():
    net = MLP(5, (2,), n_members=2, dropout=0.5, init="ones", generator=generator()).train()
    x = expand_members(torch.randn(64, 5), 2)
    y = net(x)
    assert not torch.allclose(y[:, 0], y[:, 1])


def test_the_same_generator_gives_the_same_network_and_leaves_the_global_seed_alone():
    state = torch.get_rng_state()
    a, b = (MLP(5, (2,), n_members=3, generator=generator(4)) for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert torch.equal(torch.get_rng_state(), state)


def test_bad_arguments_are_refused_with_words():
    with pytest.raises(ValueError, match="dropout in"):
        MLP(5, (1,), dropout=1.0)
    with pytest.raises(ValueError, match="adapters for 2 hidden layers and the heads"):
        MLP(5, (1,), adapters=["rsb", "rsb"])


def test_the_published_parameter_counts_of_the_series_networks_are_met_exactly():
    def series_network(**kwargs):
        return Recurrent(0, (1, 1), draw=GaussianNLL().draw, context=12, horizon=5, **kwargs)

    plain = [series_network(adapters="") for _ in range(10)]
    assert count(series_network(n_members=10)) == 10_790
    assert count(plain[0]) == 5_538
    assert Bank(plain).n_parameters == 55_380


CONTEXT, HORIZON, COVARIATES, BATCH = 3, 4, 2, 5
LAGS = [(1,), (1, 3), (1, 12), (7,)]
FEEDBACK = ["mean", "sample", "teacher"]


def recurrent(feedback="mean", *, lags=(1, 3), n_members=3, adapters="rsb", seed=0, **kwargs):
    settings = {"dropout": 0.5, "n_layers": 2, "hidden_size": 4, "hidden": (5, 6)} | kwargs
    net = Recurrent(
        COVARIATES,
        (1, 1),
        draw=GaussianNLL().draw,
        context=CONTEXT,
        horizon=HORIZON,
        lags=lags,
        feedback=feedback,
        n_members=n_members,
        adapters=adapters,
        **settings,
    )
    randomised(net.double(), seed)
    with torch.no_grad():
        for parameter in net.recurrent.parameters():
            parameter.mul_(0.3)  # so that no gate is shut
    return net.eval()


def normal(*shape, seed=1):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def sequences(net, n_members=3):
    return normal(BATCH, net.reach + HORIZON, n_members, 1 + COVARIATES)


def random_masks(net, *rows):
    shape = (*rows, HORIZON * net.mask_features)
    return torch.randint(2, shape, generator=generator(3), dtype=torch.uint8)


def slow_answers(net, x, masks=None, noise=None, n_steps=HORIZON):
    """One time after the other with the cells' own equations.

    x (batch, time, members, 1 + covariates), and for each step masks (steps, batch, members,
    units) and noise (steps, batch, members).
    """
    values = list(x[..., 0].unbind(1))
    cells = net.recurrent.cells
    h = [x.new_zeros(len(x), x.shape[2], cell.hidden_size) for cell in cells]
    answers = []
    for i in range(max(net.lags), net.reach + n_steps):
        lagged = torch.stack([values[i - lag] for lag in net.lags], -1)
        y = torch.cat([lagged, x[:, i, :, 1:]], -1)
        for j, cell in enumerate(cells):
            y = h[j] = cell(y, h[j])
        if i >= net.reach:
            step = i - net.reach
            answers.append(net.head(y, None if masks is None else masks[step]))
            if net.feedback != "teacher":
                values[i] = net.draw(answers[-1], None if noise is None else noise[step])
    return torch.stack(answers, 1), torch.stack(values, 1)


@pytest.mark.parametrize("lags", LAGS)
@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("adapters", ["rsb", ""])
def test_forecasts_are_a_loop_that_feeds_back_what_it_was_told_to(feedback, lags, adapters):
    net = recurrent(feedback, lags=lags, adapters=adapters)
    x, masks = sequences(net), random_masks(net, BATCH, 3)
    noise = normal(BATCH, 3, HORIZON - 1) if feedback == "sample" else None
    by_step = None
    if noise is not None:  # the last draw is not fed back
        by_step = torch.cat([noise, noise[..., :1]], -1).movedim(-1, 0)
    expected, _ = slow_answers(net, x, noise=by_step)
    assert torch.allclose(net(x, noise=noise), expected, atol=1e-10)
    parts = masks.view(BATCH, 3, HORIZON, -1).movedim(2, 0)
    expected, _ = slow_answers(net, x, parts, by_step)
    assert torch.allclose(net(x, masks, noise), expected, atol=1e-10)


def test_what_a_network_needs_of_chance_follows_its_feedback_and_dropout():
    assert [recurrent(word).noise_features for word in FEEDBACK] == [0, HORIZON - 1, 0]
    assert recurrent().mask_features == 5 + 6
    assert recurrent(dropout=0.0).mask_features == 0


def test_a_teacher_ignores_the_networks_own_predictions():
    net = recurrent("teacher")
    x = sequences(net)
    before = net(x)
    net.draw = lambda outputs, noise: outputs[..., 0] * math.nan
    assert torch.equal(net(x), before)
    changed = x.clone()
    changed[:, net.reach, :, 0] += 1  # what the first forecast is about is read by the next
    moved = (net(changed) != before).flatten(2).any(-1).any(0)
    assert moved.tolist() == [False, True, True, True]


@pytest.mark.parametrize("lags", LAGS)
@pytest.mark.parametrize("feedback", ["mean", "sample"])
def test_without_a_teacher_the_true_future_is_not_read(feedback, lags):
    net = recurrent(feedback, lags=lags)
    x, noise = sequences(net), normal(BATCH, 3, HORIZON - 1)
    unknown = x.clone()
    unknown[:, net.reach :, :, 0] = math.nan
    assert torch.equal(net(unknown, noise=noise), net(x, noise=noise))


@pytest.mark.parametrize(
    ("lags", "moved"),
    [((1,), [0, 1, 1, 1]), ((2,), [0, 0, 1, 1]), ((12, 3), [0, 0, 0, 1]), ((4,), [0, 0, 0, 0])],
)
def test_what_is_fed_back_reaches_the_steps_beyond_its_lag(lags, moved):
    net = recurrent(lags=lags)
    x = sequences(net)
    before, draw = net(x), net.draw
    net.draw = lambda outputs, noise: draw(outputs, noise) + 1
    assert (net(x) != before).flatten(2).any(-1).any(0).tolist() == [bool(m) for m in moved]


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_a_covariate_reaches_the_forecast_of_its_own_time_and_later_ones(feedback):
    net = recurrent(feedback)
    x = sequences(net)
    before = net(x)
    x[:, net.reach + 1, :, 1] += 1
    moved = (net(x) != before).flatten(2).any(-1).any(0)
    assert moved.tolist() == [False, True, True, True]


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_every_step_has_its_own_part_of_the_masks(feedback):
    net = recurrent(feedback, lags=(1,))
    x, masks = sequences(net), torch.ones(BATCH, 3, HORIZON * net.mask_features)
    kept = net(x, masks)
    masks.view(BATCH, 3, HORIZON, -1)[:, :, 1] = 0
    silent = net(x, masks)
    biases = torch.cat([head.bias for head in net.head.heads], -1)
    assert torch.allclose(silent[:, 1], biases.expand(BATCH, 3, 2))
    assert torch.equal(silent[:, 0], kept[:, 0])
    # Only through what is fed back does it reach the steps after it.
    assert torch.equal(silent[:, 2:], kept[:, 2:]) == (feedback == "teacher")


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_masks_that_keep_all_scale_up_the_weights_that_read_what_could_be_dropped(feedback):
    net, twin = recurrent(feedback), recurrent(feedback)
    x = sequences(net)
    with torch.no_grad():
        for layer in (*twin.head.layers[1:], *twin.head.heads):
            layer.weight.div_(1 - net.dropout)
    masks = torch.ones(BATCH, 3, HORIZON * net.mask_features)
    assert torch.allclose(net(x, masks), twin(x), atol=1e-10)


def test_dropout_of_a_forecast_is_drawn_in_training_and_off_in_evaluation():
    for feedback in FEEDBACK:
        net = recurrent(feedback)
        x = sequences(net)
        assert torch.equal(net(x), net(x))
        assert not torch.equal(net.train()(x), net(x))


def slow_paths(net, x, noise, masks=None):
    """Every window, path and member on its own, the context read anew for each of them."""
    paths = torch.empty_like(noise)
    is_plain = not hasattr(net.recurrent.cells[0], "gates")
    for index in itertools.product(*map(range, noise.shape[:-1])):
        window, _, k = index
        # A network with members wants all of them: each gets member k's path, k is taken.
        n_members, member = (1, 0) if is_plain else (noise.shape[2], k)
        sequence = x[window, :, None, :].expand(1, -1, n_members, -1)
        n_steps = noise.shape[-1]
        by_step = noise[index].view(n_steps, 1, 1).expand(n_steps, 1, n_members)
        mask = None if masks is None else [masks[k : k + 1] if is_plain else masks] * n_steps
        _, values = slow_answers(net, sequence, mask, by_step, n_steps)
        paths[index] = values[0, net.reach : net.reach + n_steps, member]
    return paths


@pytest.mark.parametrize("n_steps", [1, HORIZON + 2])
@pytest.mark.parametrize("lags", LAGS)
@pytest.mark.parametrize("gates", ["czf", "z", ""])
def test_paths_are_those_of_every_window_path_and_member_on_its_own(lags, gates, n_steps):
    net = recurrent(lags=lags, gates=gates)
    x, noise = normal(2, net.reach + n_steps, 3), normal(2, 3, 3, n_steps)
    with torch.no_grad():
        paths = net.simulate(x, noise)
        assert torch.allclose(paths, slow_paths(net, x, noise), atol=1e-10)
        x[:, net.reach :, 0] = math.nan  # there are only covariates
        assert torch.equal(net.simulate(x, noise), paths)


def test_a_plain_network_samples_one_member_or_with_masks_as_many_as_there_are_masks():
    net = recurrent(n_members=1, adapters="")
    x = normal(2, net.reach + HORIZON, 3)
    masks = torch.randint(2, (4, net.mask_features), generator=generator(3), dtype=torch.uint8)
    single, dropout = normal(2, 3, 1, HORIZON), normal(2, 3, 4, HORIZON)
    with torch.no_grad():
        expected = slow_paths(net, x, single)
        assert torch.allclose(net.simulate(x, single), expected, atol=1e-10)
        expected = slow_paths(net, x, dropout, masks)
        assert torch.allclose(net.simulate(x, dropout, masks), expected, atol=1e-10)


def test_masks_of_members_stay_with_their_members_along_their_paths():
    net = recurrent()
    x, noise = normal(2, net.reach + HORIZON, 3), normal(2, 3, 3, HORIZON)
    masks = torch.randint(2, (3, net.mask_features), generator=generator(3), dtype=torch.uint8)
    with torch.no_grad():
        expected = slow_paths(net, x, noise, masks)
        assert torch.allclose(net.simulate(x, noise, masks), expected, atol=1e-10)


HEAP = """
import os, resource, torch
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import Recurrent

torch.set_num_threads(1)
sizes = {"hidden_size": 64, "hidden": (64,), "n_members": 10, "dropout": 0.0}
net = Recurrent(0, (1, 1), draw=GaussianNLL().draw, context=12, horizon=5, **sizes).eval()
peaks = []
if os.fork():  # the child's peak is its own, this one's that of the process that started it
    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
with torch.inference_mode():
    for n_steps in (5, 20, 250):
        net.simulate(torch.zeros(5, 12 + n_steps, 1), torch.randn(5, 200, 10, n_steps))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((peaks[-1] - peaks[0]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_a_long_forecast_takes_the_memory_of_its_paths_and_little_more():
    run = subprocess.run([sys.executable, "-c", HEAP], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 150  # MiB: noise and paths are 10 each; with holes in the heap 400


def test_a_path_depends_on_its_own_window_noise_and_member_alone():
    net = recurrent()
    x, noise = normal(4, net.reach + HORIZON, 3), normal(4, 3, 3, HORIZON)
    paths = net.simulate(x, noise)
    some = net.simulate(x[[2, 0]], noise[[2, 0]][:, [1]])
    assert torch.allclose(some, paths[[2, 0]][:, [1]], atol=1e-12)
    other = noise.clone()
    other[1, 2, 0] += 1
    moved = (net.simulate(x, other) != paths).any(-1)
    assert moved.nonzero().tolist() == [[1, 2, 0]]


def test_another_number_of_members_than_the_networks_cannot_be_sampled():
    for n_members, n_wrong in ((3, 1), (3, 4), (1, 2)):
        net = recurrent(n_members=n_members)
        with pytest.raises(ValueError, match=f"members={n_members}"):
            net.simulate(normal(2, net.reach + 1, 3), normal(2, 3, n_wrong, 1))


@pytest.mark.parametrize("lags", LAGS)
def test_without_noise_a_path_is_the_mean_path(lags):
    net = recurrent("mean", lags=lags)
    x = normal(BATCH, net.reach + HORIZON, 3)
    path = net.simulate(x, torch.zeros(BATCH, 1, 3, HORIZON).double())[:, 0]
    assert torch.allclose(path, net(expand_members(x, 3))[..., 0].movedim(1, -1), atol=1e-10)


SCALE = 1e-3  # of the hidden state: tanh(SCALE * y) / SCALE is y to within y^2 / 3 millionths
PATHS = 200_000


def autoregression(slopes, sd, adapters):
    """A network that forecasts slope * y with standard deviation sd; each member has its slope."""
    net = Recurrent(
        0,
        (1, 1),
        draw=GaussianNLL(bounds=FREE).draw,
        context=2,
        horizon=4,
        hidden_size=1,
        hidden=(1,),
        n_members=len(slopes),
        adapters=adapters,
        dropout=0.0,
    ).double()
    slopes = torch.tensor(slopes)
    (cell,), (layer,), (mean, log_variance) = net.recurrent.cells, net.head.layers, net.head.heads
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            parameter.fill_(1.0 if name.endswith((".r", ".s")) else 0.0)
        if adapters:  # the update gate open, the candidate tanh(SCALE * y)
            cell.update.bias.fill_(100.0)
            cell.candidate.weight[0, 0] = SCALE
            mean.s.copy_(slopes.unsqueeze(1))
            mean.bias.copy_(-slopes.unsqueeze(1) / SCALE)
        else:
            cell.input.bias[1] = -100.0
            cell.input.weight[2, 0] = SCALE
            mean.bias.copy_(-slopes / SCALE)
        layer.weight.fill_(1.0)
        layer.bias.fill_(1.0)  # so that the ReLU passes all
        mean.weight.fill_(1 / SCALE if adapters else slopes.item() / SCALE)
        log_variance.bias.fill_(2 * math.log(sd))
    return net.eval()


def mean_in_theory(slope, start):
    return torch.tensor([slope**h * start for h in range(1, 5)]).double()


def covariance_in_theory(slope, sd):
    """Steps i and j share the shocks up to the earlier of them."""
    covariance = torch.zeros(4, 4).double()
    for i, j in itertools.product(range(1, 5), repeat=2):
        shared = sum(slope ** (i - m) * slope ** (j - m) for m in range(1, min(i, j) + 1))
        covariance[i - 1, j - 1] = sd**2 * shared
    return covariance


def has_mean(paths, slope, sd, start):
    error = covariance_in_theory(slope, sd).diagonal().div(len(paths)).sqrt()
    return bool(((paths.mean(0) - mean_in_theory(slope, start)).abs() < 4 * error).all())


def has_covariance(paths, slope, sd):
    """Every entry within four standard errors of a Gaussian's sample covariance."""
    theory = covariance_in_theory(slope, sd)
    variance = theory.diagonal()
    error = ((torch.outer(variance, variance) + theory.square()) / len(paths)).sqrt()
    return bool(((paths.T.cov() - theory).abs() < 4 * error).all())


@pytest.mark.parametrize(("slopes", "adapters"), [((0.9, -0.5), "rsb"), ((0.8,), "")])
@torch.no_grad()
def test_paths_of_a_linear_gaussian_network_have_the_moments_of_its_autoregression(
    slopes, adapters
):
    sd, start = 0.5, 1.5
    net = autoregression(slopes, sd, adapters)
    x = torch.full((1, net.reach + 4, 1), start, dtype=torch.float64)
    noise = normal(1, PATHS, len(slopes), 4)
    paths = net.simulate(x, noise)[0]
    # Means fed back instead of samples: the negative control. It errs in the spread alone.
    fed_means = net(expand_members(x, len(slopes))).movedim(1, -2)  # (1, members, steps, 2)
    control = net.draw(fed_means.unsqueeze(1), noise)[0]
    for k, slope in enumerate(slopes):
        assert has_mean(paths[:, k], slope, sd, start)
        assert has_covariance(paths[:, k], slope, sd)
        assert has_mean(control[:, k], slope, sd, start)
        assert not has_covariance(control[:, k], slope, sd)
    if len(slopes) > 1:  # and the members' paths know nothing of each other
        both = torch.cat([paths[:, 0], paths[:, 1]], 1).T.corrcoef()[:4, 4:]
        assert both.abs().max() < 4 / PATHS**0.5


@torch.no_grad()
def test_samples_fed_back_in_training_follow_the_same_autoregression():
    slope, sd, start = 0.9, 0.5, 1.5
    net = autoregression((slope,), sd, "rsb")
    x = torch.full((PATHS, net.reach + 4, 1, 1), start, dtype=torch.float64)
    outputs = net(x, noise=normal(PATHS, 1, 3))
    values = net.draw(outputs, normal(PATHS, 4, 1, seed=2))[..., 0]
    # The last draw is fresh, so only variances and means are those of one path.
    variance = covariance_in_theory(slope, sd).diagonal()
    assert has_mean(values, slope, sd, start)
    assert ((values.var(0) - variance).abs() < 4 * variance * (2 / PATHS) ** 0.5).all()


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"context": 0}, "context of at least 1, got 0"),
        ({"horizon": 0}, "horizon of at least 1, got 0"),
        ({"lags": (1, 0)}, "lags of at least 1, got 0"),
        ({"feedback": "means"}, "did you mean 'mean'"),
        ({"gates": "q"}, "letters 'czf'"),
        ({"dropout": 1.0}, "dropout in"),
    ],
)
def test_bad_arguments_of_a_recurrent_network_are_refused_with_words(kwargs, words):
    with pytest.raises(ValueError, match=words):
        Recurrent(0, (1, 1), draw=GaussianNLL().draw, **({"context": 2, "horizon": 2} | kwargs))


@pytest.mark.parametrize("adapters", ["rsb", ""])
@pytest.mark.parametrize("kind", ["mlp", "mean", "teacher"])
def test_torch_exports_networks_and_folded_banks_for_batches_of_any_size(kind, adapters):
    n_members = 3 if adapters else 1
    if kind == "mlp":
        one = MLP(3, (1, 1), hidden=(8, 6), n_members=n_members, adapters=adapters)
        bank, times = Bank([randomised(one), one]), ()
    else:
        bank = bank_of_forecasters(2, feedback=kind, n_members=n_members, adapters=adapters)
        bank = bank.to("cpu", torch.float32)
        times = (bank.module.reach + bank.module.horizon,)
    features = 3 if kind == "mlp" else 2
    for network in (bank.network(0), bank.folded()):
        exported = torch_exported(network, torch.randn(7, *times, network.n_members, features))
        x = torch.randn(3, *times, network.n_members, features, generator=generator())
        torch.testing.assert_close(exported(x), network(x))


def test_a_network_without_hidden_layers_draws_nothing():
    network, x = MLP(3, (1, 1), hidden=(), n_members=2).train(), torch.zeros(5, 2, 3)
    before = torch.get_rng_state()
    network(x)
    assert torch.equal(before, torch.get_rng_state())
