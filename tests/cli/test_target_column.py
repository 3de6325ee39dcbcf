import numpy as np
import pytest
from sample_files import houses

from batchensemble.cli.training_data import read_training_table


def table(tmp_path, frame, target, task=None, drop=()):
    frame.to_csv(tmp_path / "f.csv", index=False)
    return read_training_table(tmp_path / "f.csv", target, task=task, drop=drop)


def test_rows_without_a_target_are_left_out_and_counted_and_the_others_keep_their_lines(tmp_path):
    data = table(tmp_path, houses(), "price")
    assert (data.origin.n_rows, data.origin.n_without_target) == (120, 2)
    kept = houses().dropna(subset="price")
    assert data.y.tolist() == kept["price"].tolist()
    assert data.frame.index.tolist() == (kept.index + 2).tolist()


@pytest.mark.parametrize(
    ("target", "task", "why"),
    [
        ("price", "regression", "price has 118 distinct numbers"),
        ("town", "classification", "town has 3 distinct text values"),
        ("garden", "classification", "garden is true or false"),
        (
            "rooms",
            "classification",
            "rooms has only 8 different whole numbers; for amounts, add --task regression",
        ),
    ],
)
def test_the_task_is_recognised_and_the_reason_said(tmp_path, target, task, why):
    origin = table(tmp_path, houses(), target).origin
    assert (origin.task, origin.why) == (task, why)
    if task == "classification" and target == "rooms":
        asked = table(tmp_path, houses(), target, task="regression")
        assert asked.origin.why == "set with --task"
        assert asked.y.dtype == np.float64


def test_a_target_that_looks_like_a_mistake_is_asked_about(tmp_path):
    frame = houses()
    odd = frame.assign(price=frame["price"].astype(object))
    odd.loc[50, "price"] = "call us"
    with pytest.raises(ValueError, match=r"all but 1 cell are numbers, .*'call us' in line 52"):
        table(tmp_path, odd, "price")
    with pytest.raises(ValueError, match=r"all but 1 cell are numbers, .*'call us' in line 52"):
        table(tmp_path, odd, "price", task="regression")
    with pytest.raises(
        ValueError, match="id has 120 distinct text values in 120 rows; choose another"
    ):
        table(tmp_path, frame, "id")
    assert table(tmp_path, odd, "price", task="classification").origin.task == "classification"
