"""The parameters that estimators share: what they mean, and what they may be."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils._param_validation import Interval, Options

PARAMETERS = """
    Parameters
    ----------
    method : one of "batch_ensemble", "deep_ensemble", "mc_dropout", "single"
        How a row gets several predictions: members inside one network; networks of their own;
        one network with dropout left on; or one prediction only.
    n_members : int or None
        Members of a BatchEnsemble (with folds, of each of its networks), or networks of a deep
        ensemble.
    n_passes : int
        Number of dropout masks that MC dropout draws.
    preset : one of "fast", "default", "best", "paper"; for a Forecaster also "recurrent"
        Settings that go together, for all arguments below that are None: "default" is for real
        data, "fast" takes a third of the time and "best" as long as it needs; "paper" is the
        published study's setting.
    hidden : list or tuple of int, or None
        Widths of the hidden layers; above 25,000 rows a Regressor has two of 192, or of 256 with
        "best".
    epochs : int or None
        Maximum number of passes over the training rows; if None, chosen by the number of rows.
    batch_size : int or None
        Rows in a training step.
    lr : float or None
        Learning rate of Adam.
    dropout : float or None
        Share of hidden units dropped in training.
    weight_decay : float or None
        Weight decay of AdamW, on shared weights only.
    clip_norm : float or None
        Largest norm of a network's gradient; `float("inf")` for none.
    patience : int or None
        Epochs without a better held-out score after which training stops; the best state is kept.
        The score is that of the ensemble's mixture; for MC dropout, that of its single network.
    adapters : str or sequence of str or None
        What the members of a BatchEnsemble own, letters of "wrsb": vectors r, s and bias, or a
        whole weight; or one such word for each hidden layer and one for the heads; or two, for
        the hidden layers and the heads.
    init : str or sequence of str or None
        Initialisation of r and s: "random_sign", "ones", "normal" or "orthogonal"; or such a word
        for each layer; or two, for the first and for the others.
    penalty : float
        Strength of the penalty that makes members' vectors orthogonal.
    batching : None or one of "shared", "independent", "split"
        Whether all members see the same rows of a batch, each its own shuffling, or each its
        share of the batch (cheaper, and slower to learn).
    one_by_one : bool
        Train the networks of a deep ensemble one after the other instead of together, to see what
        that costs; without early stopping, time limit or interrupts.
    time_limit : float or None
        Seconds after which training stops and keeps the best state so far; None for no limit. Work
        before and after, such as scoring held-out rows, takes seconds more.
    keep_on_interrupt : bool
        Whether Ctrl-C ends training with a usable model instead of an error.
    random_state : int or RandomState or None
        A number gives bit-equal results on one machine.
    device : str or torch.device
        "auto" (a GPU if there is one), "cpu", "cuda", ...
    verbose : bool
        Show a progress bar.
"""

TABLE_PARAMETERS = f"""{PARAMETERS}    validation_fraction : float or None
        Share of the rows held out for early stopping; 0, or a table too small to spare eight rows,
        trains on all rows for all epochs.
    scaling : None or one of "robust", "quantile", "standard", "minmax"
        How numeric inputs are scaled: by quartiles with outliers drawn in, to a normal
        distribution, to unit variance, or to [0, 1].
    folds : int or None
        Number of folds: each network of an ensemble trains on all but one and stops early by that
        one, so that no row is lost. With 1, one network, or fewer than eight rows a fold, rows are
        held out instead.
    bins : int or None
        Maximum bins of the learned curves through which numbers enter a network; 0 for none.
    embedding_width : int or None
        Width of the embedding of such a curve, or of a category in a column with many.
    max_categories : int or None
        Maximum number of one-hot columns for a category column. A column with more categories
        becomes learned vectors if numbers have bins; otherwise its rarer categories share a column.
    categories : mapping of column name to categories, or None
        Categories known in advance.
    warm_start : bool
        Whether a second `fit` continues from the networks of the first, as `update` does.
