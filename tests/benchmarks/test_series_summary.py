"""The ranks and tables of the series benchmark."""

import numpy as np
import pandas as pd
import pytest
import series_summary
from scipy.stats import rankdata


@pytest.fixture
def rows():
    """Three methods on four datasets; the fourth method, the best, lacks one of them."""
    random = np.random.default_rng(0)
    cells = [(d, m) for d in ("a", "b", "c", "d") for m in ("default", "ets", "nhits")]
    cells += [(d, "deepar") for d in ("a", "b", "c")]
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


def test_the_lowest_scores_of_a_dataset_are_bold_and_a_missing_method_has_no_line(rows, capsys):
    series_summary.print_scores(rows)
    parts = capsys.readouterr().out.split("\n| **")
    assert ["DeepAR" in part for part in parts[1:]] == [True, True, True, False]
    assert "| DeepAR | **0.5** | **0.5** | 80 % | 3 |" in parts[1] + parts[2] + parts[3]


def test_coverage_counts_the_datasets_within_75_to_85_percent(rows, capsys):
    rows.loc[(rows["method"] == "ets") & (rows["dataset"] != "a"), "coverage"] = 0.9
    series_summary.print_ranks(rows)
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "AutoETS" in line]
    assert line.endswith("| 1 | 80 to 90 % |")
    (line,) = [line for line in lines if "ours" in line]
    assert line.endswith("| 4 | 80 to 80 % |")
