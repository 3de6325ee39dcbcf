import numpy as np
import pandas as pd
import pytest

from batchensemble import Classifier, Regressor, load
from batchensemble.data import table_files
from batchensemble.estimators import from_files
from batchensemble.metrics import crps_gaussian

pytest.importorskip("pyarrow")
TINY = {"hidden": (16,), "folds": 2, "n_members": 2, "random_state": 0}


@pytest.fixture
def small(monkeypatch):
    """As if a few hundred rows did not fit into memory."""
    monkeypatch.setattr(table_files, "BATCH", 256)
    monkeypatch.setattr(table_files, "SAMPLE_ROWS", 700)
    monkeypatch.setattr(from_files, "SHARD_ROWS", 600)


def table(n=2400, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": random.normal(size=n) for i in range(3)})
    frame["city"] = random.choice(["Bern", "Genf", "Zug"], n)
    frame["y"] = (
        np.sin(2 * frame["x0"])
        + 0.5 * (frame["city"] == "Zug")
        + (0.1 + 0.2 * (frame["x1"] > 0)) * random.normal(size=n)
    )
    return frame.sort_values("y")  # the worst order for a reader that shuffles nearby rows only


@pytest.fixture
def files(tmp_path):
    frame = table()
    for i in range(3):
        frame.iloc[800 * i : 800 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet", index=False)
    return tmp_path


@pytest.mark.slow
def test_a_table_in_files_gives_the_model_of_the_same_table_in_memory_within_noise(files, small):
    """CRPS within 5 % on average over three seeds, and within 10 % for each."""
    frame, new = table(), table(4000, seed=9)
    ratios = []
    for seed in range(3):
        settings = TINY | {"random_state": seed}
        from_disk = Regressor(**settings).fit(f"{files}/*.parquet", "y")
        in_memory = Regressor(**settings).fit(frame.drop(columns="y"), frame["y"])
        scores = []
        for model in (from_disk, in_memory):
            dist = model.predict_dist(new.drop(columns="y"))
            scores.append(crps_gaussian(new["y"], mean=dist.mean, std=dist.std))
        ratios.append(scores[0] / scores[1])
        assert from_disk.feature_names_in_.tolist() == ["x0", "x1", "x2", "city"]
        assert from_disk.target_name_ == "y"
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)
    assert ratios == pytest.approx([1] * 3, abs=0.1)


def test_a_table_that_fits_is_read_and_gives_the_same_model_to_the_last_bit(files):
    frame = table()
    settings = TINY | {"epochs": 3}
    from_disk = Regressor(**settings).fit(files, "y", calibrate=True)
    in_memory = Regressor(**settings).fit(frame.drop(columns="y"), frame["y"], calibrate=True)
    new = table(50, seed=9).drop(columns="y")
    np.testing.assert_array_equal(from_disk.predict_interval(new), in_memory.predict_interval(new))


def test_curves_of_columns_with_few_values_go_on_as_in_memory(tmp_path, small):
    frame = table().assign(x1=lambda f: f["x1"].round())
    frame.to_parquet(tmp_path / "few.parquet", index=False)
    model = Regressor(**TINY, epochs=1).fit(str(tmp_path / "few.parquet"), "y")
    edges = model.model_.encoder.binned_.edges
    few = int(np.argmin([len(each) for each in edges]))
    n = len(edges[few]) - 1
    weight = model.model_.ensemble.bank.module.embeddings.numbers.weight.detach()[:, few]
    assert n < weight.shape[1]
    assert (weight[:, n:] == weight[:, n - 1 : n]).all()
    assert (weight[:, 1:n] != weight[:, : n - 1]).any()


def test_the_same_seed_gives_the_same_model(files, small):
    new = table(50, seed=9).drop(columns="y")
    first, second = (Regressor(**TINY, epochs=2).fit(files, "y").predict(new) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_calibrated_intervals_hold_as_many_new_rows_as_asked_for(files, small):
    model = Regressor(**TINY, epochs=5).fit(files, "y", calibrate=True)
    assert 120 < len(model.calibration_) <= 140  # a fifth of the sample
    new = table(4000, seed=9)
    lower, upper = model.predict_interval(new.drop(columns="y"), 0.9).T
    inside = ((lower <= new["y"]) & (new["y"] <= upper)).mean()
    assert 0.83 < inside < 0.97  # 140 rows: within 0.03 of 0.9 in two of three cases


@pytest.mark.parametrize("estimator", [Regressor, Classifier])
def test_a_new_fit_forgets_the_column_of_groups(tmp_path, small, estimator):
    frame = table()
    if estimator is Classifier:
        frame["y"] = np.where(frame["y"] > 0, "high", "low")
    frame.drop(columns="city").to_parquet(tmp_path / "a.parquet", index=False)
    X, y = frame.drop(columns="y"), frame["y"]
    model = estimator(**TINY, epochs=1).fit(X, y).calibrate(X, y, groups="city")
    model.fit(tmp_path / "a.parquet", "y").save(tmp_path / "again.be")
    assert load(tmp_path / "again.be").calibration_ is None


@pytest.mark.parametrize("labels", [["no", "yes", "rare"], [0, 1, 5], [False, True, True]])
def test_classes_are_found_wherever_they_are(tmp_path, small, labels):
    frame = table()
    noise = np.random.default_rng(1).normal(size=len(frame))
    label = np.array(labels, dtype=object)[(frame["x0"] + 0.2 * noise > 0).astype(int)]
    label[1500:1503] = labels[2]
    frame = frame.drop(columns="y").assign(label=pd.Series(label, frame.index).infer_objects())
    frame.to_parquet(tmp_path / "a.parquet")
    model = Classifier(**TINY, epochs=5).fit(tmp_path / "a.parquet", "label")
    assert sorted(map(str, model.classes_)) == sorted({*map(str, labels)})
    assert model.score(frame.drop(columns="label"), label.astype(model.classes_.dtype)) > 0.85


def test_one_network_holds_out_a_share_and_none_if_told_so(files, small):
    new = table(2000, seed=9)
    for share in (0.2, 0.0):
        settings = {"hidden": (16,), "epochs": 2, "batch_size": 32, "random_state": 0}
        model = Regressor("single", validation_fraction=share, **settings)
        model.fit(files, "y")
        assert bool(model.history_[0].scores) == (share > 0)
        error = model.predict(new.drop(columns="y")) - new["y"]
        assert error.std() < 0.9 * new["y"].std()


def test_no_more_rows_are_encoded_than_training_can_see(files, small, monkeypatch):
    written = []
    write = from_files.write_rows
    monkeypatch.setattr(from_files, "write_rows", lambda *a: written.append(len(a[2])) or write(*a))
    monkeypatch.setattr(from_files, "_most_rows", lambda *_: 1200)
    Regressor(**TINY, epochs=1).fit(files, "y")
    assert 1000 < sum(written) < 1400


def test_the_shards_are_gone_after_a_fit_and_after_one_that_failed(
    files, small, tmp_path_factory, monkeypatch
):
    folder = tmp_path_factory.mktemp("disk")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    model = Regressor(**TINY, epochs=1).fit(files, "y")
    assert not list(folder.iterdir())
    monkeypatch.setattr(Regressor, "_train", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(files, "y")
    assert not list(folder.iterdir())
    assert len(model.predict(table(5).drop(columns="y"))) == 5  # the model is as it was


def test_too_small_a_disk_is_noticed_before_anything_is_written(files, small, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match="set TMPDIR to a folder with more space"):
        Regressor(**TINY, epochs=1).fit(files, "y")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"sample_weight": np.ones(2400)}, "sample_weight, groups and censored are for"),
        ({"groups": np.arange(2400)}, "sample_weight, groups and censored are for"),
        ({"in_time": True}, "in_time, class_weight, eval_set and warm_start are for tables that"),
        ({"eval_set": ([[0.0]], [0.0])}, "in_time, class_weight, eval_set and warm_start are for"),
    ],
)
def test_what_only_a_table_in_memory_can_have_is_refused(files, small, how, message):
    with pytest.raises(ValueError, match=message):
        Regressor(**TINY, epochs=1).fit(files, "y", **how)


