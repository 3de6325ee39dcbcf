"""From a method to trained networks, and from these to outputs, for one model or several."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.checkpoint import Checkpoint
from batchensemble.training.direct import Direct
from batchensemble.training.engines import Source, Windows
from batchensemble.training.few_rows import FEW_ROWS
from batchensemble.training.history import History
from batchensemble.training.loop import Training, train_models, train_one_by_one
from batchensemble.training.losses import Loss
from batchensemble.training.methods import MakeNetwork, Members, Method
from batchensemble.training.networks import MLP, Network, Recurrent
from batchensemble.training.precision import single_precision

CHUNK_FLOATS, CHUNK_FLOATS_GPU = 2**19, 2**26  # few calls in little memory; fill the device
PATH_FLOATS, PATH_FLOATS_GPU = 2**23, 2**28


@dataclass(frozen=True)
class Rows:
    """What one model learns from: a seed, training rows, and rows held out for early stopping."""

    seed: int
    train: Tensor
    held_out: Tensor | None = None


def maker(
    network: Callable[..., Network],
    *sizes: Any,
    adapters: str | Sequence[str] = "rsb",
    **settings: Any,
) -> MakeNetwork:
    """Builds the same network for every method: plain, or with members that own `adapters`."""

    def make(generator: Generator, *, n_members: int | None = None) -> Network:
        return network(
            *sizes,
            n_members=n_members or 1,
            adapters="" if n_members is None else adapters,
            generator=generator,
            **settings,
        )

    return make


def fit_models(
    method: Method,
    makes: MakeNetwork | Sequence[MakeNetwork],
    loss: Loss,
    data: Source,
    training: Training | Sequence[Training],
    *,
    rows: Sequence[Rows],
    one_by_one: bool = False,
    start: Bank | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Bank, list[History]]:
    """The networks of all models, one model's after the other's, trained as one bank.

    With several ways to make a network there is a model for each of them and each of the rows:
    first all rows' by the first way. They are trained where the data are, from copies of `start`
    if there is one. With several trainings, each is that of as many of the networks. A history for
    each training, or with `one_by_one` for each network.
    """
    device = data.device
    makes = makes if isinstance(makes, Sequence) else [makes]
    rows = [model for _ in makes for model in rows]
    per_network = [model for model in rows for _ in range(method.n_networks)]
    seeds = [
        int(seed)
        for model in rows
        for seed in np.random.SeedSequence(model.seed).generate_state(method.n_networks)
    ]
    ways = [make for make in makes for _ in range(len(seeds) // len(makes))]
    if start is None:
        networks = zip(ways, seeds, strict=True)
        made = [method.network(make, Generator().manual_seed(seed)) for make, seed in networks]
        bank = Bank(made).to(device, data.dtype)
    else:
        bank = start[:].to(device, data.dtype)
    generators = [Generator(device).manual_seed(seed) for seed in seeds]
    own_rows = [model.train for model in per_network]
    trainings = [training] if isinstance(training, Training) else training
    if one_by_one:
        histories = train_one_by_one(
            bank, loss, data, trainings[0], rows=own_rows, generators=generators
        )
        return bank, histories
    held_out = [model.held_out for model in per_network if model.held_out is not None]
    histories = train_models(
        bank,
        loss,
        data,
        trainings,
        rows=own_rows,
        generators=generators,
        held_out=held_out or None,
        ensemble_size=method.n_networks,
        is_warm=start is not None,
        checkpoint=checkpoint,
    )
    return bank, histories


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The trained networks of one model; nothing in it changes.

    method  how the networks give several predictions
    recipe  the arguments that each network was made with
    seed    of the masks of MC dropout
    dtype   tables predict in float64: in float32 a row's prediction would depend, in the seventh
            digit, on how many rows come with it
    """

    method: Method
    recipe: dict[str, Any]
    bank: Bank
    seed: int
    dtype: torch.dtype = field(default=torch.float64, kw_only=True)

    @cached_property
    def members(self) -> Members:
        """The networks ready to predict."""
        return make_members(self.method, self.bank, self.seed, self.dtype)

    @property
    def device(self) -> torch.device:
        return self.bank.theta.device

    def __getstate__(self) -> dict[str, Any]:
        # The members are made again from the bank, which is smaller.
        return {name: value for name, value in vars(self).items() if name != "members"}


