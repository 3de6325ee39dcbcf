"""Draws the pictures of the pages, all or the named ones: python docs/pictures.py [NAME ...]

On one machine a picture is the same in every run, so if it changes, its numbers have changed. All
are drawn on white, so that they are readable on dark pages too.
"""

import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter
from PIL import Image

from batchensemble import Forecaster, GaussianPredictive, Regressor
from batchensemble.metrics import interval_coverage, selective_rmse
from batchensemble.nn import BatchEnsembleLinear
from batchensemble.plots.looks import LOOKS
from batchensemble.study.datasets import load_series, load_table

FOLDER = Path(__file__).parent / "images"
INK, NOISE, DOUBT = "#222222", "#56B4E9", "#E69F00"


def forecast() -> None:
    """A series and the fan of its future."""
    series = load_series("seasonal").frame
    model = Forecaster(horizon=24, random_state=0).fit(series)
    model.plot(history=96).savefig(FOLDER / "forecast.png", dpi=120)


def gap() -> None:
    """Four methods on a noisy curve, with a gap in the middle that none of them has seen."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(-4, -1.5, 150), random.uniform(1.5, 4, 150)])
    y = np.sin(1.5 * x) + np.where(x < 0, 0.25, 0.08) * random.normal(size=len(x))
    grid = np.linspace(-6, 6, 121)
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, (method, look) in zip(axes.flat, LOOKS.items(), strict=True):
        model = Regressor(
            method,
            hidden=(64, 64),
            epochs=200,
            batch_size=64,
            lr=0.003,
            dropout=0.05,
            weight_decay=0.0,
            validation_fraction=0.0,
            random_state=0,
        ).fit(x[:, None], y)
        dist = model.predict_dist(grid[:, None])
        bands(ax, grid, dist)
        ax.plot(x, y, ".", color=INK, ms=2)
        ax.set(title=look.label, xlim=(-6, 6), ylim=(-3, 3))
        unseen, seen = dist[np.abs(grid) < 0.5], model.predict_dist(x[:, None])
        stds = (np.sqrt(part.epistemic.mean()) for part in (unseen, seen))
        print("{}: epistemic std {:.2f} in the gap, {:.2f} on the rows".format(method, *stds))
    handles = [
        Patch(color=NOISE, label="noise (aleatoric)"),
        Patch(color=DOUBT, label="noise and doubt (total)"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    save(figure, "gap.png")


def bands(ax: Axes, grid: np.ndarray, dist: GaussianPredictive) -> None:
    """Ten members' means, and two standard deviations of noise and of the total."""
    for variance, colour in ((dist.total, DOUBT), (dist.aleatoric, NOISE)):
        reach = 2 * np.sqrt(variance)
        ax.fill_between(grid, dist.mean - reach, dist.mean + reach, color=colour, lw=0)
    ax.plot(grid, dist.means[:, :10], color=INK, lw=0.5, alpha=0.6)


def layer() -> None:
    """The weight that all members share, and three members' signs of it."""
    generator = torch.Generator().manual_seed(1)
    linear = BatchEnsembleLinear(6, 4, n_members=3, generator=generator)
    weight, r, s = (p.detach().numpy() for p in (linear.weight, linear.r, linear.s))
    effective = linear.effective()[0].detach().numpy().swapaxes(1, 2)
    figure = Figure(figsize=(8, 5), layout="constrained")
    for k, (shared, signs, product) in enumerate(figure.subplots(3, 3)):
        tiles(shared, weight, "shared weight" if k == 0 else "the same weight")
        tiles(signs, np.outer(s[k], r[k]), f"outer(s, r) of member {k}")
        tiles(product, effective[k], f"what member {k} computes with")
        for ax, sign in ((signs, "×"), (product, "=")):
            ax.text(-0.14, 0.5, sign, transform=ax.transAxes, fontsize=20, ha="center", va="center")
    save(figure, "layer.png")


def trust() -> None:
    """What calibration does to coverage, and leaving out uncertain rows to the error."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    shares = np.arange(0.3, 0.951, 0.05)
    before, after = zip(*(coverages(shares, seed) for seed in range(20)), strict=True)
    left.plot([0.3, 0.95], [0.3, 0.95], ":", color=INK, lw=1)
    for held, colour, label in ((before, DOUBT, "its own"), (after, NOISE, "calibrated")):
        mean = np.mean(held, axis=0)
        left.fill_between(shares, *np.quantile(held, [0.1, 0.9], axis=0), color=colour, alpha=0.3)
        left.plot(shares, mean, color=colour, lw=2, label=label)
        print(label, mean.round(3))
    left.set(title="Intervals on Diabetes", xlabel="asked for", ylabel="found")
    left.legend(frameon=False)
    for name, colour in (("diabetes", DOUBT), ("california", NOISE)):
        table = load_table(name)
        known, new = learned_and_new(len(table.y), 0)
        model = Regressor(random_state=0).fit(table.X.iloc[known], table.y[known])
        dist = model.predict_dist(table.X.iloc[new])
        curve = selective_rmse(table.y[new], mean=dist.mean, uncertainty=dist.std)
        relative = curve.values / curve.values[-1]
        right.plot(curve.coverages, relative, color=colour, lw=2, label=name.capitalize())
        print(name, relative.round(2))
    right.set(title="Unsure rows left to people", xlabel="share of rows kept", ylim=(0, 1.1))
    right.set_ylabel("error, beside that of all rows")
    right.legend(frameon=False, loc="lower right")
    for ax in (left, right):
        ax.xaxis.set_major_formatter(PercentFormatter(1))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.spines[["top", "right"]].set_visible(False)
    save(figure, "trust.png")


def learned_and_new(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers in two halves, at most 3,000 in all."""
    rows = np.random.default_rng(seed).permutation(n_rows)[:3000]
    return tuple(np.array_split(rows, 2))  # type: ignore[return-value]


def coverages(shares: np.ndarray, seed: int) -> tuple[list[float], list[float]]:
    """Coverage of intervals of these shares on new patients, before and after calibration."""
    table = load_table("diabetes")
    known, new = learned_and_new(len(table.y), seed)
    some, new = np.array_split(new, [60])
    X, y = table.X.iloc[new], table.y[new]
    model = Regressor(random_state=seed).fit(table.X.iloc[known], table.y[known])

    def held() -> list[float]:
        ends = (model.predict_interval(X, share).T for share in shares)
        return [interval_coverage(y, lower=low, upper=high) for low, high in ends]

    before = held()
    model.calibrate(table.X.iloc[some], table.y[some])
    return before, held()


def tiles(ax: Axes, matrix: np.ndarray, title: str) -> None:
    """A matrix as tiles, blue below zero and red above."""
    limit = np.abs(matrix).max()
    ax.pcolormesh(matrix[::-1], cmap="RdBu_r", vmin=-limit, vmax=limit, edgecolors="white", lw=1)
    ax.set_title(title, fontsize=10)
    ax.set_aspect("equal")
    ax.set_axis_off()


def save(figure: Figure, name: str) -> None:
    """In 64 colours, which cuts the file to a third of its size."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110)
    Image.open(drawn).convert("RGB").quantize(64).save(FOLDER / name, optimize=True)


PICTURES = {picture.__name__: picture for picture in (forecast, gap, layer, trust)}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
