import numpy as np
import pandas as pd
import polars as pl
import pytest
from fixtures import TINY_FORECASTER
from sample_files import QUICK, houses, sales

from batchensemble import Forecaster, load
from batchensemble.cli.predictions import predict_file, prediction_columns
from batchensemble.data.writing import TableWriter


def predicted(model, data, out, **how):
    predict_file(model, data, out, coverage=0.9, **how)
    return pd.read_parquet(out) if out.suffix == ".parquet" else pd.read_csv(out)


@pytest.fixture
def price(shell):
    return load("price.be")


@pytest.fixture
def new(shell):
    return shell.read("new.csv", dtype={"plot": str})


def typed(new):
    """The rows as a program would have them, with types."""
    frame = new.assign(sold=pd.to_datetime(new["sold"]), garden=new["garden"].astype(bool))
    return frame[["rooms", "area", "town", "plot", "sold", "garden"]]


@pytest.mark.parametrize("batch", [1, 7, 2**14])
@pytest.mark.parametrize("name", ["new.csv", "new.csv.gz", "new.parquet", "new.feather"])
def test_batches_of_any_file_answer_like_the_estimator_itself(shell, price, new, name, batch):
    path = shell.folder / name
    if name.endswith((".parquet", ".feather")):
        full = new.assign(sold=pd.to_datetime(new["sold"]))
        full.to_parquet(path) if name.endswith("t") else full.to_feather(path)
    elif name.endswith(".gz"):
        new.to_csv(path, index=False)
    out = predicted(price, path, shell.folder / "out.parquet", batch=batch)
    X = typed(new)
    dist = price.predict_dist(X)
    lower, upper = price.predict_interval(X, 0.9).T
    expected = {
        "mean": dist.mean,
        "std": dist.std,
        "lower": lower,
        "upper": upper,
        "aleatoric": dist.aleatoric,
        "epistemic": dist.epistemic,
    }
    assert list(out) == list(expected)
    for column, values in expected.items():
        np.testing.assert_allclose(out[column], values, rtol=1e-9)
    variance = out["aleatoric"] + out["epistemic"]
    np.testing.assert_allclose(out["std"] ** 2, variance, rtol=1e-9)


