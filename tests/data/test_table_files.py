import numpy as np
import pandas as pd
import pytest

from batchensemble.data import table_files
from batchensemble.data.table_files import is_in_files, open_files, sampled

pa_dataset = pytest.importorskip("pyarrow.dataset")


@pytest.fixture
def small(monkeypatch):
    """Batches and samples so small that a few hundred rows are many."""
    monkeypatch.setattr(table_files, "BATCH", 64)
    monkeypatch.setattr(table_files, "SAMPLE_ROWS", 100)


def table(n=500, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": random.normal(size=n),
            "city": random.choice(["Bern", "Genf", None], n),
            "is_new": random.random(n) < 0.5,
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), "D"),
            "price": random.normal(size=n),
        }
    )


def in_three_files(folder, frame):
    for i, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(folder / f"{i}.parquet", index=False)
    return folder


def whole(files):
    return pd.concat(files.batches())


@pytest.mark.parametrize("where", ["folder", "pattern", "list", "dataset"])
def test_a_folder_a_pattern_a_list_and_a_dataset_hold_the_rows_of_all_files_in_order(
    tmp_path, small, where
):
    frame = table()
    folder = in_three_files(tmp_path, frame)
    (folder / "notes.txt.bak").write_text("no table")
    source = {
        "folder": folder,
        "pattern": f"{folder}/*.parquet",
        "list": [folder / "0.parquet", *(f"{folder}/{i}.parquet" for i in (1, 2))],
        "dataset": pa_dataset.dataset(sorted(map(str, folder.glob("*.parquet")))),
    }[where]
    read = whole(open_files(source, "price"))
    assert read.index.tolist() == list(range(500))
    assert list(read) == ["size", "city", "is_new", "day", "price"]
    np.testing.assert_array_equal(read["size"], frame["size"])
    assert read["city"].isna().tolist() == frame["city"].isna().tolist()
    assert (read["day"].to_numpy() == frame["day"].to_numpy()).all()


@pytest.mark.parametrize("name", ["", "1", "3"])
def test_parts_without_rows_are_passed_over(tmp_path, small, name):
    frame = table()
    expected = whole(open_files(in_three_files(tmp_path, frame), "price"))
    frame[:0].to_parquet(tmp_path / f"{name} empty.parquet", index=False)
    pd.testing.assert_frame_equal(whole(open_files(tmp_path, "price")), expected)
    for path in tmp_path.glob("?.parquet"):
        path.unlink()
    with pytest.raises(ValueError, match="to have rows and columns, got no rows"):
        open_files(tmp_path, "price")


def test_a_csv_is_read_as_by_the_command_line(tmp_path, small):
    (tmp_path / "a.csv").write_text("size;price\n" + "1.234,5;7,5\n" * 200)
    read = whole(open_files(tmp_path / "a.csv", "price"))
    assert read["size"].unique().tolist() == [1234.5]
    assert read["price"].unique().tolist() == [7.5]


def test_a_table_with_no_more_rows_than_the_sample_is_the_sample(tmp_path, small):
    table(100).to_parquet(tmp_path / "a.parquet")
    sample = open_files(tmp_path / "a.parquet", "price").sample
    assert sample.is_whole
    np.testing.assert_array_equal(sample.frame["size"], table(100)["size"])


def test_the_sample_has_every_extreme_the_first_gap_and_each_class(tmp_path, small):
    frame = table()
    frame["label"] = np.where(np.arange(500) == 333, "rare", "usual")
    frame.loc[123, "size"], frame.loc[200, "size"], frame.loc[300, "size"] = 1e9, -1e8, np.nan
    frame.drop(columns="price").to_parquet(tmp_path / "a.parquet")
    files = open_files(tmp_path / "a.parquet", "label")
    sample = files.sample
    assert not sample.is_whole
    assert 80 < len(sample.random_rows) <= 100
    assert {123, 200, 300, 333} <= {*sample.frame.index}
    _, taken = files.without(len(sample.random_rows), seed=0)
    assert not {123, 200, 300, 333} & {*taken.index}  # so that all others have them still


