"""The costs of the methods as a file and as a table; `cost.py` measures them."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from batchensemble.modelfile.files import replacing
from batchensemble.plots.looks import dataset_name, label
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.spec import Settings
from batchensemble.study.store import read_json

FORMAT = 1
ONE_BY_ONE = "deep_ensemble one by one"
ENTRANTS = ("batch_ensemble", "deep_ensemble", ONE_BY_ONE, "mc_dropout", "single")
KEYS = frozenset(
    {
        *("device", "dataset", "entrant", "n_parameters"),
        *("train_seconds", "predict_seconds", "peak_bytes"),
    }
)
NOTE = (
    "Times are medians of repeats in which the entrants take turns, after a warm-up that includes "
    "compilation (on a CPU: processor time of one thread): an epoch of one model with all its "
    "networks (one by one: an epoch of one network times their number), and the predictions for "
    "all test rows, or 2,000 paths for each of at most 64 test windows. Memory is the largest sum "
    "of tensors alive at a time on the device, beyond the training data (on a GPU with the work "
    "space of its libraries, some 32 MiB); ratios are to BatchEnsemble."
)


def read_costs(path: Path) -> list[dict[str, Any]]:
    """All rows of the file; none if there is no such file."""
    rows: list[dict[str, Any]] = _read(path)["rows"]
    return rows


def check_costs(path: Path, settings: Settings, data: Mapping[str, str]) -> None:
    """Raise if they were measured with other settings, or on other data of one of these datasets.

    `data` has a checksum for each dataset of a user.
    """
    costs, wanted = _read(path), dataclasses.asdict(settings)
    cure = "use another results folder, or delete the file"
    if costs["settings"] not in (None, wanted):
        raise ValueError(
            f"expected costs in {path} measured with {wanted}, got {costs['settings']}; {cure}"
        )
    for row in costs["rows"]:
        if row.get("data", "") != data.get(row["dataset"], row.get("data", "")):
            raise ValueError(
                f"expected costs in {path} measured on the present data of {row['dataset']}, got "
                f"some of other data; {cure}"
            )


def is_measured(path: Path, device: str, dataset: str) -> bool:
    """Whether the file has all rows of a dataset."""
    rows = read_costs(path)
    here = {row["entrant"] for row in rows if (row["device"], row["dataset"]) == (device, dataset)}
    return here.issuperset(ENTRANTS)


def is_full(path: Path) -> bool:
    """Whether they were measured with the settings of the full study."""
    return bool(_read(path)["settings"] == dataclasses.asdict(Settings()))


def add_costs(
    path: Path, rows: Sequence[dict[str, Any]], settings: Settings, machine: dict[str, Any]
) -> None:
    """Replace the rows of the same device and dataset; keep the others."""
    before = _read(path)
    new = {(row["device"], row["dataset"]) for row in rows}
    kept = [row for row in before["rows"] if (row["device"], row["dataset"]) not in new]
    costs = {
        "format": FORMAT,
        "settings": dataclasses.asdict(settings),
        "machine": before["machine"] | {device: machine for device, _ in new},  # by device
        "rows": [*kept, *rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(costs, indent=1).encode())


def cost_sheet(rows: Sequence[dict[str, Any]]) -> Sheet:
    """A row for each device, dataset and entrant; ratios are to BatchEnsemble there."""
    ours = {(r["device"], r["dataset"]): r for r in rows if r["entrant"] == "batch_ensemble"}
    table = []
    for row in rows:
        base = ours.get((row["device"], row["dataset"]), {})
        method, _, how = row["entrant"].partition(" ")
        words = row["device"], dataset_name(row["dataset"]), f"{label(method)} {how}".strip()
        cells: list[Cell] = [*words, row["n_parameters"]]
        for key in ("train_seconds", "predict_seconds"):
            cells += [1e3 * row[key], row[key] / base[key] if base else None]
        for key in ("train_peak_bytes", "predict_peak_bytes"):
            size = row.get(key)
            cells.append(None if size is None else size / 2**20)
        table.append(tuple(cells))
    columns = (
        *("device", "dataset", "entrant", "parameters"),
        *("training, ms an epoch", "training, ratio", "prediction, ms", "prediction, ratio"),
        *("training, peak MiB", "prediction, peak MiB"),
    )
    return Sheet("cost", "Cost: parameters, time and memory", columns, tuple(table), NOTE)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {"settings": None, "machine": {}, "rows": []}
    costs = read_json(path, "costs", FORMAT)
    rows = costs.get("rows")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and row.keys() >= KEYS for row in rows
    ):
        raise ValueError(
            f"expected rows of costs with {', '.join(sorted(KEYS))} in {path}, got something else; "
            "delete the file"
        )
    return {"settings": costs.get("settings"), "machine": costs.get("machine", {}), "rows": rows}