def test_classes_have_their_probabilities_and_parts_in_nats(shell, new):
    model = load("town.be")
    new.assign(price=300.5).to_csv("new.csv", index=False)
    out = predicted(model, shell.folder / "new.csv", shell.folder / "out.csv", batch=4)
    assert list(out) == [
        *("prediction", "confidence", "set", "p_Bonn", "p_Jena", "p_Ulm"),
        *("total", "aleatoric", "epistemic"),
    ]
    shares = out[["p_Bonn", "p_Jena", "p_Ulm"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert ("p_" + out["prediction"]).tolist() == shares.idxmax(axis=1).tolist()
    assert all(p in s.split("|") for p, s in zip(out["prediction"], out["set"], strict=True))
    entropy = -(shares * np.log(shares)).sum(axis=1)
    np.testing.assert_allclose(out["total"], entropy)
    parts = out["aleatoric"] + out["epistemic"]
    np.testing.assert_allclose(out["total"], parts, atol=1e-9)


def test_wider_coverage_gives_wider_intervals_and_nothing_else(shell, price, new):
    dist = price.predict_dist(typed(new))
    narrow, wide = (prediction_columns(price, dist, share) for share in (0.5, 0.95))
    assert (wide["lower"] < narrow["lower"]).all()
    assert (wide["upper"] > narrow["upper"]).all()
    same = ["mean", "std", "aleatoric", "epistemic"]
    pd.testing.assert_frame_equal(narrow[same], wide[same])


def test_columns_are_carried_over_as_they_are_written(shell, price):
    path = shell.folder / "new.csv"
    raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    out = shell.folder / "out.csv"
    predict_file(price, path, out, coverage=0.9, keep=["plot", "id", "plot"], batch=7)
    found = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(found)[:3] == ["plot", "id", "mean"]
    pd.testing.assert_frame_equal(found[["plot", "id"]], raw[["plot", "id"]])
    predict_file(price, path, out, coverage=0.9, keep=["all"])
    found = pd.read_csv(out, dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(found[list(raw)], raw)


def test_typed_columns_are_carried_over_with_their_types(shell, price, new):
    new["id"] = pd.array([None, *range(29)], dtype="Int64")  # gaps in the first batch alone
    new.to_parquet("new.parquet")
    found = predicted(
        price, shell.folder / "new.parquet", shell.folder / "out.parquet", batch=5, keep=["id"]
    )
    back = pd.read_parquet("out.parquet", dtype_backend="pyarrow")
    assert str(back["id"].dtype) == "int64[pyarrow]"
    assert found["id"].tolist()[1:] == list(range(29))


def test_order_and_further_columns_of_the_file_do_not_matter(shell, price, new):
    out = shell.folder / "out.csv"
    before = predicted(price, shell.folder / "new.csv", out)
    new.iloc[:, ::-1].assign(further="x").to_csv("other.csv", index=False)
    pd.testing.assert_frame_equal(predicted(price, shell.folder / "other.csv", out), before)


def test_gaps_that_fit_never_saw_are_no_trouble(shell, price, new):
    new.assign(rooms=None, garden=None, sold=None, town=None).to_csv("gaps.csv", index=False)
    out = predicted(price, shell.folder / "gaps.csv", shell.folder / "out.csv", batch=3)
    assert np.isfinite(out.to_numpy()).all()


def test_rows_are_written_while_the_file_is_read(shell, price, monkeypatch):
    pd.concat([shell.read("new.csv", dtype=str)] * 200).to_csv("big.csv", index=False)
    told, written = [], []
    write = TableWriter.write

    def spy(self, frame):
        written.append(len(told))
        write(self, frame)

    monkeypatch.setattr(TableWriter, "write", spy)

    def progress(n_rows, share):
        told.append((n_rows, share))

    path, out = shell.folder / "big.csv", shell.folder / "out.csv"
    predict_file(price, path, out, coverage=0.9, progress=progress, batch=1000)
    assert [n for n, _ in told] == [1000, 2000, 3000, 4000, 5000, 6000]
    assert written == [0, 1, 2, 3, 4, 5]
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert shares[-1] == 1


def test_a_wrong_cell_in_a_late_batch_leaves_no_file(shell, price, new):
    new["rooms"] = new["rooms"].astype(object)
    new.loc[25, "rooms"] = "many"
    new.to_csv("wrong.csv", index=False)
    out = shell.folder / "out.csv"
    with pytest.raises(ValueError, match=r"wrong\.csv, line 27, column 'rooms'.*got 'many'"):
        predicted(price, shell.folder / "wrong.csv", out, batch=10)
    assert not out.exists()
    assert not list(shell.folder.glob(".?*"))


def test_a_mistyped_folder_is_named_rather_than_the_output(shell, price):
    (shell.folder / "out").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*nope; check"):
        predicted(price, shell.folder / "nope", shell.folder / "out")


def test_a_forecast_is_the_forecasters_own_under_plain_names(shell):
    model = load("sales.be")
    out = shell.folder / "out.csv"
    asked = {"coverage": 0.8}
    predict_file(model, None, out, horizon=3, **asked)
    expected = model.predict(3, level=[80])
    found = pd.read_csv(out, parse_dates=["month"])
    assert found["store"].tolist() == expected["store"].tolist()
    np.testing.assert_allclose(
        found[["mean", "lower", "upper"]], expected.iloc[:, -3:].to_numpy(), rtol=1e-12
    )
    sales().sample(frac=1, random_state=0).to_csv("history.csv", index=False)
    predict_file(model, shell.folder / "history.csv", out, horizon=1, **asked)
    assert pd.read_csv(out)["month"].unique().tolist() == ["2023-01-01"]


def test_a_forecast_has_no_two_columns_of_one_name(shell):
    sales().rename(columns={"store": "mean"}).to_csv("named.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--series", "mean", "--horizon", 3)
    refused = shell("fit", "named.csv", *words, "-o", "named.be", code=1).stderr
    assert "not named like a forecast (mean, lower, upper), got 'mean'; rename it" in refused
    model = Forecaster(**TINY_FORECASTER, id_col="mean", time_col="month", target_col="sales")
    frame = pd.read_csv("named.csv", parse_dates=["month"])
    model.fit(frame.drop(columns="holidays")).save("named.be")
    done = shell("predict", "named.be", "-o", "out.csv", code=1)
    assert "must not be called mean, lower or upper" in done.stderr
    assert not (shell.folder / "out.csv").exists()


def test_one_series_needs_no_name(shell):
    north = sales().query("store == 'north'").drop(columns=["store", "holidays"])
    north.to_csv("north.csv", index=False)
    quick = ("--epochs", 2, "--members", 2, "--horizon", 3, "-o", "north.be")
    shell("fit", "north.csv", "-t", "sales", "--time", "month", *quick)
    shell("predict", "north.be", "north.csv", "-o", "out.csv")
    assert shell.read("out.csv").columns.tolist() == ["month", "mean", "lower", "upper"]


def test_a_model_calibrated_by_a_column_predicts_and_is_judged_by_it(shell, price):
    houses(200, seed=5).to_csv("held.csv", index=False)
    rows = shell.read("held.csv", dtype={"plot": str}).dropna(subset=["price"])
    price.calibrate(typed(rows), rows["price"], groups="plot")
    price.save("grouped.be")
    shell("predict", "grouped.be", "test.csv", "-o", "out.csv")
    test = shell.read("test.csv", dtype={"plot": str})
    expected = price.predict_interval(typed(test))
    found = shell.read("out.csv")[["lower", "upper"]].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    alone = price.calibrate(typed(rows), rows["price"]).predict_interval(typed(test))
    assert not np.allclose(alone, expected)
    assert "coverage" in shell("evaluate", "grouped.be", "test.csv").stdout
    price.calibrate(typed(rows), rows["price"], groups=np.arange(len(rows)) % 2)
    price.save("labelled.be")
    said = " ".join(shell("predict", "labelled.be", "test.csv", code=1).stderr.split())
    assert "calibrated by groups" in said


def test_bounds_that_adapt_do_so_to_the_new_rows_of_a_file(shell):
    random = np.random.default_rng(0)
    days = pd.DataFrame({"day": pd.date_range("2023-01-02", periods=160)})
    days["sales"] = (
        100 + random.normal(0, 2, 160) + 60 * (days.index >= 130) * random.normal(size=160)
    )
    days[:120].to_csv("old.csv", index=False)
    days[:150].to_csv("longer.csv", index=False)
    series = ("--time", "day", "--horizon", "4", "--calibrate", *QUICK)
    shell("fit", "old.csv", "--target", "sales", *series, "-o", "adapting.be")
    frozen = load("adapting.be").predict(level=[90], df=days[:150])
    expected = load("adapting.be").update(days[120:150]).predict(level=[90])
    shell("predict", "adapting.be", "longer.csv", "-o", "next.csv")
    found = shell.read("next.csv")
    np.testing.assert_allclose(found["lower"], expected["BatchEnsemble-lo-90"], rtol=1e-6)
    np.testing.assert_allclose(found["upper"], expected["BatchEnsemble-hi-90"], rtol=1e-6)
    assert (found["upper"] > 1.1 * frozen["BatchEnsemble-hi-90"]).all()


def test_a_forecaster_of_polars_rows_writes_files_as_one_of_pandas_rows(shell):
    frame = sales().assign(month=pd.to_datetime(sales()["month"])).drop(columns="holidays")
    names = {"id_col": "store", "time_col": "month", "target_col": "sales"}
    frame.to_csv("history.csv", index=False)
    for library in (pd, pl):
        model = Forecaster(**TINY_FORECASTER, **names).fit(library.DataFrame(dict(frame)))
        for history in (None, shell.folder / "history.csv"):
            predict_file(model, history, shell.folder / f"{library.__name__}.csv", coverage=0.8)
            written = shell.read("pandas.csv")
            assert len(written) == 8
            pd.testing.assert_frame_equal(shell.read(f"{library.__name__}.csv"), written)