def make_members(
    method: Method, bank: Bank, seed: int, dtype: torch.dtype = torch.float64
) -> Members:
    """The trained networks ready to predict."""
    return method.members(bank.to(bank.theta.device, dtype), Generator().manual_seed(seed))


def predict_rows(
    members: Members, x: NDArray[np.float32], device: torch.device
) -> Iterator[NDArray[np.float64]]:
    """(rows, predictions, outputs), in chunks of bounded memory."""
    few_rows = members.of_few_rows() if len(x) <= FEW_ROWS else None
    if few_rows is not None:
        outputs = few_rows(x)
        n_alike = members.n_members // outputs.shape[1]
        yield outputs if n_alike == 1 else outputs.repeat(n_alike, axis=1)
        return
    assert isinstance(members.network, MLP)
    widest = max(x.shape[1], members.network.n_inputs, *members.network.hidden, 1)
    budget = CHUNK_FLOATS_GPU if device.type == "cuda" else CHUNK_FLOATS
    size = max(1, budget // (members.n_members * widest))
    start = 0
    while start < len(x):
        try:
            part = torch.tensor(x[start : start + size], dtype=torch.float64, device=device)
            n_rows = len(part)
            with torch.inference_mode():
                # BLAS adds in another order for one row alone than for one among others.
                part = part.expand(2, -1) if n_rows == 1 else part
                outputs = members(part)[:n_rows].cpu().contiguous().numpy()
        except torch.OutOfMemoryError:
            size = _halved(size)
            continue
        yield outputs
        start += size


def sample_paths(
    members: Members,
    windows: Windows,
    starts: NDArray[np.int64],
    seeds: Sequence[int],
    n_paths: int,
) -> Iterator[NDArray[np.float64]]:
    """Paths of each member in scaled units, (windows, members, n_paths, horizon), in chunks.

    Every window has its own seed, so that its paths do not depend on the windows beside it; with a
    longer horizon they begin as with a shorter one.
    """
    network = members.network
    assert isinstance(network, Recurrent | Direct)
    masks = None if members.masks is None else members.masks.to(windows.device)
    floats = n_paths * members.n_members * network.floats_a_path
    budget = PATH_FLOATS_GPU if windows.device.type == "cuda" else PATH_FLOATS
    size = max(1, budget // floats)
    paths_at_once = max(1, n_paths * budget // floats)
    first = 0
    while first < len(starts):
        rows = torch.tensor(starts[first : first + size], device=windows.device)
        x, _ = windows.take(rows)
        own = seeds[first : first + size]
        try:
            with torch.inference_mode(), single_precision():
                noise = path_noise(own, n_paths, members.n_members, windows.horizon)
                noise = noise.to(windows.device)
                parts = [network.simulate(x, part, masks) for part in noise.split(paths_at_once, 1)]
                paths = torch.cat(parts, 1).transpose(1, 2)
        except torch.OutOfMemoryError:
            if size > 1:
                size = _halved(size)
            else:
                paths_at_once = _halved(min(paths_at_once, n_paths))
            continue
        first += size
        scale, location = windows.scale[rows], windows.location[rows]
        yield (
            (paths * scale[:, None, None, None] + location[:, None, None, None])
            .double()
            .cpu()
            .numpy()
        )


def _halved(size: int) -> int:
    """For the next attempt, after a GPU has run out of memory; at the size of 1 it gives up."""
    if size == 1:
        raise torch.OutOfMemoryError(
            "the device has too little memory for a single row; predict on the CPU "
            '(device="cpu"), or free memory'
        )
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return size // 2


def path_noise(seeds: Sequence[int], n_paths: int, n_members: int, horizon: int) -> Tensor:
    """Standard noise of windows with these seeds, (windows, n_paths, members, horizon)."""
    noise = torch.stack([_noise(seed, (horizon, n_paths, n_members)) for seed in seeds])
    return noise.permute(0, 2, 3, 1)


def _noise(seed: int, shape: tuple[int, int, int]) -> Tensor:
    """Step by step: drawn at once, the last numbers would depend on how many there are."""
    generator = Generator().manual_seed(seed)
    steps = range(shape[0])
    return torch.stack(
        [torch.randn(shape[1:], generator=generator, dtype=torch.float32) for _ in steps]
    )
