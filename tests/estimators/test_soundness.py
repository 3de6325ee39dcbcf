"""What loads, predicts: files altered by somebody who knows the format, and signed again."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures import long_frame, resigned
from fuzz.model_files import altered, parts, saved, use
from safetensors.numpy import save as bytes_of

import batchensemble
from batchensemble import Forecaster
from batchensemble.modelfile.persistence import ModelFileError

ENCODER = ["learned", "encoder_", "TableEncoder"]
SERIES = ["learned", "encoder_", "SeriesEncoder"]
PANEL = ["learned", "panel_", "Panel"]
ALTERED = {
    "parameters that are not finite": ("regressor", ["array", ["bank_.theta"], "nan"]),
    "no description of the target": ("regressor", ["value", ["about", "target"], {}]),
    "no features": ("regressor", ["value", ["learned", "n_features_in_"], 0]),
    "names that are not there": ("regressor", ["value", ["learned", "feature_names_in_"], None]),
    "fewer kinds than names": ("regressor", ["remove", [*ENCODER, "kinds_", 0], None]),
    "a kind that is none": ("regressor", ["value", [*ENCODER, "kinds_", 0], "colour"]),
    "groups in no column": ("regressor", ["value", ["learned", "group_column_"], 5]),
    "a scale of zero": ("regressor", ["value", ["learned", "target_scale_"], 0]),
    "a scale that is text": ("regressor", ["value", ["learned", "shift_scale_"], "1"]),
    "fill of another length": ("regressor", ["array", ["encoder_.numbers_.fill"], "empty"]),
    "positions of no numbers": (
        "regressor",
        ["array", ["encoder_.numbers_.gaps"], "float16"],
    ),
    "rows lost in calibration": ("regressor", ["array", ["calibration_.y"], "short"]),
    "NaN in calibration": ("regressor", ["array", ["calibration_.upper"], "nan"]),
    "negative variances": ("regressor", ["array", ["calibration_.variances"], "negative"]),
    "labels that are none": ("classifier", ["array", ["calibration_.labels"], "huge"]),
    "probabilities below 0": ("classifier", ["array", ["calibration_.probabilities"], "negative"]),
    "history of text": ("classifier", ["value", ["learned", "history_", 0, "History", 3], 5]),
    "passes without end": (
        "mc_dropout",
        ["value", ["learned", "_method", "MCDropout", "n_passes"], 10**7],
    ),
    "values lost": ("forecaster", ["array", ["panel_.values"], "short"]),
    "values not finite": ("forecaster", ["array", ["panel_.values"], "nan"]),
    "starts that go back": ("forecaster", ["array", ["panel_.starts"], "negative"]),
    "times off the grid": ("forecaster", ["array", ["panel_.times[0]"], "zero"]),
    "another frequency": ("forecaster", ["value", [*PANEL, "freq"], {"offset": "D"}]),
    "an unknown library": ("forecaster", ["value", [*PANEL, "backend"], "os"]),
    "a series without a scale": ("forecaster", ["remove", [*SERIES, "scales_", "dict", 0], None]),
    "paths without end": ("forecaster", ["value", ["parameters", "n_paths"], 3 * 10**7]),
    "another context": ("forecaster", ["value", ["learned", "context_"], 2]),
    "columns lost": ("columns", ["value", [*PANEL, "columns"], None]),
    "steps lost": ("calibrated", ["array", ["calibration_.means"], "flat"]),
}


@pytest.mark.parametrize("name", ALTERED)
def test_a_file_that_could_not_predict_does_not_load(tmp_path, name):
    model, change = ALTERED[name]
    data = altered({"model": model, "changes": [change]})
    assert data != saved(model)
    (tmp_path / "m.be").write_bytes(data)
    with pytest.raises(ModelFileError, match=r"m\.be cannot be built .* fit and save the model ag"):
        batchensemble.load(tmp_path / "m.be")


def without_bounds(path):
    x = 2000 + np.random.default_rng(0).normal(size=(90, 2))
    settings = {"preset": "paper", "log_variance_bounds": (-np.inf, np.inf), "epochs": 2}
    model = batchensemble.Regressor(**settings, random_state=0).fit(x, x.sum(axis=1))
    model.save(path)
    return model, x


def test_a_model_without_bounds_of_its_variance_loads_and_answers_the_same(tmp_path):
    model, x = without_bounds(tmp_path / "m.be")
    with pytest.raises(ValueError, match="variances: expected finite numbers"):
        model.predict(np.full((1, 2), -1e300))
    np.testing.assert_array_equal(
        batchensemble.load(tmp_path / "m.be").predict(x), model.predict(x)
    )


@pytest.mark.parametrize("factor", [1e12, 1e25])
def test_a_model_without_bounds_whose_outputs_are_not_finite_does_not_load(tmp_path, factor):
    without_bounds(tmp_path / "m.be")
    contents, arrays = parts((tmp_path / "m.be").read_bytes())
    arrays["bank_.theta"] *= np.float32(factor)
    text = json.dumps(contents, separators=(",", ":"))
    (tmp_path / "m.be").write_bytes(resigned(bytes_of(arrays, {"batchensemble": text})))
    with pytest.raises(ModelFileError, match=r"m\.be cannot be built .*finite"):
        batchensemble.load(tmp_path / "m.be")


@pytest.mark.parametrize("role", ["future_columns", "past_columns"])
def test_names_of_columns_may_be_texts_of_numpy(tmp_path, role):
    frame = long_frame(n_series=1, price=1.0)
    frame["price"] = np.arange(len(frame)) % 3.0
    names = list(np.array(["price"]))
    assert type(names[0]) is not str
    model = Forecaster(horizon=3, epochs=1, preset="fast", random_state=0, **{role: names})
    model.fit(frame).save(tmp_path / "m.be")
    assert list(getattr(batchensemble.load(tmp_path / "m.be"), role)) == ["price"]


@pytest.mark.parametrize("n_paths", [1, 3])
def test_a_calibrated_forecaster_of_few_paths_loads_and_knows_its_parts(tmp_path, n_paths):
    frame = long_frame(n_series=1, n=80)
    model = Forecaster(
        horizon=3, epochs=1, preset="fast", n_members=3, n_paths=n_paths, random_state=0
    )
    model.fit(frame, calibrate=True).save(tmp_path / "m.be")
    loaded = batchensemble.load(tmp_path / "m.be")
    parts = [each.predict_dist().epistemic for each in (model, loaded)]
    assert np.array_equal(*parts)
    assert len(loaded.simulate(n_paths=n_paths)) == 3 * n_paths


@pytest.mark.parametrize("model", sorted({model for model, _ in ALTERED.values()}))
def test_the_files_that_are_altered_here_load_and_answer(tmp_path, model):
    (tmp_path / "m.be").write_bytes(altered({"model": model, "changes": []}))
    use(batchensemble.load(tmp_path / "m.be"), tmp_path / "m.be")


# ------------------------------------------------------------------------------------------ bombs

LOADED = """
import json, os, resource, sys, time
import batchensemble
from batchensemble import Classifier, Forecaster, Regressor
from batchensemble.modelfile.persistence import ModelFileError

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

