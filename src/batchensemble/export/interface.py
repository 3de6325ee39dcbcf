"""What goes into an exported model and what comes out: names, types, shapes and meanings."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from batchensemble.data.columns import Kind
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor

Model = Regressor | Classifier | Forecaster

GAP = "<missing>"  # the word for a missing category
NOT_A_TIME = int(np.iinfo(np.int64).min)  # a missing date; numpy's NaT is the same number


class Slot(NamedTuple):
    """One input or output; a length that is not fixed has a name."""

    name: str
    shape: tuple[int | str, ...]
    meaning: str
    dtype: type = np.float64


Slots = tuple[Slot, ...]

_KINDS: dict[Kind, tuple[type, str]] = {
    "number": (np.float64, "a number (durations and times of day in seconds); a gap is NaN"),
    "boolean": (np.float64, "1 for true, 0 for false; a gap is NaN"),
    "date": (
        np.int64,
        f"microseconds since 1970-01-01 in UTC; a gap is {NOT_A_TIME}, numpy's NaT",
    ),
    "category": (object, f"a word; whole numbers without decimals; a gap is {GAP!r}"),
}

_REGRESSION: Slots = (
    Slot("mean", ("rows",), "the prediction, in units of the target"),
    Slot("std", ("rows",), "its standard deviation, in units of the target"),
    Slot("members_mean", ("rows", "members"), "every member's mean"),
    Slot("members_std", ("rows", "members"), "every member's standard deviation"),
    Slot("total", ("rows",), "variance: aleatoric + epistemic"),
    Slot("aleatoric", ("rows",), "aleatoric variance: the mean of the members' variances"),
    Slot("epistemic", ("rows",), "epistemic variance: the variance of the members' means"),
)
_BOUNDS: Slots = (
    Slot("lower", ("rows",), "the lower end of the calibrated interval (see coverage)"),
    Slot("upper", ("rows",), "its upper end"),
)
_CLASSES: Slots = (
    Slot("label", ("rows",), "the most probable class"),
    Slot("probabilities", ("rows", "classes"), "of the classes, in their order"),
    Slot("members", ("rows", "members", "classes"), "every member's probabilities"),
    Slot("total", ("rows",), "entropy of the probabilities in nats: aleatoric + epistemic"),
    Slot("aleatoric", ("rows",), "mean entropy of the members, in nats"),
    Slot("epistemic", ("rows",), "mutual information of class and member, in nats"),
)
_PATHS: Slots = (
    Slot("paths", ("series", "members", "paths", "steps"), "in units of the series"),
    Slot("mean", ("series", "steps"), "of all paths"),
    Slot("std", ("series", "steps"), "of all paths"),
    Slot("members_mean", ("series", "members", "steps"), "of every member's paths"),
)

_SCALES = {  # location and scale of a series
    "minmax": ("smallest value", "range"),
    "difference": ("mean", "mean change over a season"),
}


def inputs_of(model: Model) -> list[Slot]:
    """For a table one for each column, in their order."""
    if isinstance(model, Forecaster):
        return _series_slots(model)
    return column_slots(model.model_.encoder, outputs_of(model))


def outputs_of(model: Model, *, has_bounds: bool = True) -> dict[str, Slot]:
    """By name; numbers are float64, and labels have the type of the classes.

    A regressor may have bounds, which names of its inputs leave room for.
    """
    sizes: dict[int | str, int] = {"members": model.model_.ensemble.members.n_members}
    if isinstance(model, Forecaster):
        slots = _PATHS
    elif isinstance(model, Classifier):
        slots, sizes["classes"] = _CLASSES, len(model.classes_)
    else:
        slots = _REGRESSION + _BOUNDS * has_bounds
    fixed = (slot._replace(shape=tuple(sizes.get(n, n) for n in slot.shape)) for slot in slots)
    return {slot.name: slot for slot in fixed}


def column_slots(encoder: TableEncoder, outputs: Collection[str]) -> list[Slot]:
    """Named like the columns; one without a name, or named like an output, gets a "_" behind."""
    taken = {"", *outputs}
    others = set(encoder.names_) - taken
    slots = []
    for name, kind in zip(encoder.names_, encoder.kinds_, strict=True):
        if name in taken:
            while name in taken or name in others:
                name += "_"
            taken.add(name)
        dtype, meaning = _KINDS[kind]
        slots.append(Slot(name, ("rows", 1), meaning, dtype))
    return slots


def _series_slots(model: Forecaster) -> list[Slot]:
    fitted = model.model_
    encoder, network = fitted.encoder, fitted.network
    if encoder.draws_history:
        raise ValueError(
            "this forecaster draws intermittent series from their history, which cannot be written "
            "as ONNX; use save() and batchensemble.load(), or fit without these series"
        )
    location, scale = _SCALES.get(encoder.scaling, ("mean", "spread"))
    learned = "in fit (see series in the metadata), of a new series in all that is known of it"
    is_direct = fitted.kind == "direct"
    meaning = "the last known values, " + (
        "something in the place of missing ones" if is_direct else "without gaps"
    )
    slots = [Slot("values", ("series", network.reach), meaning)]
    if is_direct:
        meaning = (
            "1 where a value was observed, 0 where something stands in its place, -1 before the "
            "series began"
        )
        slots.append(Slot("observed", ("series", network.reach), meaning, np.float32))
    slots += [
        Slot("location", ("series",), f"{location} {learned}"),
        Slot("scale", ("series",), f"{scale} {learned}"),
    ]
    if encoder.scaling == "difference":
        meaning = "what no forecast is below: 0 for a series that was never negative, or -inf"
        slots.append(Slot("lowest", ("series",), meaning))
    if is_direct and encoder.future:
        meaning = "what the future columns add to the scaled series, known times and steps ahead"
        slots.append(Slot("effect", ("series", "times"), meaning))
    times, when = ("steps", "") if is_direct else ("times", "the known times and ")
    if n := network.n_covariates - is_direct:
        meaning = f"calendar and further columns of {when}the steps ahead, encoded"
        slots.append(Slot("covariates", ("series", times, n), meaning, np.float32))
    noise = ("series", "paths", fitted.ensemble.members.n_members, "steps")
    slots.append(Slot("noise", noise, "standard normal numbers, one for each draw", np.float32))
    return slots