def test_rows_held_back_are_random_and_are_not_read_again(tmp_path, small):
    table().to_parquet(tmp_path / "a.parquet")
    files = open_files(tmp_path / "a.parquet", "price")
    rest, taken = files.without(20, seed=0)
    assert len(taken) == 20
    assert rest.sample.n_rows == 480
    read = {*whole(rest).index}
    assert read == {*range(500)} - {*taken.index}
    assert not {*rest.sample.frame.index} & {*taken.index}


def test_rows_without_a_target_are_passed_over_and_counted_or_refused(tmp_path, small):
    frame = table()
    frame.loc[[5, 150], "price"] = np.nan
    frame.to_parquet(tmp_path / "a.parquet")
    sample = open_files(tmp_path / "a.parquet", "price", skip_gaps=True).sample
    assert (sample.n_rows, sample.n_without_target) == (498, 2)
    with pytest.raises(ValueError, match=r"a\.parquet, row 6: expected a target in every row"):
        whole(open_files(tmp_path / "a.parquet", "price"))


@pytest.mark.parametrize("place", [0, 2, 4])
def test_the_target_is_the_last_column_wherever_it_stands_in_the_files(tmp_path, small, place):
    frame = table()
    frame.insert(place, "price", frame.pop("price"))
    chosen = open_files(in_three_files(tmp_path, frame), "price").select({"size", "day"})
    rest, taken = chosen.without(10, seed=0)
    for part in (chosen.sample.frame, rest.sample.frame, taken, whole(chosen), whole(rest)):
        assert list(part) == ["size", "day", "price"]


def test_times_with_zones_keep_them(tmp_path, small):
    frame = table()
    frame["self"] = frame.pop("day").dt.tz_localize("Europe/Zurich")
    frame.to_parquet(tmp_path / "a.parquet")
    read = whole(open_files(tmp_path / "a.parquet", "price"))
    assert (read["self"] == frame["self"].dt.tz_convert("UTC")).all()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: folder / "missing.parquet", "there is no file"),
        (lambda folder: f"{folder}/*.csv", r"check the pattern$"),
        (lambda folder: f"{folder}/[x]/*.csv", r"pattern, and write .* for a bracket in a name"),
        (lambda folder: (folder / "empty").mkdir() or folder / "empty", "expected tables in the"),
    ],
)
def test_what_is_not_there_is_named(tmp_path, break_it, message):
    in_three_files(tmp_path, table())
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        open_files(break_it(tmp_path), "price")


def test_a_file_with_other_columns_is_named(tmp_path, small):
    in_three_files(tmp_path, table())
    table().drop(columns="city").to_parquet(tmp_path / "9.parquet")
    with pytest.raises(ValueError, match=r"9\.parquet: expected the columns .* 'city'"):
        whole(open_files(tmp_path, "price"))


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.to_feather(path),
}


def in_files(folder, ending, *frames):
    for i, frame in enumerate(frames):
        WRITERS[ending](frame.reset_index(drop=True), folder / f"{i}.{ending}")
    return folder


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("lacking", [0, 1, 2])
@pytest.mark.parametrize("where", ["folder", "pattern", "list"])
def test_a_column_that_any_file_lacks_is_named_with_both_files(tmp_path, ending, lacking, where):
    frames = [table(40, seed) for seed in range(3)]
    frames[lacking] = frames[lacking].drop(columns="size")
    in_files(tmp_path, ending, *frames)
    source = {
        "folder": tmp_path,
        "pattern": f"{tmp_path}/*",
        "list": sorted(tmp_path.iterdir()),
    }[where]
    other = 0 if lacking else 1
    message = rf"{lacking}\.{ending}: expected the columns of .*{other}\.{ending}, got none called "
    with pytest.raises(ValueError, match=message + "'size'; .*--drop"):
        whole(open_files(source, "price"))
    dropped = whole(open_files(source, "price", drop=["size"]))
    assert list(dropped) == ["city", "is_new", "day", "price"]
    assert len(dropped) == 120


def test_a_column_that_is_not_selected_is_not_new_in_a_later_pass(tmp_path, small):
    files = open_files(in_three_files(tmp_path, table()), "price").select({"size"})
    assert list(whole(files)) == ["size", "price"]