batchensemble.load(sys.argv[1])  # what is imported late is here now
for path in sys.argv[2:]:
    if os.fork() == 0:  # each has a peak of its own
        batchensemble.load(sys.argv[1])  # code is read from disk again
        before, started, said = peak(), time.perf_counter(), "loaded"
        try:
            batchensemble.load(path)
        except ModelFileError as error:
            said = f"{error!s:.300}"
        print(json.dumps([path, said, peak() - before, time.perf_counter() - started]), flush=True)
        os._exit(0)
    os.wait()
"""


def bomb(text="", arrays=None, **learned):
    """A model's file with more in it; `text` follows in its JSON as it is."""
    data = saved("regressor")
    n = int.from_bytes(data[:8], "little")
    contents = json.loads(json.loads(data[8 : 8 + n])["__metadata__"]["batchensemble"])
    from safetensors.numpy import load as arrays_of

    contents["learned"] |= learned
    whole = json.dumps(contents, separators=(",", ":"))[:-1] + text + "}"
    return resigned(bytes_of(arrays_of(data) | (arrays or {}), {"batchensemble": whole}))


def wide_texts():
    """Each of one letter, and 2**22 bytes long."""
    one = {"ndarray": ["objects", "<U1048576", [1], ["a"]]}
    return bomb(odd_=[one] * 100)


def copies(form):
    """One array, used again and again."""
    array = np.zeros(2**20, np.int64 if form == "moments" else np.float64)
    use_it = {"ndarray": ["moments", "<M8[us]", {"array": "a"}]}
    if form == "history":
        use_it = {"History": [{"array": "a"}, {"array": "a"}, [], "epochs", 0.0]}
    return bomb(odd_=[use_it] * 200, arrays={"a": array})


BOMBS = {
    "texts": wide_texts,
    "lists": lambda: bomb(',"odd":[' + "[]," * 10**7 + "[]]"),
    "nested lists": lambda: bomb(',"odd":[' + ("[" * 40 + "]" * 40 + ",") * 10**5 + "[]]"),
    "dictionaries": lambda: bomb(',"odd":[' + '{"a":{}},' * 10**6 + "[]]"),
    "dates": lambda: copies("moments"),
    "histories": lambda: copies("history"),
    "damaged": lambda: bomb(',"odd":[' + "1," * 10**7 + "1]")[:-1] + b"x",
}


@pytest.fixture(scope="module")
def loads(tmp_path_factory):
    """What is said of each file, the bytes it took beyond ten times its size, and the seconds.

    The files are the bombs and a fine model, `large`.
    """
    folder = tmp_path_factory.mktemp("bombs")
    for name, made in BOMBS.items():
        (folder / name).write_bytes(made())
    x = np.random.default_rng(0).normal(size=(200, 5))
    model = batchensemble.Regressor(hidden=(400, 400), epochs=1, random_state=0).fit(x, x.sum(1))
    model.save(folder / "large")
    (folder / "good").write_bytes(saved("regressor"))
    paths = [folder / name for name in ("good", *BOMBS, "large")]
    words = [sys.executable, "-c", LOADED, *paths]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = {Path(path).name: loaded for path, *loaded in map(json.loads, done.stdout.splitlines())}
    assert set(found) == {*BOMBS, "large"}, done.stderr
    return {
        name: (said, grown - 10 * (folder / name).stat().st_size, seconds)
        for name, (said, grown, seconds) in found.items()
    }


@pytest.mark.parametrize("name", BOMBS)
def test_loading_takes_at_most_ten_times_the_file_and_64_mb(loads, name):
    said, more, seconds = loads[name]
    assert "damaged" in said or "cannot be built" in said
    assert more < 64 * 2**20
    assert seconds < 10


def test_a_fine_model_of_some_size_takes_no_more_than_that_either(loads):
    said, more, _ = loads["large"]
    assert said == "loaded"
    assert more < 64 * 2**20
