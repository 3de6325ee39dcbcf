"""Files as users have them, and commands as they give them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from batchensemble.cli.app import app

QUICK = ("--epochs", "2", "--members", "3")
BY_TOWN = ("fit", "towns.csv", "-t", "price", "--by", "town", "-o", "models", *QUICK)


def houses(n=120, seed=0):
    """Categories, dates, truth values, gaps, an id, a constant, and targets that are missing."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"h{i:04d}" for i in range(n)],
            "rooms": random.integers(1, 9, n),
            "area": random.uniform(30, 200, n).round(1),
            "town": random.choice(["Bonn", "Ulm", "Jena"], n),
            "plot": random.choice(["007", "012", "100"], n),
            "sold": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "garden": random.choice(["true", "false"], n),
            "country": "DE",
        }
    )
    frame["price"] = (50 * frame.rooms + 2 * frame.area + random.normal(0, 30, n)).round(2)
    frame.loc[3:5, "area"] = np.nan
    frame.loc[7, "town"] = None
    frame.loc[[10, 11], "price"] = np.nan
    return frame


def sales(n=60, seed=0):
    """Two series by month, beside a column that is known ahead."""
    random = np.random.default_rng(seed)
    months = pd.date_range("2018-01-01", periods=n, freq="MS")
    wave = 20 * np.sin(np.arange(n) / 6 * np.pi)
    parts = [
        pd.DataFrame(
            {
                "store": store,
                "month": months.strftime("%Y-%m-%d"),
                "sales": (level + wave + random.normal(0, 3, n)).round(1),
                "holidays": random.integers(0, 4, n),
            }
        )
        for store, level in (("north", 100), ("south", 300))
    ]
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Shell:
    folder: Path

    def __call__(self, *words, code=0, stdin=None, env=None):
        """What the command answered; the code it ended with is checked."""
        done = CliRunner(env={"COLUMNS": "80"} | (env or {})).invoke(
            app, [*map(str, words)], input=stdin
        )
        assert done.exit_code == code, done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done

    def read(self, name, **how):
        return pd.read_csv(self.folder / name, **how)
