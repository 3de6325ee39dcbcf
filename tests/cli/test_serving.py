import asyncio
import datetime as dt
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fixtures import TINY_FORECASTER
from loops import waited
from sample_files import QUICK, sales

from batchensemble import Forecaster, Regressor, load
from batchensemble.cli.predictions import predict_file
from batchensemble.cli.request_bodies import Limits
from batchensemble.data.telling import BatchEnsembleWarning

httpx = pytest.importorskip("httpx", reason="httpx is not installed")
testclient = pytest.importorskip("fastapi.testclient", reason="fastapi is not installed")
from batchensemble.cli.serving import make_app  # noqa: E402

CSV = {"content-type": "text/csv"}
COLUMNS = ["rooms", "area", "town", "plot", "sold", "garden"]


def client(path, limits=None):
    return testclient.TestClient(make_app(load(path), limits or Limits()))


@pytest.fixture
def price(shell):
    with client("price.be") as at:
        yield at


@pytest.fixture
def rows(shell):
    """As a program would send them."""
    frame = shell.read("new.csv", dtype={"plot": str})[COLUMNS].astype(object)
    return json.loads(frame.where(frame.notna(), None).to_json(orient="records"))


def sent(at, rows, **more):
    answer = at.post("/predict", json={"rows": rows, **more})
    assert answer.status_code == 200, answer.text
    return pd.DataFrame(answer.json()["predictions"])


@pytest.mark.parametrize("name", ["price.be", "town.be"])
def test_rows_as_json_or_csv_get_what_predict_writes_and_a_shift_score(shell, name):
    new = shell.read("new.csv", dtype={"plot": str}).assign(price=300.5)
    new.to_csv("new.csv", index=False)
    model = load(name)
    model.model_.ensemble.members.prepare()  # as the server is: torch may round in other ways
    predict_file(model, shell.folder / "new.csv", shell.folder / "out.parquet", coverage=0.8)
    expected = pd.read_parquet("out.parquet")
    types = {"sold": pd.to_datetime(new["sold"]), "garden": new["garden"].astype(bool)}
    X = new.assign(**types)[list(model.feature_names_in_)]
    expected["shift"] = model.shift_score(X)
    frame = new[list(X)].astype(object)
    rows = json.loads(frame.where(frame.notna(), None).to_json(orient="records"))
    with client(name) as at:
        pd.testing.assert_frame_equal(sent(at, rows, coverage=0.8), expected, check_exact=True)
        lines = at.post("/predict?coverage=0.8", content=new.to_csv(index=False), headers=CSV)
    assert lines.headers["content-type"].startswith("text/csv")
    assert lines.text == expected.to_csv(index=False)


def test_a_row_gets_the_same_bits_alone_and_among_others(price, rows):
    together = sent(price, rows)
    alone = pd.concat([sent(price, [row]) for row in rows], ignore_index=True)
    pd.testing.assert_frame_equal(alone, together, check_exact=True)


BAD = {
    "town": ({"town": ...}, "column 'town': Field required"),
    "area": ({"area": "wide"}, "row 2, column 'area': .* got 'wide'"),
    "infinite": ({"area": float("inf")}, "column 'area': Input should be a finite number"),
    "sold": ({"sold": "soon"}, "row 2, column 'sold': expected a date such as 2026-01-31"),
    "garden": ({"garden": 7}, "column 'garden': Input should be a valid boolean"),
}


@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD)
def test_a_wrong_value_is_a_422_that_names_row_and_column(price, rows, change, words):
    bad = {k: v for k, v in (rows[1] | change).items() if v is not ...}
    answer = price.post("/predict", content=json.dumps({"rows": [rows[0], bad]}))
    assert answer.status_code == 422
    assert pd.Series([answer.json()["detail"]]).str.contains(words).all(), answer.text


def test_a_csv_with_a_wrong_cell_or_a_missing_column_is_a_422_that_names_it(shell, price):
    new = shell.read("new.csv", dtype={"plot": str})
    answer = price.post(
        "/predict", content=new.rename(columns={"area": "aera"}).to_csv(), headers=CSV
    )
    assert answer.status_code == 422
    assert "'area' (did you mean 'aera'?)" in answer.json()["detail"]
    wrong = new.astype({"rooms": object})
    wrong.loc[3, "rooms"] = "many"
    answer = price.post("/predict", content=wrong.to_csv(index=False), headers=CSV)
    assert answer.status_code == 422
    assert "the request, line 5, column 'rooms'" in answer.json()["detail"]
    assert price.post("/predict?coverage=2", content=new.to_csv(), headers=CSV).status_code == 422
    with pytest.warns(BatchEnsembleWarning, match="is not UTF-8"):
        odd = price.post("/predict", content=b"\xff\x00\xfe", headers=CSV)
    assert odd.status_code == 422
    assert price.post("/predict", content="{").status_code == 422


