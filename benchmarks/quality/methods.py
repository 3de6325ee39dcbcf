"""Every method as one small function: it fits a task and returns how to predict."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tabm_training import tabm
from tasks import LEVELS, Normal, Percentiles, Predict, Task, name_gaps, numbers, one_spread, words


def ours(task: Task, *, preset: str, method: str) -> Predict:
    from batchensemble import Classifier, Regressor

    estimator = Classifier if task.n_classes else Regressor
    model = estimator(method, preset=preset, random_state=task.seed, device=task.device)
    model.fit(task.X, task.y)
    if task.n_classes:
        return lambda X: model.predict_dist(X).mean
    return model.predict_dist


def catboost(task: Task) -> Predict:
    from catboost import CatBoostClassifier, CatBoostRegressor, Pool

    fitted, held_out = task.parts()
    settings = {
        "iterations": 2000,
        "early_stopping_rounds": 100,
        "random_seed": task.seed,
        "thread_count": 1,
        "task_type": "CPU",
        "allow_writing_files": False,
        "verbose": False,
    }

    def pool(X: pd.DataFrame, y: NDArray[Any] | None = None) -> Any:
        return Pool(name_gaps(X), y, cat_features=words(X))

    train = pool(task.X.iloc[fitted], task.y[fitted])
    stop = pool(task.X.iloc[held_out], task.y[held_out])
    if task.n_classes:
        loss = "Logloss" if task.n_classes == 2 else "MultiClass"
        model = CatBoostClassifier(loss_function=loss, **settings).fit(train, eval_set=stop)
        return lambda X: model.predict_proba(pool(X))
    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty", posterior_sampling=True, **settings
    ).fit(train, eval_set=stop)

    def predict(X: pd.DataFrame) -> Normal:
        """The mean is that of all trees; each virtual ensemble has only part of them."""
        rows = pool(X)
        _, knowledge, data = model.virtual_ensembles_predict(
            rows,
            prediction_type="TotalUncertainty",
            virtual_ensembles_count=min(10, max(1, model.tree_count_ // 4)),
            thread_count=1,
        ).T
        return Normal(model.predict(rows, thread_count=1)[:, 0], np.sqrt(knowledge + data))

    return predict


def ngboost(task: Task) -> Predict:
    from ngboost import NGBRegressor
    from ngboost.learners import default_tree_learner
    from sklearn.base import clone

    fitted, held_out = task.parts()
    encoder = numbers(task.X)
    X = encoder.transform(task.X)
    model = NGBRegressor(
        Base=clone(default_tree_learner).set_params(random_state=task.seed),
        n_estimators=2000,
        learning_rate=0.01 if len(task.y) <= 2000 else 0.05,
        random_state=task.seed,
        verbose=False,
    )
    model.fit(
        X[fitted],
        task.y[fitted],
        X_val=X[held_out],
        Y_val=task.y[held_out],
        early_stopping_rounds=50,
    )

    def predict(X: pd.DataFrame) -> Normal:
        dist = model.pred_dist(encoder.transform(X), max_iter=model.best_val_loss_itr + 1)
        return Normal(dist.loc, dist.scale)

    return predict


def lightgbm(task: Task) -> Predict:
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    fitted, held_out = task.parts()
    known = {word: sorted(task.X[word].dropna().unique()) for word in words(task.X)}

    def categories(X: pd.DataFrame) -> pd.DataFrame:
        """Words not seen in training are gaps."""
        columns = {
            word: pd.Categorical(X[word].where(X[word].isin(seen)), categories=seen)
            for word, seen in known.items()
        }
        return X.assign(**columns)

    X = categories(task.X)
    model = (LGBMClassifier if task.n_classes else LGBMRegressor)(
        n_estimators=2000, learning_rate=0.05, random_state=task.seed, n_jobs=1, verbose=-1
    )
    model.fit(
        X.iloc[fitted],
        task.y[fitted],
        eval_X=X.iloc[held_out],
        eval_y=task.y[held_out],
        callbacks=[early_stopping(50, verbose=False)],
    )
    if task.n_classes:
        return lambda X: model.predict_proba(categories(X))
    error = task.y[held_out] - model.predict(X.iloc[held_out])
    return lambda X: one_spread(model.predict(categories(X)), error)


def quantile_forest(task: Task) -> Predict:
    from quantile_forest import RandomForestQuantileRegressor

    encoder = numbers(task.X)
    model = RandomForestQuantileRegressor(
        n_estimators=200, min_samples_leaf=5, n_jobs=1, random_state=task.seed
    ).fit(encoder.transform(task.X), task.y)

    def predict(X: pd.DataFrame) -> Percentiles:
        rows = encoder.transform(X)
        values = model.predict(rows, quantiles=list(LEVELS))
        return Percentiles(model.predict(rows, quantiles="mean"), values)

    return predict


def linear(task: Task) -> Predict:
    from sklearn.linear_model import BayesianRidge, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    head = LogisticRegression(max_iter=2000) if task.n_classes else BayesianRidge()
    model = make_pipeline(numbers(task.X), StandardScaler(), head).fit(task.X, task.y)
    if task.n_classes:
        return model.predict_proba
    return lambda X: Normal(*model.predict(X, return_std=True))


class Method(NamedTuple):
    fit: Callable[[Task], Predict]
    module: str  # imported before the clock starts
    classes: bool = True


PEERS = {
    "catboost": Method(catboost, "catboost"),
    "ngboost": Method(ngboost, "ngboost", classes=False),
    "lightgbm": Method(lightgbm, "lightgbm"),
    "quantile_forest": Method(quantile_forest, "quantile_forest", classes=False),
    "linear": Method(linear, "sklearn.linear_model"),
    "tabm": Method(tabm, "tabm"),
}
OURS = {
    name: Method(partial(ours, preset=preset, method=method), "batchensemble.estimators")
    for name, preset, method in [
        ("ours_fast", "fast", "batch_ensemble"),
        ("ours_default", "default", "batch_ensemble"),
        ("ours_best", "best", "batch_ensemble"),
        ("deep_ensemble", "default", "deep_ensemble"),
        ("single", "default", "single"),
    ]
}
METHODS = PEERS | OURS


def named(names: Iterable[str]) -> list[str]:
    """With `peers` and `ours` standing for all of theirs."""
    groups = {"peers": list(PEERS), "ours": list(OURS), "all": list(METHODS)}
    return list(dict.fromkeys(m for name in names for m in groups.get(name, [name])))
