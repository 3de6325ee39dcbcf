import numpy as np
import pandas as pd
import pytest
from sample_files import houses, sales

from batchensemble.cli.training_data import read_training_series, read_training_table


def table(tmp_path, frame, target, task=None, drop=()):
    frame.to_csv(tmp_path / "f.csv", index=False)
    return read_training_table(tmp_path / "f.csv", target, task=task, drop=drop)


def series(tmp_path, frame, **how):
    frame.to_csv(tmp_path / "f.csv", index=False)
    words = {"time": "month", "series": "store", "future": (), "past": ()} | how
    return read_training_series(tmp_path / "f.csv", "sales", **words)


def test_a_table_of_nothing_but_what_is_left_out_is_refused_with_the_reasons(tmp_path):
    frame = pd.DataFrame({"same": 1, "y": [1.5, 2.5, 3.5]})
    with pytest.raises(ValueError, match="got none; 'same' is the same in every row"):
        table(tmp_path, frame, "y")
    with pytest.raises(ValueError, match="the target 'y' is empty in every row; choose another"):
        table(tmp_path, pd.DataFrame({"x": [1, 2], "y": None}), "y")
    with pytest.raises(ValueError, match="got dates"):
        table(tmp_path, houses(), "sold")


def test_a_long_frame_has_its_series_times_and_named_columns(tmp_path):
    data = series(tmp_path, sales().assign(other=1), future=["holidays"])
    assert data.frame.columns.tolist() == ["month", "store", "holidays", "sales"]
    assert data.frame["month"].dtype.kind == "M"
    assert data.origin.why == "--time was given; 2 series"
    assert data.origin.left_out == {"other": "not named with --future, --past or --static"}


def test_numbered_times_and_series_are_whole_numbers(tmp_path):
    frame = sales().assign(month=[*range(60)] * 2, store=[7] * 60 + [8] * 60)
    data = series(tmp_path, frame)
    assert data.frame[["month", "store"]].dtypes.tolist() == [np.int64, np.int64]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"month": "03/04/2026"}, "as times, but .*'03/04/2026' may be .*; add --dayfirst or"),
        (
            {"month": ["2026-01-01"] * 119 + ["soon"]},
            "the first exception being 'soon' in line 121; correct these cells, or delete their",
        ),
        ({"sales": [1.5] * 119 + ["none yet"]}, "the first exception being 'none yet' in line 121"),
        ({"month": 1.5}, "expected times that are whole numbers in 'month', got 1.5"),
        (
            {"store": None},
            "a series in every row of 'store', got an empty cell, or one such as NA, in",
        ),
    ],
)
def test_times_and_series_that_cannot_be_used_are_refused(tmp_path, change, words):
    with pytest.raises(ValueError, match=words):
        series(tmp_path, sales().assign(**change))


def test_times_too_long_to_be_told_apart_are_refused_and_series_of_such_numbers_are_words(tmp_path):
    numbers = 2**53 - 120 + np.arange(120)
    for role in ("store", "month"):
        read = series(tmp_path, sales().assign(**{role: numbers})).frame[role]
        assert read.tolist() == numbers.tolist()
    with pytest.raises(ValueError, match=r"at most 15 digits in 'month'.*got 9.007e\+15; shorten"):
        series(tmp_path, sales().assign(month=numbers + 1))
    read = series(tmp_path, sales().assign(store=707_057_500_012_345_600 + numbers % 2)).frame
    assert set(read["store"]) == {"707057500012345600", "707057500012345601"}


def test_series_named_by_codes_that_look_like_numbers_keep_their_names(tmp_path):
    frame = sales()
    for codes in (["1E5", "100000"], ["+1", "1"], ["12e3", "7"]):
        names = frame["store"].map(dict(zip(frame["store"].unique(), codes, strict=True)))
        assert set(series(tmp_path, frame.assign(store=names)).frame["store"]) == set(codes)
    for numbers in (["5.0", "7"], ["1e+05", "7"], ["1E+05", "5.0"]):
        names = frame["store"].map(dict(zip(frame["store"].unique(), numbers, strict=True)))
        read = series(tmp_path, frame.assign(store=names)).frame["store"]
        assert set(read) == {*map(float, numbers)}


def test_classes_too_long_to_be_told_apart_are_refused(tmp_path):
    frame = houses()
    numbers = 2**53 - 2 + np.arange(len(frame)) % 2
    assert len(set(table(tmp_path, frame.assign(rooms=numbers), "rooms").y)) == 2
    with pytest.raises(ValueError, match=r"classes of at most 15 digits in 'rooms'.*9\.007e"):
        table(tmp_path, frame.assign(rooms=numbers + 1), "rooms")


def test_true_and_false_are_classes_and_no_numbers(tmp_path):
    yes = np.arange(120) % 3 == 0
    with pytest.raises(ValueError, match=r"'garden' of .*, got true and false; classify them"):
        table(tmp_path, houses().assign(garden=yes), "garden", task="regression")
    with pytest.raises(ValueError, match=r"'sales' of .*, got true and false"):
        series(tmp_path, sales().assign(sales=yes))


def test_times_with_zones_are_used_and_said_to_be_in_theirs(tmp_path):
    data = series(tmp_path, sales().assign(month=lambda f: f["month"].astype(str) + "T00:00+01:00"))
    assert data.frame["month"][0] == pd.Timestamp(sales()["month"][0], tz="Etc/GMT-1")
    assert data.origin.notes == (
        "the times of 'month' have zones: they are read, and written, in Etc/GMT-1",
    )