"""

NUMBER_PARAMETERS = """target_scaling : None or one of "standard", "minmax", "log"
        Of the target, inside; predictions are in the target's own units. With "log", targets of
        at least 0 count by their ratio, from their lower quartile on.
    log_variance_bounds : (float, float) or None
        Smooth bounds of the predicted log-variance, in units of the scaled target;
        `(-inf, inf)` for none.
    loss : None or one of "crps", "nll"
        What each member minimises: the continuous ranked probability score of its Gaussian, or
        its negative log-likelihood.
    beta : float or None
        Above 0: the beta-NLL loss, which weights rows by their variance to this power, whatever
        the preset's loss is.
    rescale : bool or None
        Whether rows held out for early stopping decide how wide predictions are: by a factor for
        the members' variances, one for their distance, and heavier tails where errors have them.
"""

TABLE_ATTRIBUTES = """n_parameters_ : int
        Trained parameters of all networks together.
    target_name_ : str or None
        The name of a pandas or polars Series passed as y.
    shift_scale_ : float
        The 95th percentile of the members' disagreement on the rows of fit.
    model_ : TableModel
        The fitted model: its `encoder` turns columns into numbers, its `ensemble` holds the
        trained networks, and `predict` gives the prediction for columns.
    settings_ : dict
        The preset's settings, explicit arguments in their place.
    history_ : list of History
        Losses and scores by epoch; with `one_by_one` a history for each network."""

SERIES_PARAMETERS = f"""{PARAMETERS}    context : int or None
        Steps that the network reads before the first forecast; by default ten seasons, three if
        seasons are long, or two weeks if steps are shorter than a day; with fewer than ten series
        at most six seasons or two thirds of the values. Shorter series are continued backwards by
        repeating their first season. The recurrent network reads one season, between 12 and 60
        steps.
    horizon : int or None
        Steps that it is trained to forecast, and forecasts by default.
    season : int or None
        Steps in a season; by default what the frequency suggests (12 for months, 7 for days, 24
        for hours, as many as a day has for hours on workdays), and none for series without dates.
    seasonal_lag : bool or None
        Recurrent only: whether the value one season before each step is an input; only where
        every series has three seasons.
    calendar : bool or None
        Whether the position in year, week and day is an input.
    feedback : None or one of "teacher", "mean", "sample"
        Recurrent only: what stands for the values between the last observation and a step when it
        is trained: the truth, the predicted mean (as in the paper), or a sample. Paths feed back
        their own samples whatever it was trained with.
    scaling : None or one of "difference", "window", "standard", "minmax"
        How each series is scaled: by the mean change over a season in what the network reads (a
        series that was never negative in fit then gets no negative forecast); by the mean and
        spread of what it reads, so that the level does not matter, and a trend little; to unit
        variance; or to [0, 1].
    hidden_size : int or None
        Recurrent only: width of the recurrent layers.
    n_layers : int or None
        Recurrent only: number of recurrent layers; `hidden` are the layers after them.
    gates : str
        Which gates of GRUBE have members, letters of "czf" (candidate, update, reset).
    log_variance_bounds : (float, float) or None
        Smooth bounds of the predicted log-variance, in scaled units.
    validation_fraction : float or None
        Share of each series' last windows held out for early stopping and for the spread of the
        forecast; 0 trains on all for all epochs. Series too short to spare four windows train on
        all, by default for a third of the epochs.
    n_paths : int
        Sample paths of a forecast, shared evenly by the members. If they do not divide evenly, each
        member draws one more than its share, and `simulate` drops the surplus.
    future_columns : sequence of str
        Exogenous columns whose future values are known; pass them to `predict` as X_df. By default
        the effect of each is linear, estimated from changes, and levels off far from the column's
        median if outliers would spoil it; the recurrent network reads the columns as inputs.
    past_columns : sequence of str
        Exogenous columns that are known only up to the present.
    static_columns : sequence of str
        Columns that are the same at all times of a series, such as a shop's size or region. The
        network reads them; a series that fit has not seen has them, too.
    holidays : str or None
        A country, such as "NO", or a part of one, such as "DE-BY": its public holidays, and the
        days before and after them, become columns that are known ahead. For series of days or
        shorter steps; needs the extra `holidays`.
    freq : str, int, pandas offset or None
        Time from one observation to the next; inferred if None.
    fill : None or one of "interpolate", "ffill"
        How to fill gaps, for training and as what forecasts read. If None, a gap is not used for
        training, with a warning; for the recurrent network it is then an error that names it.
        Scores and calibration never use what was filled.
    id_col : str
        The column of a long frame that identifies the series.
    time_col : str
        The column of times.
    target_col : str
        The column of values.
    alias : str or None
        Name of the forecast's columns; by default that of the method.
