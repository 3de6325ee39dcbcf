import datetime as dt

import numpy as np
import pandas as pd
import pytest

from batchensemble.data import table_files
from batchensemble.data.table_files import open_files

pytest.importorskip("pyarrow")

N = 30
NUMBERS = pd.Series(np.random.default_rng(0).normal(size=N))
WORDS = pd.Series(["a", "b", "c"] * 10)
LOCAL = pd.Series(pd.date_range("2024-03-30", periods=N, freq="7h"))
BERLIN, TOKYO = (LOCAL.dt.tz_localize(zone) for zone in ("Europe/Berlin", "Asia/Tokyo"))
SPANS = pd.Series(pd.to_timedelta(np.arange(N), "h"))
CLOCKS = pd.Series([dt.time(8, i) for i in range(N)])
NO_TIMES = BERLIN.where(LOCAL.isna())
GAPS = pd.Series([None] * N, dtype=object)
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.to_feather(path),
    "xlsx": lambda frame, path: in_a_sheet(frame, path),
}


def in_a_sheet(frame, path):
    """With times and durations as such, of which pandas makes texts and numbers."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [tuple(frame), *frame.astype(object).itertuples(index=False)]:
        cells = (c.to_pytimedelta() if isinstance(c, pd.Timedelta) else c for c in row)
        book.active.append([*cells])
    book.save(path)


def in_files(folder, *columns, endings=("parquet",) * 3):
    """Tables of one column and a target."""
    for i, (column, ending) in enumerate(zip(columns, endings, strict=False)):
        frame = pd.DataFrame({"x": column, "y": NUMBERS})
        WRITERS[ending](frame, folder / f"{i}.{ending}")
    return folder


def whole(where):
    return pd.concat(open_files(where, "y").batches())


@pytest.mark.parametrize(
    "endings",
    [("parquet", "parquet"), ("feather", "feather"), ("parquet", "csv"), ("csv", "feather")],
)
@pytest.mark.parametrize("columns", [(LOCAL, BERLIN), (BERLIN, LOCAL), (BERLIN, LOCAL.dt.date)])
def test_times_with_and_without_a_zone_are_not_mixed(tmp_path, endings, columns):
    in_files(tmp_path, *columns, endings=endings)
    has = "with" if columns[0] is BERLIN else "without"
    message = rf"1\.{endings[1]}, \w+ \d, column 'x': expected a time {has} a zone as in .*0\."
    with pytest.raises(ValueError, match=message + endings[0]):
        whole(tmp_path)


def test_a_zone_after_the_first_rows_of_a_text_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "HEAD_ROWS", 10)
    late = LOCAL.astype(str).where(LOCAL.index < 20, BERLIN.astype(str))
    in_files(tmp_path, late, endings=["csv"])
    with pytest.raises(ValueError, match=r"0\.csv, line 22, column 'x': .* without a zone as in"):
        whole(tmp_path)


@pytest.mark.parametrize("columns", [(BERLIN, TOKYO), (TOKYO, BERLIN)])
def test_times_of_two_zones_are_moments(tmp_path, columns):
    files = open_files(in_files(tmp_path, *columns), "y")
    assert files.columns["x"].zone == str(columns[0].dt.tz)
    expected = pd.concat([column.dt.tz_convert("UTC") for column in columns], ignore_index=True)
    read = pd.concat(files.batches())["x"]
    assert read.dtype == "datetime64[us, UTC]"
    assert (read == expected).all()


@pytest.mark.parametrize("columns", [(NO_TIMES, BERLIN), (BERLIN, GAPS, BERLIN)])
def test_a_part_without_times_says_nothing_about_zones(tmp_path, columns):
    assert whole(in_files(tmp_path, *columns))["x"].dtype == "datetime64[us, UTC]"


@pytest.mark.parametrize("others", [NUMBERS, WORDS])
@pytest.mark.parametrize("spans", [SPANS, CLOCKS])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_durations_are_not_mixed_into_other_columns(tmp_path, others, spans, ending):
    in_files(tmp_path, others, spans, endings=[ending] * 2)
    message = rf"1\.{ending}, row 1, column 'x': expected neither a duration .* as in .*0\.{ending}"
    with pytest.raises(ValueError, match=message):
        whole(tmp_path)


@pytest.mark.parametrize("others", [NUMBERS, (NUMBERS > 0).astype(int)])
@pytest.mark.parametrize("spans", [SPANS, CLOCKS])
@pytest.mark.parametrize("endings", [("parquet",) * 2, ("feather", "csv"), ("xlsx", "parquet")])
def test_other_numbers_are_not_mixed_into_durations(tmp_path, others, spans, endings):
    in_files(tmp_path, spans, others, endings=endings)
    message = rf"1\.{endings[1]}, .* 'x': expected a duration or a time of day, as in .*0\."
    with pytest.raises(ValueError, match=message + endings[0]):
        whole(tmp_path)


def test_the_first_part_with_values_says_whether_they_are_durations(tmp_path):
    with pytest.raises(
        ValueError, match=r"2\.parquet, row 1, .* or a time of day, as in .*1\.parq"
    ):
        whole(in_files(tmp_path, GAPS, SPANS, NUMBERS))
    read = whole(in_files(tmp_path, SPANS, GAPS, CLOCKS))["x"]
    expected = [*3600 * np.arange(N), *np.full(N, np.nan), *3600 * 8 + 60 * np.arange(N)]
    np.testing.assert_array_equal(read, expected)


def test_kinds_that_are_one_in_a_frame_are_one_in_files(tmp_path):
    flags = NUMBERS > 0
    for columns, kind in (((NUMBERS, flags), "number"), ((WORDS, flags), "category")):
        read = whole(in_files(tmp_path, *columns))["x"]
        assert read[N:].tolist() == [float(f) if kind == "number" else str(f) for f in flags]


@pytest.mark.parametrize("last", [[None] * 40, [*range(40)]])
def test_the_first_file_with_values_says_what_a_column_is(tmp_path, last):
    parts = [None] * 40, ["x", "y"] * 20, last
    for i, values in enumerate(parts):
        frame = pd.DataFrame({"a": np.arange(40.0), "c": pd.Series(values, dtype=object)})
        if values[0] == 0:
            frame["c"] = frame["c"].astype(int)
        frame.assign(y=1.5).to_parquet(tmp_path / f"{i}.parquet")
    files = open_files(tmp_path, "y", with_plain=True)
    assert files.kinds == {"a": "number", "c": "category", "y": "number"}
