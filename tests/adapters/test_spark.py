"""A model logged to MLflow as a function of Spark, in local mode: `make test-scale`."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of the packages themselves
    pytest.importorskip("pyspark", reason="pyspark is not installed; see make test-scale")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed; see make test-scale")
    import mlflow.pyfunc  # noqa: F811
    from pyspark.sql import SparkSession, functions

    from batchensemble.adapters import mlflow as flavour

from batchensemble import Regressor

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]  # theirs


@pytest.fixture(scope="module")
def spark():
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # of the workers
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        yield session
        session.stop()


def test_a_table_of_spark_gets_the_predictions_of_the_model(spark, tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "area": random.uniform(30, 200, 80),
            "town": random.choice(["Bonn", "Ulm"], 80),
            "garden": random.random(80) > 0.5,
        }
    )
    model = Regressor(epochs=2, random_state=0).fit(X, X["area"] * 2.0, calibrate=True)
    flavour.save_model(model, tmp_path / "model")
    columns = ["mean", "lower", "upper"]
    predict = mlflow.pyfunc.spark_udf(
        spark,
        str(tmp_path / "model"),
        result_type=", ".join(f"{name} double" for name in columns),
        params={"interval": 0.8},
        env_manager="local",
    )
    rows = spark.createDataFrame(X.assign(row=range(80))).repartition(3)
    told = rows.withColumn("told", predict(functions.struct(*X.columns))).select("row", "told.*")
    answer = told.toPandas().sort_values("row")
    assert np.array_equal(answer["mean"], model.predict(X))
    assert np.array_equal(answer[["lower", "upper"]], model.predict_interval(X, 0.8))