def test_one_column_cannot_have_two_parts(tmp_path):
    with pytest.raises(ValueError, match="expected different columns"):
        series(tmp_path, sales(), past=["sales"])


def test_columns_without_a_name_are_told(tmp_path):
    houses().to_csv(tmp_path / "f.csv")  # with the frame's row numbers
    data = read_training_table(tmp_path / "f.csv", "price", task=None, drop=())
    assert data.origin.notes == ("left out 1 column without a name",)
    assert "" not in data.origin.columns


def test_how_columns_were_read_is_told_in_one_line_and_kept(tmp_path):
    rows = [f"{1 + i % 28}/01/2024;{i % 4};{1 + i % 2}.{100 + i},50 €" for i in range(40)]
    lines = ["sold;rooms;price", *rows, ";;"]
    (tmp_path / "f.csv").write_bytes("\n".join(lines).encode("cp1252"))
    origin = read_training_table(tmp_path / "f.csv", "price", task=None, drop=()).origin
    odd, read = origin.notes
    assert odd.endswith("is not UTF-8: read as windows-1252; if letters look wrong, add --encoding")
    assert read == "read sold ('1/01/2024' as 2024-01-01), price ('1.100,50 €' as 1100.5)"
    assert {name: one.sign + one.date for name, one in origin.notations.items()} == {
        "sold": "%d/%m/%Y",
        "price": "€",
    }


def test_a_series_without_any_value_is_named(tmp_path):
    frame = sales()
    lost = frame["store"].iloc[0]
    frame.loc[frame["store"] == lost, "sales"] = None
    assert (
        f"not forecast, since no row has a value: series {lost}"
        in series(tmp_path, frame).origin.notes
    )


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
def test_numbers_stored_as_text_are_learned_from_as_those_of_a_csv(tmp_path, monkeypatch, suffix):
    frame = houses()[["rooms", "area", "town", "price"]]
    expected = table(tmp_path, frame, "price")
    path = tmp_path / f"f.{suffix}"
    texts = frame.astype(str)
    texts.to_parquet(path) if suffix == "parquet" else texts.to_excel(path, index=False)
    for most in (2**28, 0):  # read at once, and in passes
        monkeypatch.setattr("batchensemble.cli.training_data.LARGE_FILE", most)
        data = read_training_table(path, "price", task=None, drop=())
        assert data.origin.columns == expected.origin.columns
        np.testing.assert_array_equal(data.y, expected.y)
        np.testing.assert_array_equal(data.frame["area"], expected.frame["area"])
        first = str(frame["area"][0])
        assert f"area ({first!r} as {first})" in data.origin.notes[0]


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet", "feather"])
def test_texts_of_times_with_zones_may_have_gaps(tmp_path, form):
    hours = pd.Series(pd.date_range("2024-01-01", periods=60, freq="D", tz="Europe/Berlin"))
    frame = pd.DataFrame({"seen": hours.map(pd.Timestamp.isoformat), "price": np.arange(60.0)})
    frame.loc[[5, 7], "seen"] = None
    path = tmp_path / f"f.{form}"
    {"csv": frame.to_csv, "xlsx": frame.to_excel}.get(form, getattr(frame, f"to_{form}", None))(
        path, **({"index": False} if form in ("csv", "xlsx") else {})
    )
    data = read_training_table(path, "price", task=None, drop=())
    assert data.origin.columns == {"seen": "date"}
    expected = hours.where(~hours.index.isin([5, 7])).dt.tz_convert("UTC")
    assert (
        data.frame["seen"]
        .reset_index(drop=True)
        .dt.tz_convert("UTC")
        .equals(expected.astype(data.frame["seen"].dtype))
    )


def test_dates_that_name_series_are_words_in_every_format(tmp_path):
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    frame = sales().assign(store=np.repeat(days, len(sales()) // 2))
    expected = series(tmp_path, frame).frame
    assert set(expected["store"]) == {"2020-01-01", "2020-01-02"}
    frame["month"] = pd.to_datetime(frame["month"])
    roles = {"time": "month", "series": "store", "future": (), "past": ()}
    for form in ("parquet", "xlsx"):
        path = tmp_path / f"typed.{form}"
        frame.to_parquet(path) if form == "parquet" else frame.to_excel(path, index=False)
        read = read_training_series(path, "sales", **roles).frame
        assert read["store"].tolist() == expected["store"].tolist()


@pytest.mark.parametrize(("most", "end"), [(20, " in a sample of 23 rows"), (100, "")])
def test_the_numbers_of_a_sample_are_not_said_to_be_those_of_the_file(
    tmp_path, monkeypatch, most, end
):
    monkeypatch.setattr("batchensemble.data.table_files.SAMPLE_ROWS", most)
    rows = pd.DataFrame({"x": np.arange(60) % 7 / 8, "y": np.arange(60) / 8})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    origin = read_training_table(tmp_path, "y", task=None, drop=()).origin
    n = 60 if most > 60 else 23
    assert origin.why == f"y has {n} distinct numbers{end}"
    told = read_training_table(tmp_path, "y", task="regression", drop=()).origin.why
    assert told == "set with --task"


def test_a_column_named_twice_is_refused_as_such(tmp_path):
    with pytest.raises(ValueError, match="expected different columns for --target, --time, --ser"):
        series(tmp_path, sales(), series="sales")