def test_a_field_that_no_request_has_is_a_422_and_not_passed_over(shell, price, rows):
    answer = price.post("/predict", json={"rows": rows, "covrage": 0.5})
    assert answer.status_code == 422
    assert "covrage: Extra inputs are not permitted" in answer.json()["detail"]
    assert len(sent(price, [row | {"beside": 1} for row in rows])) == len(rows)
    with client("sales.be") as at:  # without the history it would answer with the series of fit
        assert at.post("/predict", json={"horizon": 1}).status_code == 200
        assert at.post("/predict", json={"rows": [], "horizon": 1}).status_code == 422


def test_nothing_at_all_is_not_a_question_about_the_series_of_fit(shell):
    with client("sales.be") as at:
        none, empty = {"history": []}, {"content": b"", "headers": {"Content-Type": "text/csv"}}
        for answer in (at.post("/predict", json=none), at.post("/predict", **empty)):
            assert answer.status_code == 422
            assert "got nothing; send {} as JSON to continue" in answer.json()["detail"]
        assert at.post("/predict", json={"ahead": []}).status_code == 200


CELLS = {
    "town": [" Bonn ", "", "NA", "null", "bonn"],
    "plot": [" 007", "7", "100.0", "N/A", ""],
    "area": ["80.5", " 80.5 ", "", "NA", "1_0", "80,5", "inf"],
    "rooms": ["3", "nan", "three"],
    "garden": ["true", "FALSE", "1", "1.0", "", "yes", "on"],
    "sold": ["2024-02-03", " 2024-02-03", "", "soon"],
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.filterwarnings("ignore:.*is written differently")  # 80,5
def test_a_text_is_read_alike_in_json_and_in_csv(price, rows, name):
    for cell in CELLS[name]:
        row = rows[0] | {name: cell}
        as_json = price.post("/predict", json={"rows": [row, rows[1]]})
        lines = pd.DataFrame([row, rows[1]], dtype=object).to_csv(index=False)
        as_csv = price.post("/predict", content=lines, headers=CSV)
        assert as_json.status_code == as_csv.status_code, (cell, as_json.text, as_csv.text)
        if as_csv.status_code == 200:
            frame = pd.DataFrame(as_json.json()["predictions"])
            assert frame.to_csv(index=False) == as_csv.text, cell


def test_numbers_of_json_are_numbers_however_the_file_of_fit_wrote_them(shell):
    one = sales().query("store == 'north'")[["month", "sales"]]
    history = one.assign(sales=(one["sales"] / 37).round(3)).query("month < '2022-01-01'")
    german = history.assign(sales=history["sales"].map("{:.3f}".format).str.replace(".", ","))
    german.to_csv("german.csv", index=False, sep=";")
    words = ("-t", "sales", "--time", "month", "--horizon", 3, "-o", "german.be", *QUICK)
    shell("fit", "german.csv", *words)
    with client("german.be") as at:
        asked = [{}, *({"history": f.to_dict("records")} for f in (history, german))]
        answers = [at.post("/predict", json=body) for body in asked]
        assert [answer.status_code for answer in answers] == [200] * 3, answers[-2].text
        assert len({answer.text for answer in answers}) == 1
    fitted = german.assign(size=german["sales"], note="a")
    fitted.loc[::2, "note"] = "b"
    fitted.to_csv("german.csv", index=False, sep=";")
    shell("fit", "german.csv", "-t", "sales", "--drop", "month", "-o", "german.be", *QUICK)
    with client("german.be") as at:
        number, text = (sent(at, [{"size": size, "note": "a"}]) for size in (3.125, "3,125"))
        pd.testing.assert_frame_equal(number, text)
        with pytest.warns(
            BatchEnsembleWarning, match=r"size \('3\.125' as 3\.125\)"
        ):  # by its size
            pd.testing.assert_frame_equal(number, sent(at, [{"size": "3.125", "note": "a"}]))


def test_an_address_has_no_parameter_but_the_coverage_of_a_csv(shell, price, rows):
    lines = shell.read("new.csv", dtype={"plot": str}).to_csv(index=False)
    for words in ("coverge=0.2", "coverage=0.2&coverage=0.3", "coverage=abc", "coverage="):
        answer = price.post(f"/predict?{words}", content=lines, headers=CSV)
        assert answer.status_code == 422, words
    answer = price.post("/predict?coverage=0.2", json={"rows": rows})
    assert answer.status_code == 422
    assert "no parameter for JSON in the address, got 'coverage'" in answer.json()["detail"]
    assert price.post("/predict?coverage=0.2", content=lines, headers=CSV).status_code == 200


def test_a_column_may_be_called_like_a_reference():
    X = pd.DataFrame({"$ref": np.arange(30.0), "$defs": ["a", "b"] * 15})
    model = Regressor(epochs=1, n_members=2).fit(X, X["$ref"])
    with testclient.TestClient(make_app(model, Limits())) as at:
        content = at.get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]
        row = content["content"]["application/json"]["schema"]["properties"]["rows"]["items"]
        assert row["required"] == ["$ref", "$defs"]
        assert len(sent(at, X.to_dict("records"))) == 30


