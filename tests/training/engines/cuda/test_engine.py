import dataclasses
import itertools

import pytest
import torch
from fixtures import generator

from batchensemble.nn.dropout import draw_keys
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Adam, Data, Windows, choose_engine
from batchensemble.training.engines.cuda import KernelEngine, covers
from batchensemble.training.engines.graph import GraphEngine
from batchensemble.training.engines.plain import PlainEngine, Steps
from batchensemble.training.losses import CategoricalNLL, GaussianNLL
from batchensemble.training.networks import MLP, Recurrent

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="the kernels need a CUDA device"
)
FREE = (-float("inf"), float("inf"))


class Task:
    """A bank, its data, and steps, all on the device and always the same."""

    def __init__(
        self, n_members=3, n_networks=2, n_in=5, heads=(1, 1), loss=None, adapters="rsb",
        hidden=(32, 20), dropout=0.0, batch=16, width=1, n_steps=50, clip=1.0, decay=0.0,
        penalty=0.0, spread=0.0,
    ):  # fmt: skip
        source = generator(1)
        networks = [
            MLP(
                n_in, heads, hidden=hidden, n_members=n_members, adapters=adapters,
                dropout=dropout, generator=generator(i),
            )
            for i in range(n_networks)
        ]  # fmt: skip
        self.bank = Bank(networks).to("cuda")
        noise = torch.randn(self.bank.theta.shape, generator=source)
        self.bank.theta.data.add_(spread * noise.cuda())
        self.penalty = penalty
        x = torch.randn(200, n_in, generator=source)
        y = x.sum(1) + 0.3 * torch.randn(200, generator=source)
        self.loss = loss or GaussianNLL()
        if isinstance(self.loss, CategoricalNLL):
            y = (y > 0).long()
        self.data, self.batch = Data(x.cuda(), y.cuda()), batch
        shape = (n_steps, n_networks, batch, width)
        rows = torch.randint(200, shape, generator=source)
        weights = torch.rand(shape, generator=source) / (batch * n_members)
        keys = draw_keys(shape[:2], source)
        self.steps = Steps(rows.cuda(), weights.cuda(), keys.cuda() if dropout else None)
        self.settings = {"lr": 0.005, "clip_norm": clip, "weight_decay": decay}


def run(task, kind, steps):
    """Trained parameters, Adam's first moment, and losses; "exact" is plain torch in float64."""
    bank, data = task.bank[list(range(len(task.bank)))], task.data
    if kind == "exact":
        bank, data = bank.to("cuda", torch.float64), in_double(data)
        steps = [in_double(some) for some in steps]
    adam = Adam.over(bank.theta, bank.parameter_names(), **task.settings)
    if kind == "kernel":
        engine = choose_engine(
            bank, task.loss, data, adam,
            penalty=task.penalty, batch=steps[0].rows.shape[2], n_steps=100_000,
        )  # fmt: skip
        assert isinstance(engine, KernelEngine)
    else:
        engine = PlainEngine(bank, task.loss, data, adam, penalty=task.penalty)
    losses = torch.cat([engine.run(some) for some in steps])
    return bank.theta.double(), adam.moment1.double(), losses.double()


def in_double(arrays):
    values = {field.name: getattr(arrays, field.name) for field in dataclasses.fields(arrays)}
    doubled = {
        name: value.double()
        for name, value in values.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }
    return dataclasses.replace(arrays, **doubled)


def check_against_exact(task):
    """Gradients to rounding; training no farther off than plain torch, where that goes astray.

    It does where a unit is at the corner of its ReLU, which rounding decides.
    """
    first = [part(task.steps, slice(0, 1))]
    _, gradient, _ = run(task, "kernel", first)
    assert relative(gradient, run(task, "exact", first)[1]) < 5e-6
    ours, plain, exact = (run(task, kind, [task.steps]) for kind in ("kernel", "plain", "exact"))
    for i in (0, 2):
        assert relative(ours[i], exact[i]) < max(1e-5, 2 * relative(plain[i], exact[i]))


def part(steps, which):
    keys = None if steps.keys is None else steps.keys[which]
    return Steps(steps.rows[which], steps.weights[which], keys)


def relative(a, b):
    return ((a - b).norm() / b.norm()).item()


TASKS = [
    {},
    {"adapters": "", "n_members": 1, "n_networks": 7},
    {"n_members": 10, "width": 10},
    {"loss": CategoricalNLL(), "heads": (3,), "clip": float("inf")},
    {"loss": GaussianNLL(bounds=FREE, beta=0.5)},
    {"hidden": ()},
    {"hidden": (32,) * 4, "n_in": 10},
    {"hidden": (32,) * 9, "n_in": 2, "n_members": 10, "n_steps": 20},
    {"n_in": 108, "n_members": 10},
    {"batch": 150, "decay": 0.01},
    {"n_in": 40, "hidden": (64, 64), "adapters": "", "n_members": 1, "decay": 0.01},
    {"adapters": ("", "rsb", "b"), "dropout": 0.1},
    {"n_members": 32, "dropout": 0.1},
    {"n_in": 108, "hidden": (47, 47), "adapters": "", "n_members": 1},
    {"hidden": (84, 84), "n_in": 8, "n_members": 10, "batch": 64},
    {"penalty": 1.0},
    {"penalty": (0.0, 0.5), "spread": 0.3, "n_members": 10},
    {"penalty": 0.5, "spread": 0.3, "n_in": 108, "n_members": 10, "dropout": 0.1},
    {"penalty": 0.5, "spread": 0.3, "n_members": 32, "clip": float("inf")},
    {"penalty": 0.5, "spread": 0.3, "adapters": ("", "rs", "b")},
    {"penalty": 0.5, "adapters": "", "n_members": 1},
    *({"adapters": "".join(word)} for n in (1, 2) for word in itertools.combinations("rsb", n)),
]


