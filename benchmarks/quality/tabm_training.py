"""TabM, trained as in the example of its authors."""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from tasks import Array, Predict, Task, name_gaps, one_spread, words


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
