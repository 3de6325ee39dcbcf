import numpy as np
import pandas as pd

from batchensemble.cli.evaluation import (
    LONGEST,
    MOST_CLASSES,
    N_DOUBTFUL,
    N_SHOWN,
    doubtful,
    mistakes,
)


def test_doubt_orders_the_rows_and_equals_keep_their_order():
    X = pd.DataFrame({"a": range(5)}, index=[2, 3, 5, 8, 9])
    doubt = np.array([0.5, 2.0, 1.0, 2.0, 0.1])
    sheet = doubtful(X, doubt, {"std": doubt}, "line")
    assert sheet.columns == ("line", "std", "a")
    assert sheet.rows == ((3, 2.0, 1), (8, 2.0, 3), (5, 1.0, 2), (2, 0.5, 0), (9, 0.1, 4))
    assert sheet.note == ""


def test_a_wide_or_long_table_is_cut_and_says_so():
    X = pd.DataFrame(np.zeros((100, N_SHOWN + 3)), columns=[f"c{i}" for i in range(N_SHOWN + 3)])
    sheet = doubtful(X, np.arange(100.0), {}, "row")
    assert len(sheet.rows) == N_DOUBTFUL
    assert len(sheet.columns) == 1 + N_SHOWN
    assert "3 more are not shown" in sheet.note


def test_cells_are_written_alike_within_a_column():
    X = pd.DataFrame(
        {
            "whole": [1.0, np.nan, 3.0],
            "parts": [1.0, 2.5, np.nan],
            "flag": pd.array([True, None, False], dtype="boolean"),
            "day": [pd.Timestamp("2026-01-31"), pd.NaT, pd.Timestamp("2026-02-01 12:00")],
            "text": ["x" * 100, None, "y"],
        }
    )
    rows = doubtful(X, np.array([3.0, 2.0, 1.0]), {}, "row").rows
    long = "x" * (LONGEST - 1) + "…"
    assert rows == (
        (0, 1, 1.0, "true", "2026-01-31", long),
        (1, None, 2.5, None, None, None),
        (2, 3, None, "false", "2026-02-01 12:00:00", "y"),
    )
    assert isinstance(rows[0][1], int)
    assert isinstance(rows[0][2], float)


def test_mistakes_are_counted_by_truth_and_answer_and_only_of_few_classes():
    sheet = mistakes(np.array(["a", "b"]), np.array([0, 0, 1]), np.array([0, 1, 1]))
    assert sheet.rows == (("a", 1, 1), ("b", 0, 1))
    many = np.arange(MOST_CLASSES + 1)
    assert mistakes(many, many, many) is None
