"""How long training and prediction take, ours against others, in one run.

    python benchmarks/speed.py [--section NAME] [--threads N] [--out FOLDER]

Prints ratios, each the median of interleaved repeats after a warm-up, with the smallest and the
largest; "others / ours" above 1 means that ours is faster. With --out it writes them and plots.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rivals import (
    EagerBatchEnsemble,
    Flat,
    Forecast,
    Layer,
    Loop,
    Net,
    Stacked,
    tabm_layer,
    torch_uncertainty_layer,
)
from torch import Generator, nn

from batchensemble import Regressor
from batchensemble.estimators.presets import PRESETS
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data, Windows
from batchensemble.training.feed import plan_and_engine
from batchensemble.training.loop import Training
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import make_method
from batchensemble.training.models import maker, predict_rows
from batchensemble.training.networks import MLP, Recurrent

K, INPUTS, ROWS, CONTEXT, HORIZON = 10, 8, 2048, 12, 5
PAPER = Training(epochs=500, batch_size=64, lr=0.005, clip_norm=0.1)
Row = dict[str, Any]
CPU = torch.device("cpu")


def interleaved(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each, taking turns after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def ratios(title: str, times: Mapping[str, list[float]], ours: str) -> list[Row]:
    rows = []
    for name, own in times.items():
        if name == ours:
            continue
        each = [theirs / mine for theirs, mine in zip(own, times[ours], strict=True)]
        rows.append({
            "what": title, "others": name, "ours": ours, "ratio": statistics.median(each),
            "low": min(each), "high": max(each),
        })  # fmt: skip
    return rows


def show(rows: Iterable[Row]) -> None:
    for row in rows:
        print(
            f"{row['what']:34} {row['others']:34} / {row['ours']:26} {row['ratio']:7.2f}   "
            f"({row['low']:.1f} to {row['high']:.1f})",
            flush=True,
        )


def table(n_rows: int = ROWS) -> Data:
    source = Generator().manual_seed(0)
    x = torch.randn(n_rows, INPUTS, generator=source)
    return Data(x, x[:, 0] * x[:, 1] + 0.3 * torch.randn(n_rows, generator=source))


class Ours:
    """A bank and its engine, as `train` has them; an epoch is what is timed."""

    def __init__(self, method: str, data: Any, make: Any, n_rows: int, n_members: int = K) -> None:
        own = make_method(method, n_members=n_members)
        networks = [own.network(make, Generator().manual_seed(i)) for i in range(own.n_networks)]
        self.bank = Bank(networks)
        generators = [Generator().manual_seed(i) for i in range(len(self.bank))]
        rows = [torch.arange(n_rows)] * len(self.bank)
        self.plan, self.engine = plan_and_engine(
            self.bank, GaussianNLL(), data, PAPER, rows=rows, generators=generators
        )

    def epoch(self) -> float:
        parts = self.plan.epoch([True] * len(self.bank))
        losses = torch.cat([self.engine.run(steps) for steps in parts])
        return float(np.mean(self.plan.epoch_means(losses)))


def of_table(method: str, data: Data, width: int = 32, n_members: int = K) -> Ours:
    make = maker(MLP, data.x.shape[1], (1, 1), hidden=(width, width))
    return Ours(method, data, make, len(data.x), n_members)


def eager(layer: Layer, data: Data, n_members: int, width: int = 32) -> Loop:
    return Loop(Net(layer, data.x.shape[1], width), data.x, data.y, n_members=n_members)


def eager_ensembles(data: Data) -> dict[str, Loop]:
    found = {
        "plain eager BatchEnsemble": eager(lambda i, o: EagerBatchEnsemble(i, o, K), data, K),
        "tabm's layer": eager(tabm_layer(K), data, K),
    }
    if find_spec("torch_uncertainty"):
        flat = Flat(Net(torch_uncertainty_layer(K), data.x.shape[1]))
        found["torch-uncertainty's layer"] = Loop(flat, data.x, data.y, n_members=K)
    else:
        print("torch-uncertainty is not installed, so not compared")
    return found


def training_of_tables(repeats: int) -> list[Row]:
    data = table()
    loops = eager_ensembles(data)
    calls: dict[str, Callable[[], object]] = {
        "BatchEnsemble": of_table("batch_ensemble", data).epoch,
        **{name: loop.epoch for name, loop in loops.items()},
    }
    rows = ratios("training step", interleaved(calls, repeats), "BatchEnsemble")
    alone = [eager(nn.Linear, data, 1) for _ in range(K)]
    stacked = eager(lambda i, o: Stacked(i, o, K), data, K)
    calls = {
        "deep ensemble (bank)": of_table("deep_ensemble", data).epoch,
        "ten networks one by one, eager": lambda: [loop.epoch() for loop in alone],
        "vectorised deep ensemble, eager": stacked.epoch,
        "our BatchEnsemble": of_table("batch_ensemble", data).epoch,
        "our single network": of_table("single", data).epoch,
    }
    return rows + ratios("training step", interleaved(calls, repeats), "deep ensemble (bank)")


def whole_fits(repeats: int) -> list[Row]:
    """Also says the final losses: a faster fit is the same fit."""
    data, epochs = table(), 150
    x, y = data.x.double().numpy(), data.y.double().numpy()
    last: dict[str, list[float]] = {"BatchEnsemble": [], "plain eager BatchEnsemble": []}
    settings: dict[str, Any] = {"preset": "paper", "epochs": epochs}
    model = Regressor("batch_ensemble", **settings)

    def ours() -> None:
        model.set_params(random_state=len(last["BatchEnsemble"])).fit(x, y)
        last["BatchEnsemble"].append(float(np.mean(model.history_[0].losses[-10:])))

    ours()
    scaled = Data(
        torch.tensor(model.model_.encoder.transform(x)),
        torch.tensor((y - model.target_location_) / model.target_scale_).float(),
    )
    loss = GaussianNLL(bounds=PRESETS["paper"]["log_variance_bounds"])

    def theirs() -> None:
        torch.manual_seed(len(last["plain eager BatchEnsemble"]))
        network = Net(lambda i, o: EagerBatchEnsemble(i, o, K), INPUTS)
        loop = Loop(network, scaled.x, scaled.y, n_members=K, loss=loss)
        losses = [loop.epoch() for _ in range(epochs)]
        last["plain eager BatchEnsemble"].append(float(np.mean(losses[-10:])))

    times = interleaved({"BatchEnsemble": ours, "plain eager BatchEnsemble": theirs}, repeats)
    for name, own in last.items():
        print(f"final training loss, {name}: {np.mean(own):.3f} (sd {np.std(own, ddof=1):.3f})")
    return ratios(f"whole fit, {epochs} epochs", times, "BatchEnsemble")


class Sine:
    """Windows of a noisy sine, for ours and for a loop in plain PyTorch."""

    def __init__(self, horizon: int = HORIZON, length: int = 400) -> None:
        source = Generator().manual_seed(0)
        values = torch.sin(torch.arange(length) / 5) + 0.1 * torch.randn(length, generator=source)
        nothing, one = torch.zeros(length), torch.ones(length)
        self.windows = Windows(values.unsqueeze(1), nothing, one, CONTEXT, horizon)
        self.horizon = horizon
        cut = values.unfold(0, CONTEXT + horizon, 1)
        self.x, self.y = cut[:, :CONTEXT].unsqueeze(-1), cut[:, CONTEXT:]

    def ours(self, method: str) -> Ours:
        make = maker(
            Recurrent, 0, (1, 1), draw=GaussianNLL().draw, context=CONTEXT, horizon=self.horizon
        )
        return Ours(method, self.windows, make, len(self.x))

    def plain(self) -> Loop:
        network = Forecast(lambda i, o: EagerBatchEnsemble(i, o, K), CONTEXT, self.horizon)
        return Loop(network, self.x, self.y, n_members=K)


def training_of_series(repeats: int) -> list[Row]:
    sine = Sine()
    calls: dict[str, Callable[[], object]] = {
        "GRUBE": sine.ours("batch_ensemble").epoch,
        "plain time loop": sine.plain().epoch,
        "our deep ensemble of GRUs": sine.ours("deep_ensemble").epoch,
        "torch.nn.GRU, one network": TorchGRU(sine.x, sine.y).epoch,
    }
    return ratios("training step, series", interleaved(calls, repeats), "GRUBE")


class TorchGRU(Loop):
    """One `torch.nn.GRU` that reads the context and answers all steps at once: a lower bound."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        class Network(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.gru = nn.GRU(1, 32, batch_first=True)
                self.head = Net(nn.Linear, 32)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                _, h = self.gru(x[:, :, 0])
                return self.head(h[0])[:, None, None].expand(-1, HORIZON, 1, -1)

        super().__init__(Network(), x, y, n_members=1)


