"""Commands with odd options and files: an answer or one line, and the right exit code."""

import os
import shutil
import tempfile
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.outcomes import check
from sample_files import houses, sales
from typer.testing import CliRunner

from batchensemble.cli.app import app

QUICK = ["--epochs", "1", "--members", "2"]
VALUES = [
    "",
    "ä\n",
    *[
        "0",
        "1",
        "-1",
        "3",
        "0.5",
        "1e9",
        "100000000",
        "nan",
        "inf",
        "x",
        "D",
        "ms",
        "MS",
        "ns",
        "auto",
        "cpu",
        "meta",
        "cuda:9",
    ],
]
VALUES += [
    "price",
    "town",
    "id",
    "month",
    "store",
    "sales",
    "holidays",
    "all",
    "price.be",
    "sales.be",
    "houses.csv",
]
VALUES += ["sales.csv", "none.csv", ".", "pipe", "-"]
OPTIONS = {
    "fit": "-t --task --drop --holdout --time --series --horizon --freq --fill --future --past "
    "--method --preset --seed --device --time-limit --calibrate",
    "predict": "--coverage --keep --horizon --ahead --device --json -o",
    "evaluate": "--target --coverage --device --json",
    "inspect": "--json",
    "export": "",
}
STARTS: dict[str, list[list[str]]] = {
    "fit": [
        ["houses.csv", "-t", "price", "-o", "new.be"],
        ["sales.csv", "-t", "sales", "--time", "month", "--series", "store", "-o", "new.be"],
    ],
    "predict": [["price.be", "houses.csv", "-o", "out.csv"], ["sales.be", "-o", "out.csv"]],
    "evaluate": [["price.be", "houses.csv"], ["sales.be", "sales.csv"]],
    "inspect": [["price.be"], ["sales.be"]],
    "export": [["price.be", "new.onnx"]],
}


def plan(random: np.random.Generator) -> dict[str, Any]:
    command = str(random.choice(list(STARTS), p=[0.4, 0.3, 0.1, 0.1, 0.1]))
    words = list(STARTS[command][random.integers(len(STARTS[command]))])
    for _ in range(random.integers(0, 3)):
        if random.random() < 0.4:
            words[random.integers(len(words))] = str(random.choice(VALUES))
        elif OPTIONS[command]:
            option = str(random.choice(OPTIONS[command].split()))
            flag = option in ("--json", "--calibrate")
            words += [option] if flag else [option, str(random.choice(VALUES))]
    return {"words": [command, *words]}


@cache
def folder() -> Path:
    """With data, models, and a pipe that nobody writes to; kept until the process ends."""
    place = Path(tempfile.mkdtemp(prefix="fuzz"))
    houses(80).to_csv(place / "houses.csv", index=False)
    sales(36).to_csv(place / "sales.csv", index=False)
    runner = CliRunner()
    table = "fit houses.csv -t price -o price.be"
    series = "fit sales.csv -t sales --time month --series store --horizon 3 -o sales.be"
    with chdir(place):
        for words in (table, series):
            done = runner.invoke(app, [*words.split(), *QUICK])
            check(done.exit_code == 0, f"the first fit: {done.output}")
    os.mkfifo(place / "pipe")
    return place


prepare = folder  # the first command imports torch, whose builds for GPUs are large


def run(plan: dict[str, Any]) -> None:
    words = [*plan["words"], *(QUICK if plan["words"][0] == "fit" else [])]
    place = folder()
    try:
        with chdir(place):
            done = CliRunner(env={"COLUMNS": "80"}).invoke(app, words, input="")
    finally:
        for name in ("new.be", "out.csv", "new.onnx"):
            if (place / name).is_dir():  # predictions of a folder are a folder
                shutil.rmtree(place / name)
            (place / name).unlink(missing_ok=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    check(done.exit_code in (0, 1, 2), f"exit code {done.exit_code}")
    if done.exit_code == 1:
        check(done.stderr.count("\n") == 1, f"an error of several lines: {done.stderr!r:.300}")
        check(done.stderr.startswith("Error: "), f"no error, but {done.stderr!r:.300}")
        check("this is a bug" not in done.stderr, done.stderr.strip())
    left = [name for name in os.listdir(place) if name.endswith(".part")]
    check(not left, f"unfinished files: {left}")
