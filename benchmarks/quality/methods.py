"""Every method as one small function: it fits a task and returns how to predict.

Numbers are answered with an object that has `mean`, `quantile(levels)` and, where there is a
density, `log_prob(y)`; classes with an array of probabilities.
"""

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, softmax

Array = NDArray[np.float64]
Predict = Callable[[pd.DataFrame], Any]
LEVELS = np.arange(1, 100) / 100


@dataclass(frozen=True)
class Task:
    X: pd.DataFrame
    y: NDArray[Any]
    n_classes: int  # 0: the target is a number
    seed: int
    device: str = "cpu"

    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to fit, and the 15 % held out for early stopping."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        n_held_out = round(0.15 * len(order))
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


@dataclass(frozen=True)
class Normal:
    mean: Array
    std: Array

    def quantile(self, levels: Array) -> Array:
        return self.mean[:, None] + self.std[:, None] * ndtri(levels)

    def log_prob(self, y: Array) -> Array:
        z = (y - self.mean) / self.std
        return -0.5 * z**2 - np.log(self.std) - 0.5 * math.log(2 * math.pi)


def one_spread(mean: Array, held_out_error: Array) -> Normal:
    """The RMSE on held-out rows as the standard deviation of every row."""
    spread = math.sqrt(np.mean(np.square(held_out_error)))
    return Normal(mean, np.full(len(mean), spread))


def words(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes(exclude="number").columns)


def name_gaps(X: pd.DataFrame) -> pd.DataFrame:
    """A gap among words is a word of its own."""
    return X.fillna(dict.fromkeys(words(X), "missing"))


def numbers(X: pd.DataFrame) -> Any:
    """Turns frames like X into numbers: one-hot words; medians and a flag for gaps."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (one_hot, words(X)),
        remainder=SimpleImputer(strategy="median", add_indicator=True),
    )
    return make_pipeline(FunctionTransformer(name_gaps), columns).fit(X)


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
        """The mean of all trees: the ensembles, each of part of the trees, have worse ones."""
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


@dataclass(frozen=True)
class Percentiles:
    mean: Array
    values: Array

    def quantile(self, levels: Array) -> Array:
        return self.values[:, np.rint(levels * 100).astype(int) - 1]


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


def tabm(task: Task) -> Predict:
    """Three blocks of 512 and 32 members, trained as in the example of its authors.

    Their noise for the quantile transform is added in units of each column's spread, because some
    columns are smaller than it.
    """
    import torch
    from rtdl_num_embeddings import PiecewiseLinearEmbeddings, compute_bins
    from tabm import TabM

    torch.manual_seed(task.seed)
    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    fitted, held_out = task.parts()
    encode, cardinalities = tabm_inputs(task.X.iloc[fitted])
    location, scale = 0.0, 1.0
    if not task.n_classes:
        location, scale = task.y[fitted].mean(), task.y[fitted].std()
    kind = torch.long if task.n_classes else torch.float32

    def tensors(X: pd.DataFrame) -> tuple[Any, Any]:
        x, codes = encode(X)
        x = torch.as_tensor(x, dtype=torch.float32, device=task.device)
        return x, torch.as_tensor(codes, device=task.device) if cardinalities else None

    x, codes = tensors(task.X.iloc[fitted])
    y = (task.y[fitted] - location) / scale if not task.n_classes else task.y[fitted]
    y = torch.as_tensor(y, dtype=kind, device=task.device)
    bins = compute_bins(x, n_bins=min(48, len(x) - 1))
    network = TabM.make(
        n_num_features=x.shape[1],
        cat_cardinalities=cardinalities,
        d_out=task.n_classes or 1,
        n_blocks=3,
        num_embeddings=PiecewiseLinearEmbeddings(
            bins, d_embedding=16, activation=False, version="B"
        ),
    ).to(task.device)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=0.002, weight_decay=3e-4, fused=task.device == "cuda"
    )
    loss_of = torch.nn.functional.cross_entropy if task.n_classes else torch.nn.functional.mse_loss

    def answer(x: Any, codes: Any) -> Array:
        network.eval()
        with torch.inference_mode():
            parts = [
                network(x[rows], None if codes is None else codes[rows])
                for rows in torch.arange(len(x), device=task.device).split(4096)
            ]
        outputs = torch.cat(parts).double().cpu().numpy()
        if task.n_classes:
            return np.asarray(softmax(outputs, -1).mean(1))
        return np.asarray(outputs[..., 0].mean(1) * scale + location)

    stop, y_stop = tensors(task.X.iloc[held_out]), task.y[held_out]

    def held_out_loss() -> float:
        answers = answer(*stop)
        if task.n_classes:
            chosen = answers[np.arange(len(y_stop)), y_stop]
            return float(-np.log(np.maximum(chosen, 1e-15)).mean())
        return float(np.mean((y_stop - answers) ** 2))

    best, best_state, waited = math.inf, deepcopy(network.state_dict()), 0
    while waited <= 16:
        network.train()
        for rows in torch.randperm(len(x), device=task.device).split(256):
            outputs = network(x[rows], None if codes is None else codes[rows]).flatten(0, 1)
            outputs = outputs if task.n_classes else outputs[:, 0]
            loss = loss_of(outputs, y[rows].repeat_interleave(32))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
        now, waited = held_out_loss(), waited + 1
        if now < best:
            best, best_state, waited = now, deepcopy(network.state_dict()), 0
    network.load_state_dict(best_state)
    if task.n_classes:
        return lambda X: answer(*tensors(X))
    error = y_stop - answer(*stop)
    return lambda X: one_spread(answer(*tensors(X)), error)


def tabm_inputs(X: pd.DataFrame) -> tuple[Callable[[pd.DataFrame], Any], list[int]]:
    """How frames like X become (numbers, codes of words), and how many codes each word has."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OrdinalEncoder, QuantileTransformer

    spoken = words(X)
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(X.drop(columns=spoken))
    rows = imputer.transform(X.drop(columns=spoken))
    kept = np.ptp(rows, axis=0) > 0
    rows = rows[:, kept]
    noise = np.random.default_rng(0).normal(0, 1e-5, rows.shape) * rows.std(0)
    quantiles = QuantileTransformer(
        n_quantiles=max(min(len(X) // 30, 1000), 10),
        output_distribution="normal",
        subsample=10**9,
    ).fit(rows + noise)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    ordinal.fit(name_gaps(X)[spoken])
    sizes = [len(known) + 1 for known in ordinal.categories_]  # the last: not seen in training

    def encode(X: pd.DataFrame) -> tuple[Array, NDArray[np.int64]]:
        codes = ordinal.transform(name_gaps(X)[spoken]).astype(np.int64)
        found = quantiles.transform(imputer.transform(X.drop(columns=spoken))[:, kept])
        return found, np.where(codes < 0, np.array(sizes) - 1, codes)

    return encode, sizes


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