def test_a_dropped_column_that_no_file_has_is_answered_with_the_closest(tmp_path):
    in_files(tmp_path, "csv", table(40).drop(columns="city"), table(40))
    with pytest.raises(ValueError, match="did you mean 'city'"):
        open_files(tmp_path, "price", drop=["citi"])


def test_a_target_that_is_no_column_is_answered_with_the_closest(tmp_path):
    in_three_files(tmp_path, table())
    with pytest.raises(ValueError, match="did you mean 'price'"):
        open_files(tmp_path, "prise")
    with pytest.raises(TypeError, match="expected the name of the target's column as y"):
        open_files(tmp_path, np.zeros(500))


def test_arrays_and_frames_are_not_in_files(tmp_path):
    assert not is_in_files(table())
    assert not is_in_files(np.zeros((3, 2)))
    assert not is_in_files(pa_dataset.dataset(in_three_files(tmp_path, table())).scanner())
    assert not is_in_files(["a", "b"])
    assert not is_in_files([])
    assert is_in_files("a.parquet")
    assert is_in_files(["a.parquet", tmp_path / "b.csv"])
    assert is_in_files(pa_dataset.dataset(in_three_files(tmp_path, table())))


def csv_files(folder, *columns):
    """Tables of one column and a target."""
    for i, cells in enumerate(columns):
        rows = [f"{cell},{j}" for j, cell in enumerate(cells)]
        (folder / f"{i}.csv").write_text("\n".join(["d,y", *rows]))
    return folder


def test_the_first_rows_are_those_of_several_files(tmp_path):
    codes = open_files(csv_files(tmp_path, ["90210", "94105"], ["02139", "02140"]), "y")
    assert codes.kinds["d"] == "category"
    assert whole(codes)["d"].tolist() == ["90210", "94105", "02139", "02140"]
    dates = open_files(csv_files(tmp_path, ["01/02/2024"] * 2, ["13/02/2024"] * 2), "y")
    assert dates.kinds["d"] == "date"
    assert whole(dates)["d"].dt.month.tolist() == [2, 2, 2, 2]


def test_a_doubt_about_a_cell_names_its_file_if_there_are_several(tmp_path):
    good = [str(i) for i in range(20)]
    some = open_files(csv_files(tmp_path, good, [*good, "7 ?"], good), "y")
    assert "first exception being '7 ?' in line 22 of " in some.columns["d"].note
    assert "1.csv; correct or empty" in some.columns["d"].note
    alone = open_files(tmp_path / "1.csv", "y")
    assert "first exception being '7 ?' in line 22; correct" in alone.columns["d"].note


def test_a_code_among_numbers_is_named_if_it_comes_too_late(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "HEAD_ROWS", 2)
    files = open_files(csv_files(tmp_path, ["90210", "94105"], ["1", "02139"]), "y")
    with pytest.raises(ValueError, match=r"1.csv, line 3, column 'd': .* got the code '02139'"):
        whole(files)


def test_words_that_look_like_dates_are_known_as_words(tmp_path):
    files = open_files(csv_files(tmp_path, ["13/02/2024", "25/06/2024"] * 9), "y", words=["d"])
    assert files.sample.frame["d"].dtype == "category"


@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "xlsx"])
@pytest.mark.parametrize("is_text", [True, False])
def test_codes_may_all_be_digits_in_the_first_file(tmp_path, form, is_text):
    digits, letters = ["130", "12"] * 20, ["A1", "12"] * 20
    for i, codes in enumerate(([*digits] if is_text else [*map(int, digits)], letters)):
        frame = pd.DataFrame({"shop": codes, "size": np.arange(40) / 8, "y": np.arange(40)})
        write = getattr(frame, {"xlsx": "to_excel"}.get(form, f"to_{form}"))
        write(tmp_path / f"{i}.{form}", **({"index": False} if form in ("csv", "xlsx") else {}))
    files = open_files(tmp_path, "y", with_plain=True)
    assert files.kinds == {"shop": "category", "size": "number", "y": "number"}
    assert set(whole(files)["shop"]) == {"130", "12", "A1"}


