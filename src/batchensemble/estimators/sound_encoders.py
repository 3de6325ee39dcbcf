"""Whether loaded encoders can encode any rows and series, not only those that are tried."""

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from batchensemble.data.columns import Kind
from batchensemble.data.date_texts import is_format
from batchensemble.data.encodings import Numbers
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.units import numbers_of_fit
from batchensemble.estimators.requirements import is_count, is_number, is_positive, require
from batchensemble.estimators.trial_rows import tried_columns

LONGEST = 2**31  # season, in steps


def check_encoder(encoder: TableEncoder) -> None:
    names, kinds, n = encoder.names_, encoder.kinds_, encoder.n_features_in_
    require(isinstance(encoder, TableEncoder), "an encoder of tables")
    require(type(names) is list and all(type(name) is str for name in names), "names of columns")
    require(type(kinds) is list and set(kinds) <= set(get_args(Kind)), "kinds of columns")
    require(len(names) == len(kinds) == len(set(names)) == n, "a name and a kind for every column")
    encoder._check_parameters()
    described = [(name, kind) for name, kind, _ in encoder.columns_]
    require(described == list(zip(names, kinds, strict=True)), "a description of every column")
    outputs = encoder._outputs()
    require(len(outputs) == encoder.n_features_out_, "as many outputs as are described")
    exponents, formats = encoder.exponents_, encoder.date_formats_
    require(_are_whole(exponents) and len(exponents) == len(encoder.flags_), "exponents of numbers")
    require(_are_truths(encoder.flags_), "which numbers are 0 and 1")
    require(_are_truths(encoder.constant_), "which numbers do not vary")
    require(len(encoder.constant_) >= len(encoder.flags_), "for every number whether it varies")
    _check_numbers(encoder.numbers_)
    require(type(formats) is dict and {*formats} <= {*names}, "formats of columns")
    require(all(map(is_format, formats.values())), "formats of dates")
    require(len([*numbers_of_fit(encoder)]) <= n, "numbers of fit that units are told by")


def _check_numbers(numbers: Numbers) -> None:
    center, spread, quantiles = numbers.center, numbers.spread, numbers.quantiles
    require(_are_whole(numbers.scaled), "places of scaled numbers")
    n = len(numbers.scaled)
    require(_are_finite(center) and center.shape == (n,), "a centre of every scaled number")
    require(_are_finite(spread) and spread.shape == (n,), "a spread of every scaled number")
    require((spread > 0).all(), "spreads above 0")
    require(_are_finite(quantiles) and quantiles.ndim == 2, "quantiles of numbers")
    require(quantiles.shape[1] == n, "quantiles of every scaled number")
    require((np.diff(quantiles, axis=0) >= 0).all(), "rising quantiles")


def check_series_encoder(encoder: SeriesEncoder, columns: Sequence[str], ids: list[Any]) -> None:
    """`columns` are those of the forecaster, and `ids` those of its series."""
    named = (*encoder.future, *encoder.past, *vars(encoder).get("static", ()))
    is_named = columns == named and all(isinstance(name, str) for name in columns)
    require(is_named, "the encoder's columns")
    require(type(encoder.calendar) is bool and is_count(encoder.period), "a calendar or none")
    require(encoder.period <= LONGEST, "a period of some steps")
    for each in encoder.encoders_.values():
        check_encoder(each)
        tried_columns(each)
    for name in ids:
        location, scale = encoder.scales_[name]
        require(is_number(location) and is_positive(scale), "a scale of every series")
    floors = encoder.floors
    require(type(floors) is dict and {*floors} <= {*encoder.scales_}, "floors of known series")
    is_floor = [type(floor) is float and floor in (0.0, -math.inf) for floor in floors.values()]
    require(all(is_floor), "a floor of 0 or none for every series")
    _check_effects(encoder)


def _check_effects(encoder: SeriesEncoder) -> None:
    """Of columns known ahead, in common and in each series; older files have none."""
    own = vars(encoder).get("own_effects_", {})
    require(type(own) is dict and {*own} <= {*encoder.scales_}, "effects in known series")
    is_sound = [type(each) is tuple and all(map(is_number, each)) for each in own.values()]
    require(all(is_sound), "effects in every series")
    if encoder.acts_linearly and encoder.future:
        n, common = encoder.encoders_["future"].n_features_out_, encoder.effects_
        require(_are_finite(common) and common.shape == (n,), "an effect of every encoded column")
        require({*map(len, own.values())} <= {n}, "effects of every encoded column in every series")


def _are_whole(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"


def _are_truths(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == bool


def _are_finite(values: Any) -> bool:
    is_floats = isinstance(values, np.ndarray) and values.dtype == np.float64
    return is_floats and bool(np.isfinite(values).all())
