"""Fits to tables in files that do not fit into memory: two passes, then shards on a disk.

The first pass draws a sample, from which columns, scales, bins and words are learned. The second
encodes the rows and scatters them over shards; training reads one of these at a time.
"""

import math
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from batchensemble.data.frames import read_columns
from batchensemble.data.row_sample import MOST_CLASSES
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.table_files import MOST_NOTES, TableFiles, is_in_files, open_files
from batchensemble.data.tables import target_values
from batchensemble.data.telling import tell
from batchensemble.estimators.effort import length_for
from batchensemble.estimators.examples import Examples
from batchensemble.estimators.heads import ClassHead, Head
from batchensemble.estimators.splits import (
    CALIBRATION_SHARE,
    WATCHED_ROWS,
    Seeds,
    draw_seeds,
    own_seeds,
)
from batchensemble.estimators.table_model import (
    SHIFT_ROWS,
    TableModel,
    let_curves_go_on,
    recipe_of,
    shift_scale,
)
from batchensemble.modelfile.persistence import FilePath
from batchensemble.training.engines import Data
from batchensemble.training.methods import Method, in_folds
from batchensemble.training.models import Rows
from batchensemble.training.shards import Shards, read_shard, write_rows

if TYPE_CHECKING:
    from batchensemble.estimators.table import TableEstimator

SHARD_ROWS, SHARD_BYTES = 2**18, 2**27
CALIBRATION_ROWS = 20_000  # at most


class Parts(NamedTuple):
    """How rows are dealt out: to so many parts, or a share to part 0 and the others to part 1."""

    n_folds: int
    share: float

    @property
    def trained_on(self) -> float:
        """The share of the rows that a network trains on."""
        return 1 - (1 / self.n_folds if self.n_folds > 1 else self.share)

    def deal(self, n_rows: int, random: np.random.Generator) -> NDArray[np.int64]:
        if self.n_folds > 1:
            return random.integers(self.n_folds, size=n_rows)
        return (random.random(n_rows) >= self.share).astype(np.int64)


def files_of(
    estimator: "TableEstimator[Any]",
    X: Any,
    y: Any,
    by_row: dict[str, Any],
    in_time: bool,
    goes_on: bool,
) -> TableFiles | None:
    """The files that X names, or None; tells what was guessed about them."""
    if not is_in_files(X):
        return None
    files = open_files(X, y)
    _check_wanted(estimator, files, by_row, in_time, goes_on)
    for note in [] if files is X else files.notes[:MOST_NOTES]:
        tell(f"{note} on the command line", 4)
    return files


def target_of(estimator: "TableEstimator[Any]", frame: pd.DataFrame) -> pd.Series:
    """The last column of rows from files."""
    return target_values(frame.iloc[:, -1], is_classes=estimator._task == "classification")


def _check_wanted(
    estimator: "TableEstimator[Any]",
    files: TableFiles,
    by_row: dict[str, Any],
    in_time: bool,
    goes_on: bool,
) -> None:
    """Raise if something is asked for that rows in files, or so many rows, cannot have."""
    if any(given is not None for given in by_row.values()):
        raise ValueError(
            "sample_weight, groups and censored are for tables in memory, and X names files; omit "
            "them, or read the table"
        )
    has_weight = getattr(estimator, "class_weight", None) is not None
    if not files.sample.is_whole and (in_time or has_weight or goes_on):
        raise ValueError(
            "in_time, class_weight, eval_set and warm_start are for tables that fit into memory, "
            f"and {files.name} has {files.sample.n_rows:,} rows; omit them, or fit to fewer rows"
        )


