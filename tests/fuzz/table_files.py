"""Files of tables, damaged and odd: read, or refused in one line."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz.outcomes import check

from batchensemble.data.tables import read_file

SUFFIXES = [".csv", ".csv.gz", ".tsv", ".parquet", ".feather", ".arrow"]
PIECES = [
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\0",
    " ",
    "\ufeff",
    "\u2028",
    "\\",
    "5 %",
    "x" * 300,
    "9" * 400,
]
PIECES += [
    "a",
    "1",
    "-2.5",
    "1e400",
    '"',
    ",",
    ";",
    "NA",
    "nan",
    "inf",
    "007",
    "2024-01-31",
    "31.01.2024",
    "2024-01-31T10:00Z",
]
PIECES += ["1.234,50 €", "1'234", "(1)", "19/06/2024", "01/02/2024", "Jan 1949", "sep=;"]
PIECES += ["true", "ä", "1,5", "1.000", "$3", "''", "0x10", "1_000", "-"]


@cache
def base(suffix: str) -> bytes:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": random.normal(size=150),
            "word": random.choice(["a", "bb", None], 150),
            "town": pd.Categorical(random.choice(["Ulm", "Bonn"], 150)),
            "day": pd.date_range("2024", periods=150),
            "flag": random.random(150) > 0.5,
            "n": random.integers(0, 9, 150),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"f{suffix}"
        if suffix in (".feather", ".arrow"):
            frame.to_feather(path, compression="uncompressed" if suffix == ".arrow" else "lz4")
        elif suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
        return path.read_bytes()


def plan(random: np.random.Generator) -> dict[str, Any]:
    suffix = str(random.choice(SUFFIXES))
    if suffix in (".csv", ".tsv") and random.random() < 0.6:
        n_columns, n_rows = random.integers(1, 4), random.integers(0, 6)
        pieces = random.choice(PIECES, (n_rows + 1, n_columns))
        lines = [",".join(row) for row in pieces.tolist()]
        return {"suffix": suffix, "text": "\n".join(lines)}
    size = len(base(suffix))
    places = random.integers(size, size=random.integers(1, 4)).tolist()
    changes = [[at, int(random.integers(256))] for at in places]
    cut = int(random.integers(size)) if random.random() < 0.2 else size
    return {"suffix": suffix, "changes": changes, "length": cut}


def content(plan: dict[str, Any]) -> bytes:
    if "text" in plan:
        return str(plan["text"]).encode("utf-8", "surrogatepass")
    data = bytearray(base(plan["suffix"])[: plan["length"]])
    for at, byte in plan["changes"]:
        if at < len(data):
            data[at] = byte
    return bytes(data)


def run(plan: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"f{plan['suffix']}"
        path.write_bytes(content(plan))
        try:
            table = read_file(path)
        except ValueError as error:
            check(str(path) in str(error), f"an error that does not name the file: {error}")
            raise
        check(len(table.frame) > 0, "a table without rows")
        check(set(table.kinds) == set(table.frame), "columns without a kind")
