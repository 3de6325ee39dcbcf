"""How much worse are forecasts of the default preset where values are missing?

    OMP_NUM_THREADS=1 python benchmarks/gaps.py

60 monthly series of `quality/m3_monthly.csv.gz` and 28 stretches of 700 hours of
`quality/etth1.csv.gz`, in the folder that `BATCHENSEMBLE_DATA` names. The last season is forecast
after values were taken out: a share of them all over the series, or as many seasons as the gap is
long, so many steps before the end. The mean absolute error of each series over its mean change from
season to season, as a multiple of that without gaps.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from batchensemble import BatchEnsembleWarning, Forecaster

FOLDER = Path(os.environ["BATCHENSEMBLE_DATA"]) / "quality"
SHARES = (0.1, 0.3, 0.5)
GAPS = ((0.4, 2), (1.5, 2), (1.5, None), (4, 2))  # seasons; steps after it, None: half a season


def monthly() -> list[pd.DataFrame]:
    frame = pd.read_csv(FOLDER / "m3_monthly.csv.gz")[["unique_id", "ds", "y"]]
    chosen = frame["unique_id"].drop_duplicates().sample(60, random_state=0)
    months = pd.date_range("1980-01-01", periods=frame["ds"].max() + 1, freq="MS")
    frame = frame.assign(ds=months[frame["ds"]])
    return [own for name, own in frame.groupby("unique_id") if name in set(chosen)]


def hourly() -> list[pd.DataFrame]:
    frame = pd.read_csv(FOLDER / "etth1.csv.gz", parse_dates=["ds"])
    return [
        own[first : first + 700].assign(unique_id=f"{name} {first}")
        for name, own in frame.groupby("unique_id")
        for first in range(2000, 8000, 1500)
    ]


def error(series: list[pd.DataFrame], lost: list[np.ndarray], season: int) -> float:
    known = [
        own[:-season].assign(y=own["y"][:-season].mask(rows))
        for own, rows in zip(series, lost, strict=True)
    ]
    model = Forecaster(horizon=season, epochs=3, random_state=0).fit(pd.concat(known))
    ahead = model.predict().merge(pd.concat(series), on=["unique_id", "ds"])
    change = {own["unique_id"].iloc[0]: own["y"].diff(season).abs().mean() for own in series}
    apart = (ahead["BatchEnsemble"] - ahead["y"]).abs()
    return float((apart / ahead["unique_id"].map(change)).mean())


def cases(every: list[pd.DataFrame], season: int) -> Iterator[tuple[str, list, list]]:
    """What is missing, in words; the series; and which of their rows."""
    random = np.random.default_rng(0)
    for share in SHARES:
        lost = [random.random(len(own) - season) < share for own in every]
        for rows in lost:
            rows[[0, -1]] = False
        yield f"{share:.0%} missing", every, lost
    for seasons, after in GAPS:
        n, rest = int(seasons * season), after or season // 2
        series = [own for own in every if len(own) > n + rest + 4 * season]
        places = [np.arange(len(own) - season, 0, -1) for own in series]
        lost = [(place > rest) & (place <= rest + n) for place in places]
        yield f"{seasons} seasons missing, {rest} steps after them", series, lost


def main() -> None:
    warnings.simplefilter("ignore", BatchEnsembleWarning)
    for name, every, season in (("monthly", monthly(), 12), ("hourly", hourly(), 24)):
        for what, series, lost in cases(every, season):
            whole = [np.zeros_like(rows) for rows in lost]
            ratio = error(series, lost, season) / error(series, whole, season)
            print(f"{name}, {what}: {ratio:.2f} times the error without gaps", flush=True)


if __name__ == "__main__":
    main()
