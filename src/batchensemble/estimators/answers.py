"""What is said about rows, as one frame: the command line, the server and MLflow say the same."""

from typing import Any

import numpy as np
import pandas as pd

from batchensemble.conformal import predicted_interval
from batchensemble.data.columns import Columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.text import with_zone
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.table_model import shift_scores
from batchensemble.estimators.targets import group_labels


def prediction_columns(
    model: Regressor | Classifier, dist: Any, coverage: float, groups: Any = None
) -> pd.DataFrame:
    """What `predict` writes about rows, from their predictive distribution."""
    if isinstance(model, Regressor):
        lower, upper = predicted_interval(
            dist, coverage, model.calibration_, groups, whole=model.is_count
        ).T
        columns = {"mean": dist.mean, "std": dist.std, "lower": lower, "upper": upper}
    else:
        names = class_names(model)
        columns = {"prediction": dist.mode, "confidence": dist.confidence}
        if model.calibration_ is not None:
            words = np.array([_quoted(name) for name in names], object)
            model.check_every_class(model.calibration_, coverage)
            sets = model.calibration_.sets(dist.mean, coverage, groups=groups)
            columns["set"] = ["|".join(words[inside]) for inside in sets]
        columns |= {f"p_{name}": p for name, p in zip(names, dist.mean.T, strict=True)}
        columns["total"] = dist.total
    return pd.DataFrame(columns | {"aleatoric": dist.aleatoric, "epistemic": dist.epistemic})


def _quoted(name: str) -> str:
    """A class in a set: the sets {A|B} and {A, B} are written differently."""
    is_plain = name and not {"|", '"'} & {*name}
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def class_names(model: Classifier) -> list[str]:
    """The classes as files write them."""
    classes = model.classes_.tolist()
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in classes]


def with_shift(model: Regressor | Classifier, columns: Columns, coverage: float) -> pd.DataFrame:
    """The same and, where there are several members, `shift`; once through the network."""
    outputs = np.concatenate(list(model.model_.outputs(columns)))
    head, name = model.model_.head, vars(model).get("group_column_")
    groups = None if name is None else group_labels(columns, name, model.model_.encoder)
    frame = prediction_columns(model, head.predictive(outputs), coverage, groups)
    if outputs.shape[1] > 1:
        apart = head.disagreement(outputs)
        frame["shift"] = shift_scores(model.model_, columns, apart, model.shift_scale_)
    return frame


def with_zones(encoder: TableEncoder, frame: pd.DataFrame) -> pd.DataFrame:
    """Dates of a file, which are in UTC, with the zone that those of fit had."""
    zones = zones_of(encoder).items()
    return with_zone(frame, [name for name, is_zoned in zones if is_zoned and name in frame])


def zones_of(encoder: TableEncoder) -> dict[str, bool]:
    """Whether columns of dates had a zone in fit; files of 0.2 do not say."""
    zoned = zip(encoder.names_, encoder.kinds_, getattr(encoder, "zoned_", ()), strict=False)
    return {name: bool(is_zoned) for name, kind, is_zoned in zoned if kind == "date"}