def predictions(repeats: int) -> list[Row]:
    data = table()
    x, y = data.x.double().numpy(), data.y.double().numpy()
    settings: dict[str, Any] = {"preset": "paper", "epochs": 2}
    ours = Regressor("batch_ensemble", **settings, random_state=0).fit(x, y)
    one = Regressor("single", **settings, random_state=0).fit(x, y)
    ten = [Regressor("single", **settings, random_state=i).fit(x, y) for i in range(K)]
    rows = []
    for n_rows in (1, 1_000, 1_000_000):
        new = np.resize(x, (n_rows, INPUTS))
        calls: dict[str, Callable[[], object]] = {
            "BatchEnsemble": lambda new=new: ours.predict_dist(new),  # type: ignore[misc]
            "ten separate networks": lambda new=new: [m.predict_dist(new) for m in ten],  # type: ignore[misc]
            "one network": lambda new=new: one.predict_dist(new),  # type: ignore[misc]
        }
        few = min(repeats, 3) if n_rows > 1_000 else repeats
        title = f"prediction of {n_rows:,} rows"
        rows += ratios(title, interleaved(calls, few), "BatchEnsemble")
        encoded = ours.model_.encoder.transform(ours._read(new))
        others = eager_ensembles(data)
        alone: dict[str, Callable[[], object]] = {
            "BatchEnsemble": lambda x=encoded: list(
                predict_rows(ours.model_.ensemble.members, x, CPU)
            ),  # type: ignore[misc]
        }
        alone |= {
            name: partial(loop.predict, torch.tensor(encoded)) for name, loop in others.items()
        }
        title = f"network alone, {n_rows:,} rows"
        rows += ratios(title, interleaved(alone, few), "BatchEnsemble")
    return rows


