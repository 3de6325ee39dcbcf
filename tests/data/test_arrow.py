"""Parquet and Feather files of every type, whole and damaged."""

import datetime as dt
import subprocess
import sys
from contextlib import ExitStack
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset as pa_dataset
from pyarrow import parquet

from batchensemble.data.arrow import ArrowDataset, ArrowFile
from batchensemble.data.file_options import AS_FOUND
from batchensemble.data.tables import read_file

MOST = 2**63 - 1


def written(folder, column, suffix):
    """A file with this column beside a number."""
    path = folder / f"f{suffix}"
    table = pa.table({"c": column, "x": pa.array(np.arange(float(len(column))))})
    if suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as out:
            out.write_table(table)
    return path


def runs(values):
    return pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), values)


def coded(values):
    return pa.DictionaryArray.from_arrays(pa.array([0, 0, 1], pa.int8()), values)


def ticks(values, kind):
    return pa.array(np.array(values, np.int64)).view(kind)


WORDS = ["a", "a", "b"]
DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
NUMBERS = [Decimal(1), Decimal(1), Decimal(2)]
READ = {
    "string_view": (pa.array(WORDS, pa.string_view()), WORDS),
    "binary_view": (pa.array([b"a", b"a", b"b"], pa.binary_view()), WORDS),
    "large_string": (pa.array(WORDS, pa.large_string()), WORDS),
    "runs of words": (runs(pa.array(["a", "b"])), WORDS),
    "runs of numbers": (runs(pa.array([1.0, 2.0])), [1, 1, 2]),
    "dictionary of words": (coded(pa.array(["a", "b"])), WORDS),
    "dictionary of days": (coded(pa.array(DAYS[1:])), [*map(pd.Timestamp, DAYS)]),
    "dictionary of numbers": (coded(pa.array([1.5, 2.5])), [1.5, 1.5, 2.5]),
    "date32": (pa.array(DAYS, pa.date32()), [*map(pd.Timestamp, DAYS)]),
    "date64": (pa.array(DAYS, pa.date64()), [*map(pd.Timestamp, DAYS)]),
    "decimal256": (pa.array(NUMBERS, pa.decimal256(50)), [1, 1, 2]),
    "half floats": (pa.array(np.array([1, 1, 2], np.float16)), [1, 1, 2]),
    "months": (
        pa.array(pd.PeriodIndex(["2024-01", "2024-01", "2024-02"], freq="M")),
        [pd.Timestamp(2024, 1, 1), pd.Timestamp(2024, 1, 1), pd.Timestamp(2024, 2, 1)],
    ),
    "weeks": (
        pa.array(pd.PeriodIndex(["2024-01-03", "2024-01-07", "2024-01-08"], freq="W")),
        [pd.Timestamp(2024, 1, 1), pd.Timestamp(2024, 1, 1), pd.Timestamp(2024, 1, 8)],
    ),
    "views of words by number": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 0, 1], pa.uint32()), pa.array(["a", "b"]).cast(pa.string_view())
        ),
        ["a", "a", "b"],
    ),
    "extension": (
        pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(WORDS)),
        WORDS,
    ),
}
REFUSED = {
    "date32": (pa.array(np.array([0, 2**31 - 1], np.int32)).view(pa.date32()), "years from 1 to"),
    "date64": (ticks([0, -(2**62)], pa.date64()), "years from 1 to|cannot be read"),
    "nanoseconds": (ticks([0, 2 - 2**63], pa.timestamp("ns", "Asia/Tokyo")), "years from 1678 to"),
    "seconds": (ticks([0, MOST], pa.timestamp("s")), "between the years 1 and 9999"),
    "zone": (ticks([0, 1], pa.timestamp("us", "No/Where")), "a known time zone, got 'No/Where'"),
    "months": (
        pa.array(pd.PeriodIndex.from_ordinals([1, 10**9], freq="M")),
        "expected periods of a known length in the years 1 to 9999",
    ),
    "time of day": (ticks([0, MOST], pa.time64("us")), "cannot be read: .* range"),
    "interval": (
        pa.array([pa.MonthDayNano([1, 2, 3])] * 2, pa.month_day_nano_interval()),
        "got month_day_nano_interval; correct the column",
    ),
    "list_view": (pa.array([[1], [2]], pa.list_view(pa.int64())), "got list_view<"),
    "union": (
        pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
        "got sparse_union<",
    ),
}
ONLY_FEATHER = ("runs", "views of words", "interval", "union", "seconds")


