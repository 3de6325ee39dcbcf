"""The ranks and tables of the series benchmark."""

import sys

import numpy as np
import pandas as pd
import pytest
import series_summary
from scipy.stats import rankdata

DATASETS = ["m3_monthly", "us_gasoline", "etth1", "ny_taxi"]


@pytest.fixture
def rows():
    """Three methods on four datasets; a fourth, the best, lacks one of them."""
    random = np.random.default_rng(0)
    cells = [(d, m) for d in DATASETS for m in ("default", "ets", "nhits")]
    cells += [(d, "deepar") for d in DATASETS[:3]]
    frame = pd.DataFrame(cells, columns=["dataset", "method"])
    for score in ("mase", "wql"):
        frame[score] = random.uniform(1, 2, len(frame))
        frame.loc[frame["method"] == "deepar", score] = 0.5
    return frame.assign(coverage=0.8, cpu_seconds=3.0)


def test_mean_ranks_are_those_of_the_methods_that_have_all_datasets(rows):
    ranks = series_summary.mean_ranks(rows)
    assert sorted(ranks.index) == ["default", "ets", "nhits"]
    for score in ("mase", "wql"):
        wide = rows[rows["method"] != "deepar"].pivot_table(
            index="dataset", columns="method", values=score
        )
        expected = dict(zip(wide.columns, rankdata(wide, axis=1).mean(axis=0), strict=True))
        assert ranks[score].to_dict() == pytest.approx(expected)


def test_the_tables_mark_the_lowest_score_and_leave_empty_what_is_missing(
    rows, tmp_path, monkeypatch, capsys
):
    rows.loc[(rows["method"] == "ets") & (rows["dataset"] != "etth1"), "coverage"] = 0.9
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    rows.to_csv(first, index=False)
    rows.assign(wql=0.1, mase=0.1, coverage=0.1).to_csv(second, index=False)
    monkeypatch.setattr(sys, "argv", ["series_summary.py", str(first), str(second)])
    series_summary.main()
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert "| DeepAR | **0.5000** | **0.5000** | **0.5000** |  |  |" in tables[0]
    assert "| DeepAR | **0.500** | **0.500** | **0.500** |  |  |" in tables[1]
    assert "| AutoETS | 90 % | 90 % | 80 % | 90 % | 1 |" in tables[2]
    assert "| ours | 80 % | 80 % | 80 % | 80 % | 4 |" in tables[2]
    assert "| NHITS | 3 | 3 | 3 | 3 | 12 |" in tables[3]