def growth(repeats: int) -> list[Row]:
    """How the cost of an epoch grows, relative to ours at the first."""

    def of(data: Data, width: int = 32, k: int = K) -> tuple[Ours, Loop]:
        loop = eager(lambda i, o: EagerBatchEnsemble(i, o, k), data, k, width)
        return of_table("batch_ensemble", data, width, k), loop

    def of_horizon(horizon: int) -> tuple[Ours, Loop]:
        # As many windows as make a training worth compiling for.
        sine = Sine(horizon, length=320 + CONTEXT + horizon)
        return sine.ours("batch_ensemble"), sine.plain()

    data = table()
    axes: dict[str, dict[float, Callable[[], tuple[Ours, Loop]]]] = {
        "members": {k: partial(of, data, k=k) for k in (1, 2, 4, 8, 16, 32, 64)},
        "width": {w: partial(of, data, w) for w in (32, 64, 128, 256, 512, 1024)},
        "rows": {n: lambda n=n: of(table(n)) for n in (1_000, 10_000, 100_000, 1_000_000)},  # type: ignore[misc]
        "horizon": {h: partial(of_horizon, h) for h in (1, 5, 20, 60)},
    }
    rows: list[Row] = []
    for axis, settings in axes.items():
        base = None
        for at, make in settings.items():
            ours, loop = make()
            large = (axis == "rows" and at > 10_000) or (axis == "width" and at > 256)
            times = interleaved(
                {"ours": ours.epoch, "eager": loop.epoch}, 1 if large else max(3, repeats // 2)
            )
            found = {name: statistics.median(t) for name, t in times.items()}
            base = base or found["ours"]
            rows.append({
                "axis": axis, "at": at, "engine": type(ours.engine).__name__,
                "ours": found["ours"] / base, "eager": found["eager"] / base,
            })  # fmt: skip
            print(
                f"{axis:8} {at:>9,}: ours {rows[-1]['ours']:8.2f}, plain eager "
                f"{rows[-1]['eager']:9.2f}  times ours at the first ({rows[-1]['engine']})",
                flush=True,
            )
    return rows


SECTIONS = {
    "tables": training_of_tables,
    "fits": whole_fits,
    "series": training_of_series,
    "predictions": predictions,
}


def plot(rows: list[Row], grown: list[Row], folder: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
    for panel, axis in zip(axes, ("members", "width", "rows", "horizon"), strict=True):
        own = [row for row in grown if row["axis"] == axis]
        at = [row["at"] for row in own]
        panel.loglog(at, [row["eager"] for row in own], "s--", color="0.5", label="plain eager")
        panel.loglog(at, [row["ours"] for row in own], "o-", label="batchensemble")
        panel.set(xlabel=axis, xticks=at, xticklabels=[f"{n:g}" for n in at])
        panel.minorticks_off()
    axes[0].set_ylabel("time of an epoch\n(ours at the first = 1)")
    axes[0].legend(frameon=False)
    figure.savefig(folder / "growth.png", dpi=150)
    ours = ("our", "torch.nn.GRU")
    bars = [row for row in rows if row["what"].startswith("training step")]
    bars = [row for row in bars if not row["others"].startswith(ours)]
    figure, one = plt.subplots(figsize=(7.5, 0.4 * len(bars) + 0.8), layout="constrained")
    names = [f"{row['others']} / {row['ours']}" for row in bars]
    spread = [[r["ratio"] - r["low"] for r in bars], [r["high"] - r["ratio"] for r in bars]]
    one.barh(names, [row["ratio"] for row in bars], xerr=spread, color="#0072b2", capsize=2)
    one.axvline(1, color="0.3", lw=1)
    one.invert_yaxis()
    one.set_xlabel("times as long as ours, one thread")
    figure.savefig(folder / "training.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--section", choices=[*SECTIONS, "growth"], action="append")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(0)
    print(f"others / ours, {chosen.threads} thread{'s' * (chosen.threads > 1)}")
    rows: list[Row] = []
    for name, section in SECTIONS.items():
        if not chosen.section or name in chosen.section:
            few = chosen.repeats if name != "fits" else max(2, chosen.repeats // 4)
            found = section(few)
            show(found)
            rows += found
    grown = growth(chosen.repeats) if not chosen.section or "growth" in chosen.section else []
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"ratios": rows, "growth": grown}, indent=1)
        (chosen.out / "speed.json").write_text(text)
        plot(rows, grown, chosen.out)


if __name__ == "__main__":
    main()