def fit_files(
    estimator: "TableEstimator[Any]",
    files: TableFiles,
    *,
    calibrate: bool,
    checkpoint: FilePath | None = None,
) -> None:
    """Fit to rows of which files are too many to be held at once."""
    seeds = draw_seeds(estimator.random_state, to_repeat=checkpoint is not None)
    held_back = None
    if calibrate:
        n = min(CALIBRATION_ROWS, round(CALIBRATION_SHARE * len(files.sample.random_rows)))
        files, held_back = files.without(n, seeds.split)
    estimator.settings_ = estimator._resolved(files.sample.n_rows)
    frame = files.sample.frame
    X, values = frame.iloc[:, :-1], target_of(estimator, frame).to_numpy()
    columns = read_columns(X)
    validate_data(estimator, X, skip_check_array=True)
    estimator.target_name_ = files.target
    estimator._forget_calibration()
    estimator.__dict__.pop("origin_", None)
    values = _plain(values)
    examples = Examples(columns, values)
    estimator._learn_target(examples, examples)
    head = estimator._head()
    encoder = estimator._encoder().fit(columns)
    encoder.spans_ = files.spans(encoder.names_)
    estimator._doubt(encoder, columns, values, is_sample=True)
    recipe = recipe_of(estimator.settings_, encoder, head.sizes)
    method, parts = _parts(estimator)
    n_rows = round(parts.trained_on * files.sample.n_rows)
    settings, has_held_out = estimator.settings_, parts.trained_on < 1
    length = length_for(settings, n_rows, method, recipe, has_held_out=has_held_out)
    estimator.settings_ = settings | length
    with tempfile.TemporaryDirectory(prefix="batchensemble-") as folder:
        shards, own = _write_shards(
            Path(folder), files, encoder, head, parts, estimator, seeds.split
        )
        splits = _splits(parts, own, seeds)
        ensemble = estimator._train(
            method,
            recipe,
            head.loss,
            shards,
            estimator._training(stops_early=parts.trained_on < 1),
            rows=splits,
            seed=seeds.prediction,
            checkpoint=checkpoint,
        )
    let_curves_go_on(ensemble, encoder)
    estimator.model_ = TableModel(encoder, ensemble, head)
    estimator._learn_spread(shards.watched, splits)
    estimator.model_ = estimator._assembled(encoder, ensemble)
    usual = shards.watched.x.cpu().numpy()
    estimator.shift_scale_ = shift_scale(
        estimator.model_, usual, np.random.default_rng(seeds.split)
    )
    if held_back is not None:
        values = _plain(target_of(estimator, held_back).to_numpy())
        estimator._calibrate(read_columns(held_back.iloc[:, :-1]), values)


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Labels that are texts as an array of texts."""
    return values.astype(str) if values.dtype == object else values


def _parts(estimator: "TableEstimator[Any]") -> tuple[Method, Parts]:
    method, share = estimator._make_method(), estimator.settings_["validation_fraction"]
    cut, n_folds = in_folds(method, estimator.settings_["folds"])
    return (cut, Parts(n_folds, share)) if share and n_folds > 1 else (method, Parts(1, share))


def _write_shards(
    folder: Path,
    files: TableFiles,
    encoder: TableEncoder,
    head: Head[Any],
    parts: Parts,
    estimator: "TableEstimator[Any]",
    seed: int,
) -> tuple[Shards, NDArray[np.int64]]:
    """The encoded rows, and the parts of the watched ones."""
    from batchensemble.estimators.base import pick_device

    n_features = encoder.n_features_out_
    n_rows = files.sample.n_rows
    share = min(1.0, _most_rows(estimator.settings_, parts) / n_rows)
    bytes_a_row = 4 * (n_features + 2)
    rows_a_shard = max(1, min(SHARD_ROWS, SHARD_BYTES // bytes_a_row))
    n_shards = math.ceil(share * n_rows / rows_a_shard)
    _check_disk(folder, round(share * n_rows * bytes_a_row))
    random = np.random.default_rng([seed, 5])
    for frame in files.batches():
        if share < 1:
            frame = frame[random.random(len(frame)) < share]
        if frame.empty:  # all rows of a file may be held back, or have no target
            continue
        values = _plain(target_of(estimator, frame).to_numpy())
        _check_classes(head, values, files)
        x, y = encoder.transform(frame.iloc[:, :-1]), head.encode(values)
        write_rows(folder, n_shards, x, y, parts.deal(len(x), random), random)
    x, values, own = read_shard(folder, 0, n_features)
    n_held_out = parts.n_folds if parts.n_folds > 1 else int(parts.share > 0)
    order = random.permutation(len(own))  # rows lie as in the files, which may be sorted
    some = [np.sort(order[own[order] == part][:WATCHED_ROWS]) for part in range(n_held_out)]
    rows = np.concatenate(some) if some else np.sort(order[:SHIFT_ROWS])
    device = pick_device(estimator.device)
    kind = torch.int64 if y.dtype.kind == "i" else torch.float32
    watched = Data(
        torch.tensor(x[rows], device=device), torch.tensor(values[rows], device=device).to(kind)
    )
    return Shards(folder, n_shards, watched, seed), own[rows]


def _check_classes(head: Head[Any], values: NDArray[Any], files: TableFiles) -> None:
    if isinstance(head, ClassHead) and not np.isin(values, head.classes).all():
        raise ValueError(
            f"{files.name}: expected at most {MOST_CLASSES:,} classes in {files.target!r}, got "
            "more; join rare ones"
        )


def _splits(parts: Parts, own: NDArray[np.int64], seeds: Seeds) -> list[Rows]:
    """For each fold the parts to train on, and its watched rows."""
    if parts.n_folds == 1:
        held_out = torch.tensor(np.flatnonzero(own == 0)) if parts.share else None
        return [Rows(seeds.training, torch.tensor([1]), held_out)]
    every = torch.arange(parts.n_folds)
    return [
        Rows(of_fold, every[every != fold], torch.tensor(np.flatnonzero(own == fold)))
        for fold, of_fold in enumerate(own_seeds(seeds, parts.n_folds))
    ]


def _most_rows(settings: dict[str, Any], parts: Parts) -> float:
    """So many rows training may see: no more need to be encoded."""
    if settings["epoch_steps"] is None:
        return math.inf
    steps: int = settings["epochs"] * settings["epoch_steps"]
    return float(steps * settings["batch_size"] / parts.trained_on)


def _check_disk(folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise OSError(
            f"the encoded rows need {n_bytes / 2**30:.1f} GiB in {folder.parent}, and "
            f"{free / 2**30:.1f} are free; set TMPDIR to a folder with more space"
        )
