from sample_files import houses

from batchensemble.cli.training_data import read_training_table


def table(tmp_path, frame, target, task=None, drop=()):
    frame.to_csv(tmp_path / "f.csv", index=False)
    return read_training_table(tmp_path / "f.csv", target, task=task, drop=drop)


def test_what_teaches_nothing_is_left_out_with_the_reason_and_what_is_in_doubt_is_told(tmp_path):
    frame = houses().assign(empty=None, count=range(1, 121), mixed=["x"] * 119 + [None])
    frame["remark"] = [f"seen by visitor {i}" for i in range(120)]
    origin = table(tmp_path, frame, "price", drop=["town"]).origin
    assert origin.left_out == {
        "town": "dropped with --drop",
        "id": "differs in every row, like an ID",
        "country": "is the same in every row",
        "empty": "is empty",
        "remark": "differs in every row, like free text",
    }
    assert "mixed" in origin.columns  # whether it is there may tell something
    assert origin.notes == ("'count' numbers the rows; if it means nothing, add --drop count",)


def test_a_column_that_is_left_out_says_in_the_same_line_how_it_could_be_read(tmp_path):
    rows = [f"{i % 9 + 1}.{101 + 10 * (i // 9)};{i % 4};{i}" for i in range(40)]
    (tmp_path / "f.csv").write_text("\n".join(["size;rooms;price", *rows, "7;1;7"]))
    origin = read_training_table(tmp_path / "f.csv", "price", task=None, drop=()).origin
    assert origin.left_out == {
        "size": "differs in every row, like an ID; read as words: '1.101' may be 1101 or 1.101; "
        "add --decimal . or --decimal ,"
    }
    assert not any("size" in note for note in origin.notes)


def test_numbers_that_lie_as_far_apart_as_can_be_do_not_count_rows_and_warn_of_nothing(tmp_path):
    frame = houses().assign(far=[1e308, -1e308] * 60)
    assert "far" in table(tmp_path, frame, "price").origin.columns
