"""Builders that several tests share: networks and banks, tables, series, frames, damaged files."""

import hashlib

import numpy as np
import pandas as pd
import torch
from torch import Generator, nn

from batchensemble import GaussianPredictive, SamplePredictive
from batchensemble.modelfile.persistence import BEFORE_DIGEST
from batchensemble.nn.dropout import draw_keys
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data, Steps, Windows
from batchensemble.training.loop import train, train_one_by_one
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP, Recurrent


def generator(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def randomised(module: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter random: a zero bias or a sign vector hides mistakes."""
    source = generator(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=source)
    return module


def line(n_rows: int = 200, n_features: int = 3, noise: float = 0.3, seed: int = 0) -> Data:
    """Rows on a plane with Gaussian noise, scaled as estimators scale them."""
    source = generator(seed)
    x = torch.randn(n_rows, n_features, generator=source)
    slope = torch.linspace(-1, 1, n_features)
    return Data(x, x @ slope + noise * torch.randn(n_rows, generator=source))


def walk(n_times: int = 80, covariates: int = 0, horizon: int = 4, reach: int = 5) -> Windows:
    """Noise around a wave, beside it covariates; every window has its own location and scale."""
    source = generator(2)
    series = torch.randn(n_times, 1 + covariates, generator=source)
    series[:, 0] += 2 * torch.sin(torch.arange(n_times) / 3)
    location, scale = torch.randn(2, n_times, generator=source)
    return Windows(series, location, (0.3 * scale).exp(), reach, horizon)


def plan_steps(
    n_steps: int,
    n_examples: int,
    *,
    n_networks: int = 3,
    batch: int = 16,
    n_members: int = 3,
    width: int = 1,
    keys: bool = False,
    seed: int = 5,
) -> Steps:
    """Random rows of unequal weights, as steps of a training with sample weights have them."""
    source = generator(seed)
    rows = torch.randint(n_examples, (n_steps, n_networks, batch, width), generator=source)
    weights = torch.rand(rows.shape, generator=source) + 0.1
    weights = weights / (weights.sum((2, 3), keepdim=True) * (n_members / width))
    return Steps(rows, weights, draw_keys((n_steps, n_networks), source) if keys else None)


def regression_table(n_rows: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, 3))
    return x, 10 + 5 * x[:, 0] - 3 * x[:, 1] + random.normal(size=n_rows)


TINY_FORECASTER = {
    "epochs": 2,
    "hidden": (8,),
    "n_members": 3,
    "n_passes": 4,
    "n_paths": 40,
    "horizon": 4,
    "random_state": 0,
}
TINY_RECURRENT = {**TINY_FORECASTER, "preset": "recurrent", "hidden_size": 8}


def seasonal_values(n=60, seed=0, level=10.0):
    """Twelve steps a season, with AR(1) noise."""
    random = np.random.default_rng(seed)
    noise = np.zeros(n)
    for t in range(1, n):
        noise[t] = 0.6 * noise[t - 1] + 0.3 * random.normal()
    return level + np.sin(2 * np.pi * np.arange(n) / 12) + noise


def long_frame(n_series=3, n=60, freq="MS", ids=None, **extra):
    parts = []
    for i in range(n_series):
        times = pd.date_range("2015-01-01", periods=n, freq=freq)
        name = f"s{i}" if ids is None else ids[i]
        parts.append(
            pd.DataFrame({"unique_id": name, "ds": times, "y": seasonal_values(n, i, 10.0 * i)})
        )
    return pd.concat(parts, ignore_index=True).assign(**extra)


SLOPE, SHOCK = 0.8, 0.5


def bank_of_mlps(n_networks=3, n_members=4, dropout=0.1, double=True):
    nets = [
        MLP(3, (1, 1), hidden=(8,), n_members=n_members, dropout=dropout, generator=generator(i))
        for i in range(n_networks)
    ]
    return Bank([net.double() if double else net for net in nets])


def doubled_line(double=True):
    d = line()
    return Data(d.x.double(), d.y.double()) if double else d


def autoregression(weight=None, scaled=True):
    """An autoregression of order 1; if scaled, each window by its own location and scale."""
    shocks = SHOCK * torch.randn(260, generator=generator(3), dtype=torch.float64)
    values = [shocks[0]]
    for shock in shocks[1:]:
        values.append(SLOPE * values[-1] + shock)
    values = torch.stack(values)
    location = torch.linspace(-1, 1, len(values)).double()
    scale = torch.linspace(0.5, 2, len(values)).double()
    if not scaled:
        location, scale = torch.zeros_like(location), torch.ones_like(scale)
    covariate = torch.linspace(0, 1, len(values)).double()
    return Windows(torch.stack([values, covariate], 1), location, scale, 4, 3, weight=weight)


def bank_of_forecasters(n_networks=3, *, feedback="mean", n_members=2, dropout=0.2, adapters="rsb"):
    nets = [
        Recurrent(
            1,
            (1, 1),
            draw=GaussianNLL().draw,
            context=3,
            horizon=3,
            lags=(1, 2),
            feedback=feedback,
            hidden_size=4,
            hidden=(5,),
            n_members=n_members,
            adapters=adapters,
            dropout=dropout,
            generator=generator(i),
        )
        for i in range(n_networks)
    ]
    return Bank([net.double() for net in nets])


def forget_members(estimator):
    """After its parameters were changed: the members are made from them again."""
    vars(estimator.model_.ensemble).pop("members", None)


def trained_bank(bank, training, *, rows=None, seed=10, data=None, one_by_one=False, **held_out):
    """The history of training a bank in place; by default on 150 rows of `doubled_line`."""
    return (train_one_by_one if one_by_one else train)(
        bank,
        GaussianNLL(),
        doubled_line() if data is None else data,
        training,
        rows=rows or [torch.arange(150)] * len(bank),
        generators=[generator(seed + i) for i in range(len(bank))],
        **held_out,
    )


def scrambled(estimator, seed=0):
    """A fitted estimator with every parameter moved: a bias near zero hides mistakes."""
    theta = estimator.model_.ensemble.bank.theta
    theta += 0.2 * torch.randn(theta.shape, generator=generator(seed))
    forget_members(estimator)
    return estimator


def onnx_session(model_or_path):
    """onnxruntime on the CPU, of a file or of bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model_or_path, options, providers=["CPUExecutionProvider"])


def onnx_answers(session, inputs):
    """All outputs by name."""
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def torch_exported(module, x):
    """The module as a program for batches of any size."""
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    return torch.export.export(module.eval(), (x,), dynamic_shapes=shapes).module()


def damaged(data: bytes, kind: str, random: np.random.Generator) -> bytes:
    """A model's file after an accident."""
    at = int(random.integers(len(data)))
    if kind == "flip":
        bit = 1 << int(random.integers(8))
        return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
    if kind == "truncation":
        return data[:at]
    if kind == "insertion":
        return data[:at] + random.bytes(int(random.integers(1, 9))) + data[at:]
    stop = min(len(data), at + int(random.integers(1, 64)))
    block = data[at:stop]
    return data[:at] + (bytes(len(block)) if any(block) else b"\1" * len(block)) + data[stop:]


def resigned(data: bytes) -> bytes:
    """With the digest that these bytes should have: changed on purpose, not by accident."""
    at = data.index(BEFORE_DIGEST) + len(BEFORE_DIGEST)
    blank = data[:at] + b"0" * 64 + data[at + 64 :]
    return data[:at] + hashlib.sha256(blank).hexdigest().encode() + data[at + 64 :]


def too_sure(n=200, seed=0, narrow=0.5):
    """Two members that know the mean and the shape of the noise, but are too sure."""
    random = np.random.default_rng(seed)
    mean, std = random.normal(size=n), np.exp(random.normal(size=n))
    y = mean + std * random.standard_t(4, size=n)
    means = np.column_stack([mean - 0.1 * std, mean + 0.1 * std])
    return y, GaussianPredictive(means, np.column_stack(2 * [(narrow * std) ** 2]))


def few_paths(n=50, h=3, seed=0):
    """Targets and twenty paths of each of two members, wider from step to step."""
    random = np.random.default_rng(seed)
    spread = np.arange(1, h + 1)
    drawn = spread * random.normal(size=(n, 2, 20, h))
    return spread * random.normal(size=(n, h)), SamplePredictive(drawn)
