"""Long frames of several series for tests, and when two panels are the same."""

import numpy as np
import pandas as pd
import polars as pl

from batchensemble.data.panels import Panel

FREQS = ["D", "h", "15min", "7h", "2D", "B", "W-SUN", "W-WED", "2W-SUN"]
FREQS += ["MS", "ME", "BME", "2MS", "QS-JAN", "QE-DEC", "YS-JAN", "YE-DEC"]


def long(lengths=(5, 7), freq="D", start="2020-01-01", shift=0, seed=0, **extra):
    """A long frame of series "a", "b", ...; each starts `shift` steps after the one before."""
    rng = np.random.default_rng(seed)
    parts = []
    for i, n in enumerate(lengths):
        times = pd.date_range(start, periods=n + shift * i, freq=freq)[shift * i :]
        parts.append(pd.DataFrame({"unique_id": chr(97 + i), "ds": times, "y": rng.normal(size=n)}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(**{name: make(len(frame)) for name, make in extra.items()})


def as_polars(frame):
    dates = frame.dtypes.map(lambda dtype: dtype.kind == "M")
    return pl.DataFrame(
        {
            c: frame[c].to_numpy()
            if dates[c]
            else frame[c].astype(object).where(frame[c].notna(), None).tolist()
            for c in frame
        }
    )


def assert_same(a: Panel, b: Panel):
    assert a.ids.tolist() == b.ids.tolist()
    assert a.starts.tolist() == b.starts.tolist()
    assert a.times.tolist() == b.times.tolist()
    np.testing.assert_array_equal(a.values, b.values)
    assert a.freq == b.freq
    assert (a.columns is None) is (b.columns is None)
    for left, right in zip(a.columns or (), b.columns or (), strict=True):
        assert (left.name, left.kind) == (right.name, right.kind)
        assert str(left.values.tolist()) == str(right.values.tolist())


def exogenous(n):
    return [None if i % 4 == 3 else f"w{i}" for i in range(n)]