def test_the_type_of_a_csv_may_be_written_in_capitals(shell, price):
    new = shell.read("new.csv", dtype={"plot": str}).to_csv(index=False)
    headers = {"content-type": "Text/CSV; charset=utf-8"}
    assert price.post("/predict", content=new, headers=headers).status_code == 200


def test_too_many_rows_or_bytes_are_refused_before_they_are_predicted(shell, rows):
    with client("price.be", Limits(rows=3, megabytes=0.01)) as at:
        assert len(sent(at, rows[:3])) == 3
        assert at.post("/predict", json={"rows": rows[:4]}).status_code == 413
        few = shell.read("new.csv", dtype={"plot": str})[:4].to_csv(index=False)
        assert at.post("/predict", content=few, headers=CSV).status_code == 413
        answer = at.post("/predict", content="x" * 10_001, headers=CSV)
        assert answer.status_code == 413
        assert "at most 0.01 MB" in answer.json()["detail"]


def test_the_schema_has_the_columns_of_the_model_and_no_page_loads_scripts(price):
    paths = price.get("/openapi.json").json()["paths"]
    content = paths["/predict"]["post"]["requestBody"]["content"]
    row = content["application/json"]["schema"]["properties"]["rows"]["items"]
    assert row["required"] == COLUMNS
    assert row["properties"]["area"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert "$ref" not in json.dumps(content)
    assert content["text/csv"]["example"] == ",".join(COLUMNS) + "\n"
    assert price.get("/docs").status_code == 404
    assert price.get("/health").json() == {"status": "ok"}
    assert price.get("/version").json()["estimator"] == "Regressor"


def test_a_forecaster_continues_its_series_or_those_of_the_request(shell):
    history = sales().query("month < '2022-06-01'")[["store", "month", "sales"]]
    history.to_csv("history.csv", index=False)
    model = load("sales.be")
    with client("sales.be") as at:
        for path, rows in ((None, None), (shell.folder / "history.csv", history)):
            predict_file(model, path, shell.folder / "out.csv", coverage=0.8, horizon=3)
            expected = pd.read_csv("out.csv", float_precision="round_trip")
            body = {"coverage": 0.8, "horizon": 3}
            if rows is not None:
                body["history"] = rows.to_dict("records")
            answer = at.post("/predict", json=body)
            assert answer.status_code == 200, answer.text
            frame = pd.DataFrame(answer.json()["predictions"])
            assert list(frame) == list(expected)
            assert np.array_equal(frame["mean"], expected["mean"])
            assert (frame["month"].str[:10] == expected["month"].str[:10]).all()
        long = history.assign(sales=10**400).to_dict("records")
        assert at.post("/predict", json={"history": long}).status_code == 422
        empty = history.astype(object).assign(sales=None).to_dict("records")
        answer = at.post("/predict", json={"history": empty})
        assert answer.status_code == 422
        assert "expected values in 'sales' of the history, got none" in answer.json()["detail"]
        bad = history.assign(sales="many").to_dict("records")
        answer = at.post("/predict", json={"history": bad})
        assert answer.status_code == 422
        assert "column 'sales'" in answer.json()["detail"]


def test_future_values_that_a_forecaster_does_not_know_are_refused_as_those_of_predict(shell):
    ahead = [{"store": "north", "month": "2022-01-01"}]
    with client("sales.be") as at:
        answer = at.post("/predict", json={"ahead": ahead})
    assert answer.status_code == 422
    said = "the request: `ahead` is not needed: the model was fitted without --future; omit it"
    assert answer.json()["detail"] == said


def test_series_left_out_are_named_in_the_notes_of_the_answer(shell):
    series = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", "4")
    shell("fit", "sales.csv", *series, "--future", "holidays", "-o", "f.be", *QUICK)
    ahead = sales().query("'2022-01-01' <= month < '2022-05-01'").drop(columns="sales")
    south = ahead.query("store == 'south'")
    with client("f.be") as at:
        whole = at.post("/predict", json={"ahead": ahead.to_dict("records")})
        assert list(whole.json()) == ["predictions"]
        with pytest.warns(BatchEnsembleWarning, match="1 series left out") as told:
            answer = at.post("/predict", json={"ahead": south.to_dict("records")}).json()
    assert {row["store"] for row in answer["predictions"]} == {"south"}
    assert answer["notes"] == [str(one.message) for one in told]
    assert "no row of the columns known ahead): 'north'" in answer["notes"][0]


@pytest.mark.parametrize(
    ("store", "factor", "words"),
    [
        ("North", 1, "no series of the request, such as North, was in the training data"),
        ("north", 1000, "1,000 times smaller"),
    ],
)
def test_series_and_units_that_fit_did_not_know_are_told_in_the_notes(shell, store, factor, words):
    rows = sales().query("store == 'north'")[["store", "month", "sales"]]
    rows = rows.assign(store=store, sales=rows["sales"] * factor).to_dict("records")
    with client("sales.be") as at, pytest.warns(BatchEnsembleWarning, match=words):
        answer = at.post("/predict", json={"history": rows}).json()
    assert words in " ".join(answer["notes"])


def test_a_forecast_that_would_take_long_is_a_422_that_names_the_horizon(shell):
    model = load("sales.be")
    n, paths, trained = len(model.panel_.ids), model.n_paths, model.model_.horizon
    with client("sales.be", Limits(steps=2 * n * paths)) as at:
        assert at.post("/predict", json={"horizon": trained + 2}).status_code == 200
        answer = at.post("/predict", json={"horizon": trained + 3})
        assert answer.status_code == 422
        assert f"horizon: expected at most {trained + 2} steps" in answer.json()["detail"]
        one = sales().query("store == 'north'")[["store", "month", "sales"]]
        more = {"horizon": trained + 3, "history": one.to_dict("records")}
        assert at.post("/predict", json=more).status_code == 200  # of one series
    with client("sales.be", Limits(rows=n * trained - 1)) as at:
        assert "--max-rows" in at.post("/predict", json={}).json()["detail"]
    with client("sales.be") as at:
        assert at.post("/predict", json={"horizon": 10_000}).status_code == 422


def test_a_client_that_goes_away_in_the_middle_leaves_no_traceback(price):
    parts = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    place = {"path": "/predict", "raw_path": b"/predict", "query_string": b"", "headers": []}
    scope = {"type": "http", "method": "POST", "http_version": "1.1", "scheme": "http", **place}
    sent_back = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        sent_back.append(message)

    waited(price.app(scope, receive, send))
    assert sent_back[0]["status"] == 400


def test_requests_that_come_together_all_get_their_own_answers(shell, rows):
    app = make_app(load("price.be"), Limits())

    async def ask(rows):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as at:
            answers = await asyncio.gather(*(at.post("/predict", json={"rows": [r]}) for r in rows))
        return pd.DataFrame([answer.json()["predictions"][0] for answer in answers])

    with client("price.be") as at:
        expected = sent(at, rows)
    np.testing.assert_allclose(waited(ask(rows)), expected, rtol=1e-12)


def test_series_may_be_named_by_days_and_fitted_to_frames_of_polars(shell):
    frame = sales().drop(columns="holidays").assign(month=lambda f: pd.to_datetime(f["month"]))
    frame["store"] = frame["store"].map(
        {"north": dt.date(2024, 1, 2), "south": dt.date(2024, 5, 6)}
    )
    names = {"id_col": "store", "time_col": "month", "target_col": "sales"}
    for library in (pd, pl):
        Forecaster(**TINY_FORECASTER, **names).fit(library.DataFrame(dict(frame))).save("d.be")
        with client("d.be") as at:
            answer = at.post("/predict", json={})
        assert answer.status_code == 200, answer.text
        stores = {row["store"] for row in answer.json()["predictions"]}
        assert {store[:10] for store in stores} == {"2024-01-02", "2024-05-06"}


def test_a_csv_may_name_the_one_series_that_fit_left_unnamed(shell):
    rows = sales().query("store == 'north'")[["month", "sales"]]
    rows[:48].to_csv("old.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--horizon", 3, *QUICK)
    shell("fit", "old.csv", *words, "-o", "one.be")
    named = rows[48:50].assign(unique_id="north")
    with client("one.be") as at:
        by_json = at.post("/predict", json={"history": rows[48:50].to_dict("records")}).json()
        answer = at.post("/predict", content=named.to_csv(index=False), headers=CSV)
    means = [row["mean"] for row in by_json["predictions"]]
    assert np.allclose(pd.read_csv(io.StringIO(answer.text))["mean"], means, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.* these numbers are taken as seconds")
def test_times_of_day_may_be_texts_in_json_and_in_csv(shell):
    random = np.random.default_rng(0)
    minutes = random.integers(0, 24 * 60, 120).tolist()
    table = pd.DataFrame({"at": [dt.time(m // 60, m % 60) for m in minutes], "y": minutes})
    days = pd.date_range("2024-01-01", periods=120)
    series = table.assign(day=days, rest=pd.to_timedelta(minutes, unit="min")).drop(columns="at")
    table.to_parquet("table.parquet")
    series.to_parquet("series.parquet")
    shell("fit", "table.parquet", "-t", "y", *QUICK, "-o", "table.be")
    words = ("-t", "y", "--time", "day", "--future", "rest", "--horizon", 2, *QUICK)
    shell("fit", "series.parquet", *words, "-o", "series.be")
    with client("table.be") as at:
        answers = [
            at.post("/predict", json={"rows": [{"at": cell}]}).json()
            for cell in ("08:30", "08:30:00", 30600, 30000)
        ]
        csv = at.post("/predict", content="at\n08:30\n", headers=CSV)
        wrong = at.post("/predict", json={"rows": [{"at": "soon"}]})
    assert answers[0] == answers[1] == answers[2] != answers[3]
    from_csv = pd.read_csv(io.StringIO(csv.text))["mean"][0]
    assert from_csv == answers[0]["predictions"][0]["mean"]
    assert wrong.status_code == 422
    last = pd.date_range(days[-1], periods=3)[1:].strftime("%Y-%m-%d")
    with client("series.be") as at:
        answers = [
            at.post("/predict", json={"ahead": [{"day": day, "rest": cell} for day in last]}).json()
            for cell in ("0 days 08:30:00", 30600, 30000)
        ]
    assert [answer.get("notes") is None for answer in answers] == [True, False, False]
    told = [answer["predictions"] for answer in answers]
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("charset", ["iso-8859-2", "Windows-1250", '"utf-16"', "UTF-8", "utf8"])
def test_a_csv_is_read_in_the_charset_that_it_declares(shell, charset):
    towns = ["Łódź", "Gdańsk", "Kraków"] * 20
    frame = pd.DataFrame({"town": towns, "size": np.arange(60.0), "y": np.sin(np.arange(60))})
    model = Regressor(epochs=1, hidden=(8,), random_state=0).fit(
        frame[["town", "size"]], frame["y"]
    )
    model.save("town.be")
    text = frame[["town", "size"]][:3].to_csv(index=False)
    with client("town.be") as at:
        for kind in ("text/csv", "Application/CSV"):
            head = {"content-type": f"{kind}; header=present; charset={charset}"}
            body = text.encode(charset.strip('"'))
            found = at.post("/predict", content=body, headers=head)
            assert found.text == at.post("/predict", content=text.encode(), headers=CSV).text
        head = {"content-type": "text/csv; charset=ascii"}
        wrong = at.post("/predict", content=text.encode(), headers=head)
        head = {"content-type": "text/csv; charset=x9"}
        none = at.post("/predict", content=text.encode(), headers=head)
    for refused in (wrong, none):
        assert refused.status_code == 422
        assert "name the one that the body has" in refused.json()["detail"]


@pytest.mark.parametrize("charset", ["punycode", "unicode_escape", "base64", "idna"])
def test_a_charset_that_is_none_of_texts_is_refused_at_once(price, charset):
    body = b"a-" + b"b" * 300_000  # of which punycode would make seconds of work
    head = {"content-type": f"text/csv; charset={charset}"}
    refused = price.post("/predict", content=body, headers=head)
    assert refused.status_code == 422
    assert "name the one that the body has" in refused.json()["detail"]


def test_a_csv_that_is_not_utf8_and_names_no_charset_is_told(shell, price):
    text = shell.read("new.csv", dtype=str).assign(town="Gda\u0144sk").to_csv(index=False)
    with pytest.warns(BatchEnsembleWarning, match="not UTF-8: read as windows-1252; if letters"):
        price.post("/predict", content=text.encode("iso-8859-2"), headers=CSV)
    for charset in ("utf-8", "utf-16"):  # a warning would be an error
        assert price.post("/predict", content=text.encode(charset), headers=CSV).status_code == 200
