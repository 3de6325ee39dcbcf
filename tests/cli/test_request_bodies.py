import asyncio
import json

import numpy as np
import pandas as pd
import pytest
from loops import waited
from pydantic import ValidationError

from batchensemble import Regressor, load
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
    with pytest.raises(ValueError, match="calibrated by group labels that are not a column"):
        TableRequests(price, Limits())


def test_a_json_number_is_what_it_is_also_where_the_file_of_fit_had_a_percent(shell):
    model = load("sales.be")
    model.origin_ = {**model.origin_, "notations": {"sales": {"sign": "%"}}}
    rows = shell.read("sales.csv")[["store", "month", "sales"]].to_dict("records")
    read = SeriesRequests(model, Limits())._read(rows, is_ahead=False)
    assert read["sales"].tolist() == [row["sales"] for row in rows]


def dated(zone):
    times = pd.date_range("2026-01-01", periods=60, freq="7h", tz=zone)
    frame = pd.DataFrame({"t": times, "x": np.arange(60.0)})
    model = Regressor(preset="fast", epochs=1, random_state=0).fit(frame, times.hour + frame["x"])
    return TableRequests(model, Limits())


def asked(requests, **row):
    body = json.dumps({"rows": [{"t": None, "x": 1.0}, row]}).encode()
    return waited(requests.answer(body, False, 0.9)).frame["mean"].tolist()


@pytest.mark.parametrize(("zone", "words"), [(None, "without"), ("Europe/Berlin", "with")])
def test_times_of_json_have_a_zone_if_those_of_fit_had(zone, words):
    times = {"without": "2026-03-01T12:00", "with": "2026-03-01T12:00+05:00"}
    good, (bad,) = times.pop(words), times.values()
    assert len(asked(dated(zone), t=good, x=1.0)) == 2
    with pytest.raises(ValueError, match=f"the request, row 2, column 't': .* {words} a zone as"):
        asked(dated(zone), t=bad, x=1.0)


def test_true_is_no_number():
    assert len(asked(dated(None), t=None, x=1)) == 2
    with pytest.raises(ValidationError, match="valid number"):
        asked(dated(None), t=None, x=True)


def test_a_horizon_is_a_whole_number(shell):
    requests = SeriesRequests(load("sales.be"), Limits())
    assert len(waited(requests.answer(b'{"horizon": 1}', False, 0.9)).frame) == 2
    for horizon in (b"true", b'"1"', b"1.5"):
        with pytest.raises(ValidationError, match="valid integer"):
            requests.body.validate_json(b'{"horizon": %s}' % horizon)


def test_a_request_is_judged_by_itself_whatever_others_ask_at_the_same_time():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=60), "c": random.choice(["x", "yy", "z"], 60)})
    requests = TableRequests(
        Regressor(preset="fast", epochs=1).fit(X, random.normal(size=60)), Limits()
    )
    bodies = [json.dumps({"rows": [{"a": 1.0, "c": c}]}).encode() for c in (None, True, "x")]

    async def asked(bodies):
        answers = [requests.answer(body, is_csv=False, coverage=0.9) for body in bodies]
        return await asyncio.gather(*answers, return_exceptions=True)

    alone = [waited(asked([body]))[0] for body in bodies]
    for one, other in zip(alone, waited(asked(bodies)), strict=True):
        assert type(one) is type(other)
        if isinstance(one, ValueError):
            assert "got true and false, which are not among them" in str(other)
        else:
            pd.testing.assert_frame_equal(one.frame, other.frame.reset_index(drop=True))
    assert sum(isinstance(one, ValueError) for one in alone) == 1
