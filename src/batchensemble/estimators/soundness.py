"""Whether a loaded model can predict: the parts are checked, then it is tried on a few rows.

Files may be written by anybody. What is wrong in one is found here, when it is loaded, and not by
whoever predicts with it.
"""

from typing import Any

import numpy as np

from batchensemble.data.columns import Columns
from batchensemble.data.embedded import REACH
from batchensemble.data.grids import positions, series_of
from batchensemble.data.panels import Panel
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.base import Estimator
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.requirements import is_count, is_number, is_positive, require
from batchensemble.estimators.sound_calibrations import check_intervals, check_sets
from batchensemble.estimators.sound_encoders import LONGEST, check_encoder, check_series_encoder
from batchensemble.estimators.sound_origins import check_origin
from batchensemble.estimators.stored import plain_lists
from batchensemble.estimators.trial_rows import tried_columns
from batchensemble.predictive import GaussianPredictive, Transform, TransformedPredictive
from batchensemble.predictive.checks import check_array
from batchensemble.training.engines.shapes import linear_layers
from batchensemble.training.history import History
from batchensemble.training.losses import FREE
from batchensemble.training.models import Ensemble

MOST_TRIED = 2**22  # weights of all members: a larger model is not tried, only checked
TRIED_SERIES = 2
DESCRIBED = {
    **dict.fromkeys(("estimator", "task", "method", "fitted_at"), str),
    **dict.fromkeys(("target", "settings"), dict),
    "columns": list,
    "n_parameters": int,
}
BACKENDS = ("pandas", "polars", "pyarrow", "modin", "cudf")


def check_sound(model: Regressor | Classifier | Forecaster) -> None:
    """Raise unless the model can answer every question."""
    model._validate_params()
    _check_common(model)
    if isinstance(model, Forecaster):
        _check_forecaster(model)
    else:
        _check_table(model)


def check_described(about: dict[str, Any]) -> None:
    """Raise unless the description for people can be shown."""
    for name, kind in DESCRIBED.items():
        require(isinstance(about.get(name), kind), f"the description of {name}")
    for part in (*about["columns"], about["target"]):
        require(isinstance(part, dict) and "name" in part, "names of columns in the description")


def _check_common(model: Estimator) -> None:
    ensemble: Ensemble = model.model_.ensemble
    require(ensemble.bank.theta.isfinite().all(), "finite parameters")
    for name in ("n_members", "n_passes", "n_networks"):
        count = getattr(ensemble.method, name, 1)
        require(is_count(count), f"{name} to be a number of at least 1, got {count!r:.80}")
    n_members = getattr(ensemble.method, "n_members", 1)
    require(n_members <= ensemble.bank.n_parameters, "fewer members than parameters")
    require(is_count(ensemble.seed, least=0), "a seed of at least 0")
    require(isinstance(model.fitted_at_, str), "the time of the fit as text")
    require(isinstance(model.settings_, dict), "settings by name")
    check_origin(vars(model).get("origin_"))
    require(type(model.history_) is list, "a list of histories")
    for history in model.history_:
        require(isinstance(history, History), "a list of histories")
        _check_history(history)


def _check_history(history: History) -> None:
    rows = [*history.losses, *history.scores]
    require(all(type(row) is list and row for row in rows), "losses of every epoch")
    require(type(history.best_epochs) is list, "the best epochs as a list")
    require(all(is_count(n, least=0) for n in history.best_epochs), "the best epochs as numbers")
    require(isinstance(history.ended, str), "how the training ended as text")
    require(is_number(history.seconds) and history.seconds >= 0, "seconds of at least 0")


# ------------------------------------------------------------------------------------------- tables


