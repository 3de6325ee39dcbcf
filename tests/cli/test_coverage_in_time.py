import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from batchensemble.cli.coverage_in_time import (
    chart_of,
    coverage_in_time,
    in_parts,
    print_coverage_in_time,
)
from batchensemble.cli.format import percent
from batchensemble.plots.looks import look

DAYS = pd.date_range("2024-01-01", periods=60, freq="D")


def test_each_part_has_the_coverage_and_the_windows_of_its_times():
    held = np.zeros((120, 2), dtype=bool)  # two series
    cutoffs = DAYS.append(DAYS)
    held[cutoffs < DAYS[20]] = True
    held[cutoffs >= DAYS[40], 0] = True
    parts = in_parts(held, cutoffs, 3, 61)
    assert [part.coverage for part in parts] == [1.0, 0.0, 0.5]
    assert [part.n_windows for part in parts] == [40, 40, 40]
    assert (parts[1].first_cutoff, parts[2].last_cutoff) == ("2024-01-21", "2024-02-29")


@pytest.mark.parametrize(("h", "step"), [(1, 1), (4, 1), (4, 2), (4, 4), (4, 9)])
def test_the_error_is_that_of_many_repetitions_and_overlap_counts(h, step):
    random = np.random.default_rng(0)
    days = pd.date_range("2000-01-01", periods=240, freq=f"{step}D")
    shares, errors = [], []
    rows = step * np.arange(240)[:, None] + np.arange(h)  # windows may share their values
    for _ in range(100):
        held = (random.uniform(size=240 * step + h) < 0.8)[rows]
        first = in_parts(held, days, 3, len(np.unique(rows)))[0]
        shares.append(first.coverage)
        errors.append(first.error)
    assert np.mean(errors) == pytest.approx(np.std(shares), rel=0.2)


def test_too_few_windows_are_not_cut_into_parts():
    assert in_parts(np.ones((5, 3), dtype=bool), DAYS[:5], 3, 7) == []


def test_lines_and_chart_say_the_parts():
    frame = pd.DataFrame({"cutoff": DAYS.repeat(2), "truth": 0.0, "lower": -1.0, "upper": 1.0})
    frame["time"] = frame["cutoff"] + pd.to_timedelta([1, 2] * 60, "D")
    frame.loc[100:, "lower"] = 0.5
    found = coverage_in_time(frame, 2)
    console = Console(file=io.StringIO(), width=80)
    print_coverage_in_time(console, found["coverage_in_time"], 0.9)
    text = console.file.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "Coverage of the 90 % intervals in time (± standard error):" in text
    assert "2024-02-10 to 2024-02-29  50 % ±" in text
    assert "20 windows" in text
    [chart] = chart_of(found["drawn_in_time"], 0.9, look("batch_ensemble"))
    assert chart.title == f"Coverage of {percent(0.9)} intervals in time"
    assert len(chart.strips) == 10
    assert chart_of([], 0.9, look("batch_ensemble")) == []