@pytest.mark.parametrize("task", TASKS)
def test_gradients_and_trained_parameters_are_those_of_plain_torch(task):
    check_against_exact(Task(**task))


def test_a_training_repeats_bit_for_bit_also_in_parts():
    task = Task(dropout=0.1, n_members=10)
    cuts = (slice(0, 7), slice(7, 8), slice(8, 50))
    whole, again = run(task, "kernel", [task.steps])[0], run(task, "kernel", [task.steps])[0]
    assert torch.equal(whole, again)
    parts = run(task, "kernel", [part(task.steps, cut) for cut in cuts])[0]
    assert relative(parts, whole) < 1e-5  # powers of beta begin anew


def test_a_network_without_rows_rests():
    task = Task()
    task.steps.weights[:, 1] = 0
    task.steps.weights[::2, 0] = 0
    theta, _, losses = run(task, "kernel", [task.steps])
    assert torch.equal(theta[1].float(), task.bank.theta[1])
    assert (losses[::2] == 0).all()
    expected, _, _ = run(task, "exact", [task.steps])
    assert relative(theta, expected) < 1e-4


class ForecastTask:
    """The same of series."""

    penalty = 0.0

    def __init__(
        self, n_steps=20, n_members=3, width=1, batch=16, covariates=0, n_past=0, **settings
    ):
        self.loss, source = GaussianNLL(), generator(1)
        settings = {"context": 6, "horizon": 3, "lags": (1,)} | settings
        networks = [
            Recurrent(
                covariates, (1, 1), draw=self.loss.draw, n_members=n_members,
                generator=generator(i), **settings,
            )
            for i in range(2)
        ]  # fmt: skip
        self.bank = Bank(networks).to("cuda")
        values = torch.sin(torch.arange(150) / 5) + 0.1 * torch.randn(150, generator=source)
        location = 0.1 * torch.randn(150, generator=source)
        scale = 0.5 + torch.rand(150, generator=source)
        columns = torch.randn(150, covariates, generator=source)
        series, network = torch.cat([values.unsqueeze(1), columns], 1), self.bank.module
        self.data = Windows(
            series.cuda(), location.cuda(), scale.cuda(), network.reach, network.horizon, n_past
        )
        shape = (n_steps, 2, batch, width)
        rows = torch.randint(150 - network.reach - network.horizon, shape, generator=source)
        weights = torch.rand(shape, generator=source) / (batch * n_members)
        keys = draw_keys(shape[:2], source).cuda()
        self.steps = Steps(rows.cuda(), weights.cuda(), keys if network.dropout else None)
        self.settings = {"lr": 0.005, "clip_norm": 1.0}


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.0},
        {"dropout": 0.0, "feedback": "teacher", "lags": (1, 3)},
        {"dropout": 0.0, "gates": "z", "hidden": (20,)},
        {"dropout": 0.0, "hidden_size": 13, "hidden": (14, 14)},
        {"dropout": 0.0, "adapters": "rb", "gates": "cf", "horizon": 1},
        {"dropout": 0.0, "width": 3, "hidden": ()},
        {"n_members": 10, "batch": 100},
        {"dropout": 0.0, "covariates": 3, "n_past": 1, "lags": (1, 2)},
        *(
            {"adapters": "", "n_members": 1, "dropout": 0.0} | more
            for more in (
                {},
                {"feedback": "teacher", "lags": (1, 3), "hidden": (20,)},
                {"covariates": 2, "n_past": 2, "hidden": ()},
                {"batch": 100, "dropout": 0.1},
                {"hidden_size": 13, "hidden": (14, 14), "lags": (1, 2)},
            )
        ),
    ],
)
def test_gradients_and_trained_forecasters_are_those_of_plain_torch(settings):
    task = ForecastTask(**settings)
    check_against_exact(task)
    whole, again = (run(task, "kernel", [task.steps])[0] for _ in range(2))
    assert torch.equal(whole, again)


def test_what_does_not_fit_the_chip_or_is_not_known_is_left_to_others():
    task = Task()
    adam = Adam.over(task.bank.theta, task.bank.parameter_names(), lr=0.01)

    def chosen(bank, **settings):
        engine = choose_engine(bank, task.loss, task.data, adam, batch=16, **settings)
        return type(engine)

    assert chosen(task.bank, n_steps=100_000) is KernelEngine
    assert chosen(task.bank, n_steps=100) is GraphEngine
    assert chosen(task.bank, n_steps=100_000, penalty=0.1) is KernelEngine
    wide = Bank([MLP(5, (1, 1), hidden=(256, 256), n_members=3)]).to("cuda")
    assert not covers(wide, task.loss, task.data, 16)
    assert not covers(task.bank.to("cuda", torch.float64), task.loss, task.data, 16)
