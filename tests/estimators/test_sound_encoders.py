import copy
import dataclasses
import json
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, long_frame, resigned
from fuzz.model_files import parts, saved
from safetensors.numpy import save as bytes_of

import batchensemble
from batchensemble import Forecaster
from batchensemble.data.series_encoder import SCALINGS as SERIES_SCALINGS
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.table_encoder import SCALINGS, TableEncoder
from batchensemble.estimators.sound_encoders import check_encoder, check_series_encoder
from batchensemble.modelfile.persistence import ModelFileError


def odd_numbers(n=60):
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "plain": random.normal(size=n),
            "same": 7.0,
            "nearly same": np.where(np.arange(n) == 0, 1.0, 0.0) + 1e9,
            "tiny": random.normal(size=n) * 1e-310,
            "huge": random.normal(size=n) * 1e300,
            "skewed": np.exp(20 * random.normal(size=n)),
            "few": np.arange(n) % 3 / 7,
            "gaps": np.where(random.random(n) < 0.5, np.nan, 3.0),
            "flag": np.arange(n) % 2,
        }
    )


def changed(encoder, **fields):
    other = copy.copy(encoder)
    other.numbers_ = dataclasses.replace(encoder.numbers_, **fields)
    return other


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("bins", [None, 8])
def test_an_encoder_of_any_numbers_is_sound(scaling, bins):
    check_encoder(TableEncoder(scaling, bins=bins).fit(odd_numbers()))
    check_encoder(TableEncoder(scaling, bins=bins).fit(odd_numbers(2)))
    check_encoder(TableEncoder(scaling, bins=bins).fit(pd.DataFrame({"word": ["a", "b"]})))


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", ["center", "spread", "quantiles"])
def test_scales_that_fit_does_not_write_are_refused(scaling, name):
    encoder = TableEncoder(scaling).fit(odd_numbers())
    kept = getattr(encoder.numbers_, name)
    one_nan = np.concatenate([kept.ravel()[:-1], [np.nan]]) if kept.size else np.full(1, np.nan)
    others = [one_nan, kept.astype(np.float32), kept[..., None], kept.tolist(), kept[..., :1]]
    if name == "spread":
        others += [-kept, 0 * kept, np.inf * kept]
    if name == "quantiles" and len(kept):
        others += [-kept, kept[::-1]]
    for other in others:
        with pytest.raises(ValueError, match="expected"):
            check_encoder(changed(encoder, **{name: other}))


@cache
def fitted():
    """A forecaster of three series whose columns act linearly."""
    frame = long_frame(3).assign(price=lambda frame: np.arange(len(frame)) % 5.0)
    return Forecaster(**TINY_FORECASTER, context=6, future_columns=["price"]).fit(frame)


def encoder_of(scaling="difference"):
    panel = fitted().panel_
    return SeriesEncoder(scaling, calendar=True, linear=True, future=["price"]).fit(panel)


def check(encoder):
    check_series_encoder(encoder, tuple(encoder.future), fitted().panel_.ids.tolist())


@pytest.mark.parametrize("scaling", SERIES_SCALINGS)
def test_an_encoder_of_series_is_sound(scaling):
    encoder = encoder_of(scaling)
    check(encoder)
    check(encoder.having_seen(fitted().panel_))
    del encoder.lowest_, encoder.own_effects_, encoder.draws_history_  # as in older files
    check(encoder)


@pytest.mark.parametrize("floor", ["category", None, 1, True, 1.0, -3.0, math.inf, math.nan, ()])
def test_a_floor_that_fit_does_not_write_is_refused_in_every_series(floor):
    for key in fitted().panel_.ids.tolist():
        encoder = encoder_of()
        encoder.lowest_ = {**encoder.lowest_, key: floor}
        with pytest.raises(ValueError, match="expected a floor of 0 or none"):
            check(encoder)


@pytest.mark.parametrize("floors", [None, [], "ab", {"another": 0.0}, {0: 0.0}])
def test_floors_are_of_known_series(floors):
    encoder = encoder_of()
    encoder.lowest_ = floors
    with pytest.raises(ValueError, match="expected floors of known series"):
        check(encoder)


@pytest.mark.parametrize("effects", [(), (1.0, 2.0), [1.0], ("a",), (math.nan,), 1.0])
def test_effects_are_of_every_encoded_column_in_every_series(effects):
    for key in fitted().panel_.ids.tolist():
        encoder = encoder_of()
        encoder.own_effects_ = {**encoder.own_effects_, key: effects}
        with pytest.raises(ValueError, match="expected effects"):
            check(encoder)


@pytest.mark.parametrize("effects", [None, np.zeros(2), np.array([np.nan]), np.zeros((1, 1))])
def test_effects_in_common_are_finite_numbers(effects):
    encoder = encoder_of()
    encoder.effects_ = effects
    with pytest.raises(ValueError, match="expected an effect of every encoded column"):
        check(encoder)


# --------------------------------------------------------------------------------------- in files


def rewritten(path, data, change):
    contents, arrays = parts(data)
    change(contents["learned"], arrays)
    text = json.dumps(contents, separators=(",", ":"))
    path.write_bytes(resigned(bytes_of(arrays, {"batchensemble": text})))


def refused(path, data, change):
    rewritten(path, data, lambda learned, arrays: None)
    batchensemble.load(path)
    rewritten(path, data, change)
    with pytest.raises(ModelFileError, match=r"m\.be cannot be built") as caught:
        batchensemble.load(path)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize("floor", ["category", [1], 5.0])
def test_a_file_with_a_floor_of_another_kind_does_not_load_in_series_that_are_not_tried(
    tmp_path, floor
):
    fitted().save(tmp_path / "m.be")

    def change(learned, arrays):
        learned["encoder_"]["SeriesEncoder"]["lowest_"]["dict"][2][1] = floor

    data = (tmp_path / "m.be").read_bytes()
    assert "a floor of 0 or none" in refused(tmp_path / "m.be", data, change)


@pytest.mark.parametrize("factor", [-1, 0, np.inf])
@pytest.mark.parametrize("kind", ["table", "series"])
def test_a_file_whose_numbers_have_no_spread_does_not_load(tmp_path, kind, factor):
    fitted().save(tmp_path / "m.be")
    data = (tmp_path / "m.be").read_bytes() if kind == "series" else saved("regressor")

    def change(learned, arrays):
        (name,) = (name for name in arrays if name.endswith("numbers_.spread"))
        arrays[name] = arrays[name] * factor

    assert "spread" in refused(tmp_path / "m.be", data, change)


def test_a_file_with_bins_beyond_any_integer_is_refused_in_one_line(tmp_path):
    x, y = odd_numbers()[["plain", "few"]], np.arange(60.0)
    model = batchensemble.Regressor(hidden=(4,), epochs=1, n_members=2, random_state=0)
    model.fit(x, y).save(tmp_path / "m.be")

    def change(learned, arrays):
        embedding = dict(learned["_recipe"]["dict"])["embedding"]["dict"]
        (place,) = (i for i, (name, _) in enumerate(embedding) if name == "n_bins")
        embedding[place][1] = 2**63

    said = refused(tmp_path / "m.be", (tmp_path / "m.be").read_bytes(), change)
    assert "frame #" not in said