def test_a_warm_start_is_refused_where_rows_do_not_fit_and_the_model_stays(files, small):
    rows = table(60)
    model = Regressor(**TINY, epochs=1, warm_start=True).fit(rows.drop(columns="y"), rows["y"])
    before = model.predict(rows.drop(columns="y"))
    with pytest.raises(ValueError, match="warm_start are for tables that fit into memory"):
        model.fit(files, "y")
    assert np.array_equal(model.predict(rows.drop(columns="y")), before)


def test_a_column_that_changes_its_kind_in_a_later_file_is_named(files, small):
    frame = table(300)
    frame["x1"] = "unknown"
    frame.to_parquet(files / "9.parquet")
    with pytest.raises(ValueError, match=r"9\.parquet.* column 'x1': expected a finite number"):
        Regressor(**TINY, epochs=1).fit(files, "y")


def test_watched_rows_are_of_all_files_however_they_are_sorted(tmp_path, small, monkeypatch):
    monkeypatch.setattr(from_files, "WATCHED_ROWS", 40)
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.normal(size=2400)})
    frame["y"] = np.repeat([0.01, 1.0, 1.0, 1.0], 600) * random.normal(size=2400)
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    settings = TINY | {"epochs": 20, "preset": "fast"}
    model = Regressor(**settings).fit(tmp_path / "all.parquet", "y")
    lower, upper = model.predict_interval(frame[["x"]], 0.9).T
    covered = ((lower <= frame["y"]) & (frame["y"] <= upper)).mean()
    assert 0.8 <= covered <= 0.99  # as wide as the first rows need: 0.3


def test_durations_of_files_may_be_predicted_from_frames(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"time": pd.to_timedelta(random.integers(1, 9, 90), unit="h")})
    frame["y"] = random.normal(size=90)
    frame.to_parquet(tmp_path / "f.parquet")
    model = Regressor(epochs=1, hidden=(4,), n_members=2, random_state=0)
    read = model.fit(tmp_path / "f.parquet", "y").predict(frame[["time"]])
    np.testing.assert_array_equal(
        read, model.fit(frame[["time"]], frame["y"]).predict(frame[["time"]])
    )