def test_words_among_decimals_of_another_file_are_an_error(tmp_path):
    for i, sizes in enumerate(([1.5, 2.0], ["big", "small"])):
        pd.DataFrame({"size": sizes, "y": [1.0, 2.0]}).to_parquet(tmp_path / f"{i}.parquet")
    with pytest.raises(ValueError, match=r"1.parquet, row 1, column 'size': expected a finite"):
        whole(open_files(tmp_path, "y"))


@pytest.mark.parametrize("form", ["parquet", "xlsx", "csv"])
def test_what_was_guessed_about_files_and_which_were_durations_is_kept(tmp_path, form):
    if form == "parquet":
        rows = pd.DataFrame({"wait": pd.to_timedelta([1, 2], "min"), "n": [3, 4], "y": [1.0, 2.0]})
        rows.to_parquet(tmp_path / "a.parquet")
        durations, notes = [True, False, False], []
    elif form == "xlsx":
        with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
            for sheet in ("jan", "feb"):
                rows = pd.DataFrame({"wait": [1, 2], "n": [3, 4], "y": [1.0, 2.0]})
                rows.to_excel(book, sheet_name=sheet, index=False)
        durations, notes = [False] * 3, ["read the sheet 'jan'; for another (feb), add --sheet"]
    else:
        for name in ("a", "b"):
            (tmp_path / f"{name}.csv").write_bytes("wait,n,y\nZürich,2,3\n".encode("cp1252"))
        durations, notes = [False] * 3, ["read as windows-1252"] * 2
    files = open_files(tmp_path, "y")
    assert files.spans(["wait", "n", "y"]) == durations
    assert files.sample.n_rows == 2
    table = sampled(files)
    assert len(table.file_notes) == len(notes)
    assert all(told in note for told, note in zip(notes, table.file_notes, strict=True))
    assert (table.durations == {"wait"}) == durations[0]


def test_of_many_notes_the_first_are_told(tmp_path):
    for i in range(9):
        (tmp_path / f"{i}.csv").write_bytes("name,n,y\nZürich,2,3\n".encode("cp1252"))
    told = sampled(open_files(tmp_path, "y")).file_notes
    assert len(told) == 4
    assert told[-1] == "and 6 more such notes"


@pytest.mark.parametrize("name", ["n", "y"])
def test_a_mistake_in_a_later_file_does_not_make_words_of_numbers(tmp_path, name):
    rows = pd.DataFrame({"n": np.arange(40) % 9, "x": np.arange(40) / 8, "y": np.arange(40)})
    rows.to_excel(tmp_path / "a.xlsx", index=False)
    later = rows.astype({name: object})
    later.loc[3, name] = "oops"
    later.to_excel(tmp_path / "b.xlsx", index=False)
    with pytest.raises(ValueError, match=rf"b.xlsx, row 5, column '{name}': .* got 'oops'"):
        whole(open_files(tmp_path, "y", with_plain=True))
    letters = rows.astype(str)
    letters["y"] = "A" + letters["y"]
    letters.to_excel(tmp_path / "b.xlsx", index=False)
    assert open_files(tmp_path, "y", with_plain=True).kinds["y"] == "number"


@pytest.mark.parametrize("form", ["parquet", "feather", "csv"])
def test_a_column_that_is_empty_in_the_first_file_is_of_the_kind_of_later_ones(tmp_path, form):
    frame = table(90).reset_index(drop=True)
    first = frame[:45].assign(day=None, is_new=None, city=None)
    for name, part in (("a", first), ("b", first), ("c", frame[45:])):
        how = {"index": False} if form == "csv" else {}
        getattr(part.reset_index(drop=True), f"to_{form}")(tmp_path / f"{name}.{form}", **how)
    files = open_files(tmp_path, "price", with_plain=True)
    kinds = {"size": "number", "city": "category", "is_new": "boolean", "day": "date"}
    assert files.kinds == {**kinds, "price": "number"}
    assert whole(files)["day"].notna().sum() == 45