def cases(table):
    return [
        pytest.param(*table[name], suffix, id=name + suffix)
        for name in table
        for suffix in (".parquet", ".feather")
        if suffix == ".feather" or not name.startswith(ONLY_FEATHER)
    ]


@pytest.mark.parametrize(("column", "expected", "suffix"), cases(READ))
def test_every_type_of_single_values_is_read(tmp_path, column, expected, suffix):
    frame = read_file(written(tmp_path, column, suffix)).frame
    assert frame["c"].tolist() == expected


@pytest.mark.parametrize(("column", "words", "suffix"), cases(REFUSED))
def test_types_and_values_that_no_column_can_hold_are_refused_in_one_line(
    tmp_path, column, words, suffix
):
    with pytest.raises(ValueError, match=words) as caught:
        read_file(written(tmp_path, column, suffix))
    assert f"f{suffix}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_named_index_of_pandas_is_a_column(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([5, 6], name="shop"))
    for path in (tmp_path / "f.parquet", tmp_path / "f.feather"):
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            table = pa.Table.from_pandas(frame)
            with pa.ipc.new_file(str(path), table.schema) as out:
                out.write_table(table)
        assert read_file(path).frame["shop"].tolist() == [5, 6]


DAMAGE = """
import sys
from pathlib import Path
import numpy as np
from batchensemble.data.tables import read_file

base, n = Path(sys.argv[1]), int(sys.argv[2])
data, path = base.read_bytes(), base.with_stem("damaged")
random, n_read = np.random.default_rng(0), 0
for _ in range(n):
    changed = bytearray(data)
    for at in random.integers(len(data), size=random.integers(1, 3)):
        changed[at] = random.integers(256)
    path.write_bytes(changed)
    try:
        read_file(path)
        n_read += 1
    except ValueError as error:
        assert str(path) in str(error), error
        assert "\\n" not in str(error), error
print(n_read)
"""


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("said", [b"nonsense", b"{}", b'{"freq": "FOO"}', b'{"freq": 3}', b"[]"])
def test_periods_of_no_known_length_are_refused_with_the_name_of_the_file(tmp_path, said, suffix):
    marks = {b"ARROW:extension:name": b"pandas.period", b"ARROW:extension:metadata": said}
    schema = pa.schema([pa.field("c", pa.int64(), metadata=marks), ("x", pa.float64())])
    table = pa.table({"c": pa.array([1, 2]), "x": pa.array([0.0, 1.0])}, schema=schema)
    path = tmp_path / f"f{suffix}"
    if suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as out:
            out.write_table(table)
    with pytest.raises(ValueError, match=f"f{suffix}"):
        read_file(path)


@pytest.mark.parametrize("name", ["f.feather", "f.parquet"])
def test_a_damaged_file_is_read_or_refused_and_never_ends_the_process(tmp_path, name):
    random, path = np.random.default_rng(0), tmp_path / name
    frame = pd.DataFrame(
        {
            "x": random.normal(size=200),
            "word": random.choice(["a", "bb", None], 200),
            "town": pd.Categorical(random.choice(["Ulm", "Bonn"], 200)),
            "day": pd.date_range("2024", periods=200),
        }
    )
    if name == "f.parquet":
        frame.to_parquet(path, compression=None)
    else:
        frame.to_feather(path, compression="uncompressed")
    done = subprocess.run([sys.executable, "-c", DAMAGE, path, "150"], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert 0 < int(done.stdout) < 150


@pytest.mark.parametrize("kind", ["file", "dataset"])
def test_what_was_read_of_a_parquet_file_does_not_stay_in_memory(tmp_path, kind):
    path, n = tmp_path / "large.parquet", 2**18
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=n)})
    frame.to_parquet(path, row_group_size=2**13)
    assert path.stat().st_size > 2**20
    before, held = pa.total_allocated_bytes(), []
    with ExitStack() as stack:
        if kind == "file":
            file = ArrowFile(path, stack, AS_FOUND, is_parquet=True)
        else:
            file = ArrowDataset(pa_dataset.dataset(path))
        for batch in file.batches(2**13):
            assert len(batch)
            held.append(pa.total_allocated_bytes() - before)
    assert len(held) == 32
    assert held[-1] < held[3] + 2**19