def _check_table(model: Regressor | Classifier) -> None:
    encoder, recipe = model.model_.encoder, model.model_.ensemble.recipe
    check_encoder(encoder)
    plain_lists(model.categories)
    if hasattr(model, "feature_names_in_"):  # not after a fit to an array
        names = model.feature_names_in_
        same = isinstance(names, np.ndarray) and names.tolist() == encoder.names_
        require(same, "feature names like those of the encoder")
    require(model.n_features_in_ == encoder.n_features_in_, "as many features as in the encoder")
    _check_inputs(recipe, encoder)
    require(tuple(recipe["heads"]) == model.model_.head.sizes, "a network for the target")
    require(model.target_name_ is None or isinstance(model.target_name_, str), "a target's name")
    require(is_positive(model.shift_scale_), "a shift scale above 0")
    groups = vars(model).get("group_column_")
    require(groups is None or groups in encoder.names_, "groups in one of the columns")
    if isinstance(model, Regressor):
        require(is_number(model.target_location_), "a finite location of the target")
        require(is_positive(model.target_scale_), "a scale of the target above 0")
        transform = vars(model).get("transform_")  # files of 0.2 have none
        require(transform is None or isinstance(transform, Transform), "a transform or none")
        if model.calibration_ is not None:
            check_intervals(model.calibration_, n_steps=1)
            require(model.calibration_.transform == transform, "the transform of the target")
    else:
        _check_classes(model.classes_)
        if model.calibration_ is not None:
            check_sets(model.calibration_, len(model.classes_))
    columns = tried_columns(encoder)
    if _is_small(model.model_.ensemble):
        _try_table(model, columns)


def _check_inputs(recipe: dict[str, Any], encoder: TableEncoder) -> None:
    embedding = dict(recipe.get("embedding") or {})
    n_embedded = len(encoder.binned_.edges) + len(encoder.coded_)
    n_plain = encoder.n_features_out_ - n_embedded
    require(recipe["in_features"] == n_plain, "a network for the encoded columns")
    require(bool(embedding) == bool(n_embedded), "embeddings for the encoded columns")
    if n_embedded:
        require(is_count(embedding.pop("width", 0)), "embeddings of a width of at least 1")
        require(embedding == encoder.embedding, "embeddings for the encoded columns")
    require(len(encoder.codes_.words) == len(encoder.coded_), "words of every coded column")
    bins = encoder.binned_
    require(len(bins.columns) == len(bins.edges), "bins of every column that has some")
    require(is_count(bins.reach, least=0) and bins.reach <= REACH, "a reach of few bins")
    for edges in bins.edges:
        require(np.isfinite(edges).all() and (np.diff(edges) > 0).all(), "rising ends of bins")


def _try_table(model: Regressor | Classifier, columns: Columns) -> None:
    head, outputs = model.model_.head, np.concatenate(list(model.model_.outputs(columns)))
    require(len(outputs) == columns.n_rows, "outputs of the networks for every row")
    require(np.isfinite(outputs).all(), "finite outputs of the networks")
    if getattr(head.loss, "bounds", None) == FREE:
        outputs = outputs[:1]  # of rows unlike those of fit, the variance may be infinite
    dist = head.predictive(outputs)
    answers: list[Any] = [dist.mean, *dist.uncertainty()]
    if isinstance(dist, GaussianPredictive | TransformedPredictive):
        answers += [dist.std, dist.quantile(0.1)]
    if dist.n_members > 1:
        answers.append(head.disagreement(outputs))
    if model.calibration_ is not None:
        model.calibration_report()
    require(all(len(answer) == len(outputs) for answer in answers), "an answer for every row")
    require(all(np.isfinite(answer).all() for answer in answers), "finite predictions")


def _check_classes(classes: Any) -> None:
    is_list = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1
    require(is_list and classes.dtype.kind in "biufUST", "classes as a list of labels")
    require(np.array_equal(np.unique(classes), classes), "classes in order, each of them once")


# ------------------------------------------------------------------------------------------- series