"""

MOST_LAYERS = 100  # of a recurrent network, one after the other
MOST_PATHS = 1_000_000  # more would fill the memory, and move no digit that matters


class Number(Interval):  # type: ignore[misc]
    """Numbers of Python or numpy; True is none, though Python counts it as 1."""

    def is_satisfied_by(self, val: Any) -> bool:
        val = val.item() if isinstance(val, np.generic) else val  # a float16 overflows beside 1e9
        is_number = isinstance(val, int | float) and not isinstance(val, bool)
        return is_number and bool(super().is_satisfied_by(val))


COUNT = Number(Integral, 1, 2**31 - 1, closed="both")
ABOVE_0 = Number(Real, 0, None, closed="neither")
FROM_0 = Number(Real, 0, None, closed="left")
LARGEST = 1e9  # of what multiplies losses and steps: more is a slip, and overflows
SHARE = Number(Real, 0, 1, closed="left")


def _each(names: str, *allowed: Any) -> dict[str, list[Any]]:
    """What each of these parameters may be."""
    return {name: list(allowed) for name in names.split()}


CONSTRAINTS: dict[str, list[Any]] = {
    **_each("method preset", str),
    "device": [str, torch.device],
    "n_passes": [COUNT],
    **_each("n_members epochs batch_size patience", COUNT, None),
    "time_limit": [ABOVE_0, None],
    "lr": [Number(Real, 0, LARGEST, closed="right"), None],
    **_each("dropout validation_fraction", SHARE, None),
    **_each("one_by_one keep_on_interrupt verbose", "boolean"),
    "hidden": [list, tuple, None],
    "weight_decay": [Number(Real, 0, LARGEST, closed="both"), None],
    "clip_norm": [Number(Real, 0, LARGEST, closed="right"), Options(Real, {math.inf}), None],
    **_each("scaling batching", str, None),
    **_each("adapters init", str, list, tuple, None),
    "penalty": [Number(Real, 0, LARGEST, closed="both")],
    "random_state": ["random_state"],
}

TABLE_CONSTRAINTS: dict[str, list[Any]] = {
    **CONSTRAINTS,
    **_each("folds embedding_width max_categories", COUNT, None),
    "bins": [FROM_0, None],
    "categories": [Mapping, None],
    "warm_start": ["boolean"],
}

NUMBER_CONSTRAINTS: dict[str, list[Any]] = {
    **TABLE_CONSTRAINTS,
    **_each("target_scaling loss", str, None),
    "log_variance_bounds": [tuple, list, None],
    "beta": [Number(Real, 0, 1, closed="both"), None],
    "rescale": ["boolean", None],
}

SERIES_CONSTRAINTS: dict[str, list[Any]] = {
    **CONSTRAINTS,
    **_each("context horizon season hidden_size", COUNT, None),
    "n_layers": [Number(Integral, 1, MOST_LAYERS, closed="both"), None],
    **_each("seasonal_lag calendar", "boolean", None),
    **_each("feedback fill alias holidays", str, None),
    **_each("gates id_col time_col target_col", str),
    **_each("adapters init", str, None),
    **_each("future_columns past_columns static_columns", list, tuple),
    "log_variance_bounds": [tuple, list, None],
    "n_paths": [Number(Integral, 1, MOST_PATHS, closed="both")],
    "freq": [str, Integral, pd.offsets.BaseOffset, None],
}
