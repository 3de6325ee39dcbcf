import pytest

from batchensemble import load
from batchensemble.cli.request_bodies import Limits, SeriesRequests, TableRequests

pytest.importorskip("fastapi", reason="fastapi is not installed")


def test_groups_that_no_request_could_name_are_refused_before_serving(shell):
    price = load("price.be")
    test = shell.read("test.csv", dtype={"plot": str}).dropna(subset="price")
    from batchensemble.cli.columns import notations_of, table_kinds
    from batchensemble.data.reading import open_table
    from batchensemble.data.text import read_as

    test.to_csv("test.csv", index=False)
    with open_table(shell.folder / "test.csv") as file:
        X = read_as(next(file.batches()), table_kinds(price), file, notations_of(price))
    price.calibrate(X, test["price"], groups=["a", "b"] * (len(X) // 2))
    with pytest.raises(ValueError, match="calibrated by labels that are no column"):
        TableRequests(price, Limits())


def test_a_json_number_is_what_it_is_also_where_the_file_of_fit_had_a_percent(shell):
    model = load("sales.be")
    model.origin_ = {**model.origin_, "notations": {"sales": {"sign": "%"}}}
    rows = shell.read("sales.csv")[["store", "month", "sales"]].to_dict("records")
    read = SeriesRequests(model, Limits())._read(rows, is_ahead=False)
    assert read["sales"].tolist() == [row["sales"] for row in rows]
