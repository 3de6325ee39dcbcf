import numpy as np
import pandas as pd
import pytest

from batchensemble import Regressor
from batchensemble.cli.scores import RANGE, sampling_words
from batchensemble.cli.subgroups import (
    FEWEST_ROWS,
    MOST_EXPLAINED_COLUMNS,
    N_EXPLAINED,
    by_subgroup,
    reasons,
)


def frame(n=300):
    random = np.random.default_rng(0)
    words = random.choice(["a", "b", "rare"], n, p=[0.5, 0.48, 0.02])
    texts = [f"t{i}" for i in range(n)]
    size = random.normal(size=n)
    return pd.DataFrame(
        {"town": words, "rooms": random.choice([10, 9, 2], n), "size": size, "id": texts}
    )


def test_shares_are_those_of_the_rows_of_each_part_and_small_parts_are_left_out():
    X = frame()
    holds = (X["town"] == "a").to_numpy() | (np.arange(300) % 2 == 0)
    doubt = X["size"].to_numpy()
    rows = by_subgroup(X, doubt, {"coverage": holds}).rows
    shares = {(row[0], row[1]): row[2:4] for row in rows}
    for town in ("a", "b"):
        inside = holds[X["town"] == town]
        assert shares["town", town] == (len(inside), inside.mean())
    assert (X["town"] == "rare").sum() < FEWEST_ROWS
    assert ("town", "rare") not in shares
    assert [row[1] for row in rows if row[0] == "rooms"] == ["2", "9", "10"]
    lowest = holds[X["size"] < X["size"].quantile(1 / 3)]
    assert shares["size", "lowest third"][1] == pytest.approx(lowest.mean(), abs=0.02)
    assert next(part for name, part in shares if name.startswith("pred")) == "lowest third"
    assert not any(name == "id" for name, _ in shares)


def test_gaps_are_no_part_and_a_table_without_parts_has_no_sheet():
    X = pd.DataFrame({"x": [None] * 12, "y": ["same"] * 12})
    assert by_subgroup(X, np.zeros(12), {"accuracy": np.ones(12, bool)}) is None


def test_each_share_has_its_range():
    X, holds = frame(), {"accuracy": np.arange(300) % 4 > 0, "coverage": np.arange(300) % 9 > 0}
    sheet = by_subgroup(X, X["size"].to_numpy(), holds)
    assert sheet.title == "Accuracy and coverage in parts of the file"
    assert sheet.columns[3:] == ("accuracy", RANGE, "coverage", RANGE)
    _, _, n, _, accuracy, share, likely = next(row for row in sheet.rows if row[1] == "b")
    assert share == holds["coverage"][X["town"] == "b"].mean()
    assert likely == sampling_words(share, n) != accuracy


def test_the_column_that_drives_a_doubtful_row_is_named_first():
    pytest.importorskip("shap", reason="shap is not installed")
    random = np.random.default_rng(0)
    X = pd.DataFrame({"noise": random.normal(size=200), "signal": random.normal(size=200)})
    y = 10 * X["signal"] + 5 * random.normal(size=200)
    settings = {"epochs": 15, "hidden": (8,), "folds": 1, "n_members": 2, "lr": 0.02}
    model = Regressor(random_state=0, **settings).fit(X, y)
    doubt = -X["signal"].to_numpy()
    drawn = reasons(model, X, doubt, "line")
    assert next(iter(drawn)) == f"line {int(np.argmin(X['signal']))}"
    assert len(drawn) == N_EXPLAINED
    mean, noise, doubt = next(iter(drawn.values()))
    assert mean.words.startswith(f"{mean.title}: signal -")
    assert [chart.title.split(":")[0] for chart in (noise, doubt)] == ["aleatoric", "epistemic"]
    wide = pd.concat([X] * MOST_EXPLAINED_COLUMNS, axis=1)
    assert reasons(model, wide, np.zeros(200), "line") == {}
