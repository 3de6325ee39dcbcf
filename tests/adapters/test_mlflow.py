"""In an environment of its own: `make test-scale`."""

import contextlib
import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings

import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of MLflow itself
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed; see make test-scale")
    import mlflow.pyfunc  # noqa: F811
    import mlflow.sklearn

    from batchensemble.adapters import mlflow as flavour

from batchensemble import Classifier, Forecaster, JointRegressor, Regressor
from batchensemble.datasets.seasonal import make_seasonal

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(300)]


def houses(n=80):
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "area": random.uniform(30, 200, n),
            "town": random.choice(["Bonn", "Ulm"], n),
            "sold": pd.date_range("2024-01-01", periods=n),
            "garden": random.random(n) > 0.5,
        }
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A tracking store in SQLite."""
    folder = tmp_path_factory.mktemp("store")
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    mlflow.create_experiment("houses", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("houses")
    return folder


@pytest.fixture(scope="module")
def model():
    X = houses()
    return Regressor(epochs=2, random_state=0).fit(X, X["area"] * 2.0, calibrate=True)


@pytest.fixture(scope="module")
def logged(store, model):
    with mlflow.start_run():
        return flavour.log_model(
            model, "price", input_example=houses()[:2], registered_model_name="houses"
        )


def test_a_logged_model_comes_back_as_the_estimator_and_as_a_function(logged, model):
    X = houses()
    same = flavour.load_model(logged.model_uri)
    assert np.array_equal(same.predict(X), model.predict(X))
    assert np.array_equal(flavour.load_model("models:/houses/1").predict(X), model.predict(X))
    answer = mlflow.pyfunc.load_model(logged.model_uri).predict(X)
    assert list(answer) == ["mean", "std", "lower", "upper", "aleatoric", "epistemic"]
    assert np.array_equal(answer[["lower", "upper"]], model.predict_interval(X))


def test_params_choose_the_interval_and_quantiles(logged, model):
    X = houses()
    function = mlflow.pyfunc.load_model(logged.model_uri)
    answer = function.predict(X, params={"interval": 0.5, "quantiles": [0.1, 0.9]})
    assert np.array_equal(answer[["lower", "upper"]], model.predict_interval(X, 0.5))
    assert np.array_equal(answer[["q0.1", "q0.9"]], model.predict_quantiles(X, [0.1, 0.9]))


def test_a_missing_column_is_refused_in_words(model):
    with pytest.raises(ValueError, match="town"):
        flavour._Predictions(model).predict(houses().drop(columns="town"))


def test_the_signature_has_the_columns_of_fit_and_there_is_no_pickle(logged, tmp_path, model):
    assert logged.signature.inputs.input_names() == ["area", "town", "sold", "garden"]
    assert [param.name for param in logged.signature.params] == ["interval", "quantiles"]
    flavour.save_model(model, tmp_path / "model")
    names = [path.name for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert "model.be" in names
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib"))]


NUMBERS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS.assign(b=np.arange(60)),
        NUMBERS.assign(b=pd.Categorical(["p", "q"] * 30)),
        NUMBERS.assign(b=pd.array([True, None] * 30, dtype="boolean")),
        NUMBERS.assign(b=pd.array([1, None] * 30, dtype="Int64")),
        NUMBERS.assign(b=pd.date_range("2020", periods=60, tz="Europe/Berlin")),
        NUMBERS.assign(b=pd.date_range("2020", periods=60).strftime("%d.%m.%Y")),
        NUMBERS.set_axis([0, 1], axis=1),
        NUMBERS.set_axis(range(100, 160)),
        NUMBERS.to_numpy(),
    ],
    ids=["whole", "categories", "truths", "gaps", "zones", "texts", "numbers", "index", "array"],
)
def test_what_was_good_for_fit_is_good_for_the_function_and_its_rows_keep_their_names(tmp_path, X):
    y = NUMBERS["a"].to_numpy() + np.random.default_rng(1).normal(size=60)
    model = Regressor(epochs=1, preset="fast", random_state=0).fit(X, y)
    flavour.save_model(model, tmp_path / "model", input_example=X[:2])
    answer = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(X)
    np.testing.assert_array_equal(answer["mean"], model.predict(X))
    assert answer.index.equals(pd.DataFrame(X).index)


@pytest.mark.parametrize("as_texts", [False, True])
def test_times_with_zones_are_read_as_by_the_model(tmp_path, as_texts):
    sold = pd.Series(pd.date_range("2024-01-01", periods=80, freq="5D", tz="Europe/Berlin"))
    texts = houses().assign(sold=sold.map(pd.Timestamp.isoformat))  # of winter and summer
    X = texts if as_texts else houses().assign(sold=sold)
    model = Regressor(epochs=2, random_state=0).fit(X, X["area"] * 2.0)
    flavour.save_model(model, tmp_path / "m")
    answer = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    for asked in (X, texts):
        np.testing.assert_allclose(answer.predict(asked)["mean"], model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "asked",
    [
        pd.Series(["01.02.2024", "13.02.2024"]),  # the first of February, not the second of January
        pd.Series(["2024-02-01T00:00:00", "2024-02-13T00:00:00"]),
        pd.Series(["now", "2024-02-13"]),
        pd.Series([1706745600, 1707782400]),
        pd.Series(["2024-02-01T00:00:00+01:00", "2024-02-13T00:00:00+01:00"]),
        pd.Series(pd.to_datetime(["2024-02-01", None])),
    ],
    ids=["local", "ISO", "now", "seconds", "zones", "gap"],
)
def test_days_are_read_or_refused_as_by_the_model(logged, model, asked):
    rows = houses()[:2].assign(sold=asked)
    function = mlflow.pyfunc.load_model(logged.model_uri)
    try:
        expected = model.predict(rows)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            function.predict(rows)
    else:
        np.testing.assert_array_equal(function.predict(rows)["mean"], expected)


def test_classes_and_forecasts_are_saved_too(tmp_path):
    y, X = houses()["town"], houses()[["area"]]
    towns = Classifier(epochs=2, random_state=0).fit(X, y)
    flavour.save_model(towns, tmp_path / "towns")
    shares = mlflow.pyfunc.load_model(str(tmp_path / "towns")).predict(X)[["p_Bonn", "p_Ulm"]]
    assert np.array_equal(shares, towns.predict_proba(X))
    series = make_seasonal(120).frame
    sales = Forecaster(epochs=1, horizon=3, random_state=0).fit(series)
    flavour.save_model(sales, tmp_path / "sales")
    frame = mlflow.pyfunc.load_model(str(tmp_path / "sales")).predict(series)
    pd.testing.assert_frame_equal(frame, sales.predict(df=series, level=[90]))


def test_several_targets_are_refused_by_name(tmp_path):
    with pytest.raises(TypeError, match=r"expected a Regressor, .* got JointRegressor"):
        flavour.save_model(JointRegressor(), tmp_path / "joint")
    assert not (tmp_path / "joint").exists()


def test_another_flavour_is_refused_by_name(store, tmp_path):
    from sklearn.linear_model import LinearRegression

    other = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    mlflow.sklearn.save_model(other, str(tmp_path / "other"))
    with pytest.raises(ValueError, match="not a batchensemble model; its flavours are"):
        flavour.load_model(str(tmp_path / "other"))


def test_autolog_of_scikit_learn_does_not_break_a_fit(store):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    mlflow.sklearn.autolog(log_models=False, silent=True)
    try:
        random = np.random.default_rng(0)
        X = random.normal(size=(60, 2))
        with mlflow.start_run() as run:
            make_pipeline(StandardScaler(), Regressor(epochs=1)).fit(X, X[:, 0])
            Regressor(epochs=1).fit(X, X[:, 0]).predict(X)
        params = mlflow.get_run(run.info.run_id).data.params
        assert params["regressor__epochs"] == "1"
    finally:
        mlflow.sklearn.autolog(disable=True)


def test_mlflow_serves_it_over_http(logged, model, store):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["models", "serve", "-m", logged.model_uri, "-p", str(port), "--env-manager", "local"]
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    server = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *words],
        env={**os.environ, "MLFLOW_TRACKING_URI": mlflow.get_tracking_uri(), "PATH": path},
        start_new_session=True,
    )
    try:
        X = houses()[:3]
        rows = json.loads(X.assign(sold=X["sold"].astype(str)).to_json(orient="split", index=False))
        body = {"dataframe_split": rows, "params": {"interval": 0.8, "quantiles": [0.5]}}
        answer = ask(f"http://127.0.0.1:{port}/invocations", body, server)
        frame = pd.DataFrame(answer["predictions"])
        assert np.array_equal(frame[["lower", "upper"]], model.predict_interval(X, 0.8))
        assert np.array_equal(frame["q0.5"], model.predict_quantiles(X, 0.5))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def ask(url, body, server):
    """The answer, as soon as the server is up."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    for _ in range(200):
        assert server.poll() is None
        try:
            return json.load(urllib.request.urlopen(request))
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        except OSError:
            time.sleep(1)
    raise AssertionError("the server did not come up")


def test_without_mlflow_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    monkeypatch.delitem(sys.modules, "batchensemble.adapters.mlflow")
    with pytest.raises(ImportError, match=r"needs MLflow.*pip install batchensemble\[mlflow\]"):
        importlib.import_module("batchensemble.adapters.mlflow")
