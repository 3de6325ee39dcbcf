"""How well does a panel of shops learn what promotions do, where shops differ?

    OMP_NUM_THREADS=1 python benchmarks/effects.py

Twelve shops of all sizes, 200 days, a week as season, noise of 5 % of a shop's size, and promotions
that are known ahead. The mean absolute error of the next 14 days in per cent of the shop's size, of
those with a promotion and of all, over five draws: with one effect for all shops, and with what
each one's own past says (the default).
"""

import warnings
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pandas as pd

from batchensemble import BatchEnsembleWarning, Forecaster

SHOPS, DAYS, AHEAD, SEEDS = 12, 200, 14, 5
Random = np.random.Generator

# How often a shop has a promotion, and how much more it then sells.
KINDS: dict[str, Callable[[Random, int], tuple[float, float]]] = {
    "promotions as often, lift 80 %": lambda random, i: (0.2, 0.8),
    "every other shop: 3 % of days, others: 40 %": lambda random, i: (0.03 if i % 2 else 0.4, 0.8),
    "lifts of 10 to 150 %": lambda random, i: (0.15, random.uniform(0.1, 1.5)),
}


def shops(kind: str, seed: int) -> pd.DataFrame:
    random, days = np.random.default_rng(seed), np.arange(DAYS + AHEAD)
    parts = []
    for i in range(SHOPS):
        often, lift = KINDS[kind](random, i)
        size, promo = np.exp(random.normal(4, 1)), (random.random(len(days)) < often).astype(float)
        promo[[DAYS + 3, DAYS + 9]] = 1.0
        week = 0.2 * np.sin(2 * np.pi * days / 7)
        y = size * (1 + week + lift * promo + 0.05 * random.normal(size=len(days)))
        times = pd.date_range("2024-01-01", periods=len(days))
        parts.append(pd.DataFrame({"unique_id": f"s{i}", "ds": times, "y": y, "promo": promo}))
        parts[-1]["size"] = size
    return pd.concat(parts, ignore_index=True)


def errors(rows: pd.DataFrame) -> tuple[float, float]:
    is_ahead = rows.groupby("unique_id").cumcount() >= DAYS
    known, ahead = rows[~is_ahead].drop(columns="size"), rows[is_ahead]
    model = Forecaster(horizon=AHEAD, preset="fast", future_columns=["promo"], random_state=0)
    found = model.fit(known).predict(X_df=ahead[["unique_id", "ds", "promo"]])
    both = found.merge(ahead, on=["unique_id", "ds"])
    size_of_error = 100 * np.abs(both["y"] - both["BatchEnsemble"]) / both["size"]
    return size_of_error[both["promo"] == 1].mean(), size_of_error.mean()


def main() -> None:
    warnings.simplefilter("ignore", BatchEnsembleWarning)
    place = "batchensemble.data.series_encoder.own_effects"
    for kind in KINDS:
        own, common = [], []
        for seed in range(SEEDS):
            rows = shops(kind, seed)
            own.append(errors(rows))
            with patch(place, lambda panel, *_: (_[-1], np.tile(_[-1], (len(panel), 1)))):
                common.append(errors(rows))
        words = [
            f"{name} {promoted:.1f} % ({every:.1f} % of all days)"
            for name, (promoted, every) in (
                ("one for all:", np.mean(common, axis=0)),
                ("own:", np.mean(own, axis=0)),
            )
        ]
        print(f"{kind}: {'; '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