def _check_forecaster(model: Forecaster) -> None:
    recipe, encoder, panel = model.model_.ensemble.recipe, model.model_.encoder, model.panel_
    for value, name in ((model.context_, "context"), (model.settings_["horizon"], "horizon")):
        require(is_count(value) and value == recipe[name], f"the {name} of the networks")
    lags = model.lags_
    require(lags == tuple(recipe["lags"]) and all(map(is_count, lags)), "the lags of the networks")
    require(is_count(model.season_) and model.season_ <= LONGEST, "a season of at least 1 step")
    _check_panel(panel, model)
    columns = (*model.future_names, *model.past_columns, *model.static_columns)
    check_series_encoder(encoder, columns, panel.ids.tolist())
    for name in panel.ids.tolist():
        until = model._observed.learned_until  # times like the others, or searching fails
        is_time = name in until and panel.times[:1].searchsorted(until[name]) >= 0
        require(is_time, "the end of what was learned of every series")
    require(set(model._observed.forgotten) <= set(panel.ids.tolist()), "only known series")
    require(all(map(is_count, model._observed.forgotten.values())), "counts of forgotten rows")
    if model.calibration_ is not None:
        check_intervals(model.calibration_, n_steps=model.model_.horizon)
    model._alias()
    _try_forecaster(model)


def _check_panel(panel: Panel, model: Forecaster) -> None:
    require(isinstance(panel, Panel) and panel.names == model._names, "the series of fit")
    ids, starts, values = panel.ids, panel.starts, panel.values
    require(isinstance(ids, np.ndarray) and ids.ndim == 1 and len(ids), "the ids of the series")
    require(len(set(ids.tolist())) == len(ids), "ids that differ")
    require(isinstance(starts, np.ndarray) and starts.shape == (len(ids) + 1,), "starts of series")
    require(starts.dtype == np.int64 and starts[0] == 0, "starts of series")
    fewest = model.model_.shortest + model.model_.horizon
    require((np.diff(starts) >= fewest).all(), f"series of at least {fewest} rows")
    require(values.dtype == np.float64, "values of the series")
    require(len(check_array("values", values, int(starts[-1]))), "values of the series")
    require(len(panel.times) == len(values), "a time for every value")
    if (marks := panel.is_filled) is not None:
        require(isinstance(marks, np.ndarray) and marks.dtype == bool, "marks of missing values")
        require(marks.shape == values.shape, "marks of missing values")
    require(isinstance(panel.as_asked, bool), "whether gaps were filled as asked")
    at = positions(panel.times, starts, panel.freq)
    expected = np.arange(len(values)) - starts[series_of(starts)]
    require(np.array_equal(at, expected), "times on a regular grid")
    require(panel.backend in BACKENDS, f"one of the libraries {BACKENDS}")
    names = sorted((*model.future_names, *model.past_columns, *model.static_columns))
    columns = panel.columns
    require(sorted(columns.names if columns else []) == names, "the exogenous columns of fit")
    for column in columns or ():
        require(isinstance(column.values, np.ndarray), "columns as arrays")
        require(column.values.shape == values.shape, "a value of every column for every time")
        require(len(column.missing) == len(values), "a value of every column for every time")


def _try_forecaster(model: Forecaster) -> None:
    """The forecast of some series, with the last rows of their columns as the future."""
    panel, h = model.panel_.only(model.panel_.ids[:TRIED_SERIES]), model.model_.horizon
    columns = panel.tail(h).columns if model.future_names else None
    if columns is not None and model.future_names:
        kept = [column for column in columns if column.name in model.future_names]
        columns = Columns(tuple(kept))
    ahead = model.model_.ahead(panel, h, columns)
    require(np.isfinite(ahead.encoded.covariates).all(), "columns that are encoded as numbers")
    n_covariates = ahead.encoded.covariates.shape[1]
    require(n_covariates == model.model_.ensemble.recipe["covariates"], "a network for the columns")
    if not _is_small(model.model_.ensemble):
        return
    forecast = model._forecast(panel, ahead, n_paths=1)
    answers = forecast.columns([80])
    require(all(np.isfinite(answer).all() for answer in answers.values()), "finite forecasts")
    require(len(forecast.frame(answers)) == len(panel) * h, "a forecast of every step")
    if model.calibration_ is not None:
        model.calibration_report()


# ------------------------------------------------------------------------------------------ numbers


def _is_small(ensemble: Ensemble) -> bool:
    layers = linear_layers(ensemble.bank.module)
    weights = sum(layer.in_features * layer.out_features for layer in layers)
    n_members = ensemble.bank.module.n_members * getattr(ensemble.method, "n_passes", 1)
    return weights * len(ensemble.bank) * n_members <= MOST_TRIED
