import datetime as dt

import pandas as pd
import pytest

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import COMMA, PLAIN, POINT, Notation
from batchensemble.data.reading import open_table
from batchensemble.data.recognition import Recognised, read_recognised, recognise
from batchensemble.data.tables import read_file


@pytest.fixture
def csv(tmp_path):
    def make(cells, *, separator=",", beside="0"):
        """Cells of a column c, beside others in a column z."""
        path = tmp_path / "f.csv"
        cells = [f'"{cell}"' if separator in cell else cell for cell in cells]
        lines = [f"c{separator}z", *(f"{cell}{separator}{beside}" for cell in cells)]
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def kind_of(path, column="c", options=AS_FOUND):
    with open_table(path, options) as file:
        return recognise(next(file.batches()), file)[column]


def read(path, options=AS_FOUND):
    with open_table(path, options) as file:
        whole = next(file.batches())
        columns = recognise(whole, file)
        kinds = {name: column.kind for name, column in columns.items()}
        return read_recognised(whole, columns, kinds, file)["c"].tolist()


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2.5", "1e3", "", " 7 "], "number"),
        (["007", "123"], "category"),
        (["0", "0.5", "-0.5"], "number"),
        (["true", "False", "", "TRUE"], "boolean"),
        (["0", "1"], "number"),
        (["2026-01-31", "", "1999-12-01"], "date"),
        (["2026-01-31T10:00", "2026-01-31 10:00:05.25", ""], "date"),
        (["2026-01-31T10:00+01:00", "2026-01-31 10:00:05.25+0530", "2026-01-31T10:00Z"], "date"),
        (["2026-01-31T10:00", "2026-01-31T10:00Z"], "category"),
        (["2026-01", "2026-02"], "date"),
        (["2026/01/31"], "date"),
        (["2026-02-30"], "category"),
        (["9999-12-31T23:00-05:00"], "category"),
        (["9999-12-31T23:00+05:00", "0001-01-01T00:00Z"], "date"),
        (["01/02/2026"], "category"),
        (["31.01.2026"], "date"),
        (["20260131"], "number"),
        (["1_000", "2"], "category"),
        (["1 000"], "number"),
        (["KLM 123", "KLM 456"], "category"),
        (["1.2.10", "1.10.12"], "category"),
        (["yes", "no"], "category"),
        (["NA", "", "null"], "number"),
    ],
)
def test_a_column_is_what_all_its_cells_are(csv, cells, kind):
    assert kind_of(csv(cells)).kind == kind


def test_times_with_and_without_zones_are_told_with_the_first_line(csv):
    note = kind_of(csv(["2026-01-31T10:00Z", "", "2026-01-31T10:00"])).note
    assert "others do not, the first of these in line 4; write all alike" in note


@pytest.mark.parametrize("cells", [["1.2.3"], ["10.0.0.1"], ["A4", "7"], ["12:30"], ["1-2"]])
def test_other_words_with_digits_are_words_without_doubt(csv, cells):
    assert kind_of(csv(cells)) == Recognised("category")


def test_a_few_cells_that_are_no_numbers_are_told_with_the_first_line(csv):
    recognised = kind_of(csv(["1.5"] * 30 + ["unknown", "?"]))
    assert recognised.kind == "category"
    assert (
        "all but 2 cells are numbers, the first exception being 'unknown' in line 32"
        in recognised.note
    )
    assert kind_of(csv(["1.5", "a", "b"])).note == ""


@pytest.mark.parametrize("mark", ["?", "-", ".", "--", r"\N", "<0.3", "offline", "k.A."])
def test_a_mark_for_gaps_among_many_numbers_is_told_however_often_it_is_there(csv, mark):
    numbers = [f"{i}.5" for i in range(30)]
    recognised = kind_of(csv([*numbers, *[mark] * 20]))
    assert recognised.kind == "category"
    assert (
        f"all but 20 cells are numbers, the first exception being {mark!r} in line 32"
        in recognised.note
    )
    many = [f"room {i}" for i in range(20)]
    for cells in ([*numbers, *[mark] * 40], [*numbers, *many], ["1", "2", mark] * 20):
        assert kind_of(csv(cells)) == Recognised("category")


def test_a_few_cells_that_are_no_dates_are_told_with_the_first_line(csv):
    recognised = kind_of(csv(["2026-01-31"] * 30 + ["soon", "2026-02-30"]))
    assert recognised.kind == "category"
    assert (
        "all but 2 cells are dates, the first exception being 'soon' in line 32" in recognised.note
    )
    assert kind_of(csv(["2026-01-31", "soon"])).note == ""


@pytest.mark.parametrize("cell", ["1.2.3456789", "a 1.2.2026", "1.2-2026", "192.168.0.1"])
def test_words_that_are_no_dates_are_words_without_a_note(csv, cell):
    assert kind_of(csv([cell, cell])).note == ""


def test_typed_files_say_their_kinds_themselves_but_for_dates_kept_as_text(tmp_path):
    frame = pd.DataFrame(
        {
            "zip": ["12345", "54321"],
            "day": ["2026-01-31", "2026-02-01"],
            "n": [1, 2],
            "ok": [True, None],
            "at": pd.to_datetime(["2026-01-31", None]),
            "date": [dt.date(2026, 1, 31), None],
            "group": pd.Categorical(["a", None]),
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    with open_table(tmp_path / "f.parquet") as file:
        recognised = recognise(next(file.batches()), file)
    kinds = ["category", "date", "number", "boolean", "date", "date", "category"]
    assert [one.kind for one in recognised.values()] == kinds


@pytest.mark.parametrize(
    ("cells", "separator", "numbers"),
    [
        (["1,234.50", "950.00"], ",", [1234.5, 950]),
        (["$1,234.50", "-$3.5", "($4.00)"], ",", [1234.5, -3.5, -4]),
        (["1,234", "2,345"], ",", [1234, 2345]),
        (["1.234,50 €", "950,00 €", ""], ";", [1234.5, 950, None]),
        (["1.234.567", "12"], ";", [1234567, 12]),
        (["950", "1.000", "1.025"], ";", [950, 1000, 1025]),
        (["1,5", "2", "-0,25"], ";", [1.5, 2, -0.25]),
        (["1\u202f234,50", "950,00"], ";", [1234.5, 950]),
        (["1\u00a0026", "1 000", "3"], ";", [1026, 1000, 3]),
        (["CHF 1’234.50", "CHF 3.00"], ";", [1234.5, 3]),
        (["1'000'000", "7"], "\t", [1e6, 7]),
        (["12 %", "7.5%"], ",", [12, 7.5]),
        (["1,5e3", "0,5"], ";", [1500, 0.5]),
        (["−3.5", "4"], ",", [-3.5, 4]),
        (["0.125", "1.250", "2"], ";", [0.125, 1.25, 2]),
        (["950", "1.000", "1.5"], ";", [950, 1, 1.5]),
        (["1.512", "1.498"], ";", [1.512, 1.498]),
        (["950", "1.000", "1.025"], ",", [950, 1, 1.025]),  # as programs write it
        (["950", "1.000", "1.025"], "\t", [950, 1000, 1025]),
        (["12345", "1.000", "1.025"], ";", [12345, 1, 1.025]),
        (["1.512", "1.498"], "\t", [1.512, 1.498]),
    ],
)
def test_numbers_are_read_as_people_of_three_countries_write_them(csv, cells, separator, numbers):
    path = csv(cells, separator=separator)
    assert kind_of(path).kind == "number"
    assert [None if x != x else x for x in read(path)] == numbers


@pytest.mark.parametrize(
    ("cells", "separator", "doubt"),
    [
        (["950", "1.025"], ";", "'1.025' may be 1025 or 1.025; add --decimal . or --decimal ,"),
        (["950", "1.025"], "\t", "'1.025' may be 1025 or 1.025; add --decimal . or --decimal ,"),
        (["1,234", "2,345"], "\t", "'1,234' may be 1234 or 1.234; add --decimal"),
        (["$12", "€3"], ",", "'$12' and '€3' differ in their signs"),
        (["12 %", "0.3"], ",", "'12 %' and '0.3' differ in their signs"),
        (["1,5", "2.5"], ";", "'2.5' has a decimal point and '1,5' a decimal comma"),
        (["1,234"] * 20 + ["-"], "\t", "all but 1 cell are numbers, the first exception being '-'"),
    ],
)
def test_numbers_that_do_not_agree_are_words_and_asked_about(csv, cells, separator, doubt):
    recognised = kind_of(csv(cells, separator=separator))
    assert recognised.kind == "category"
    assert doubt in recognised.note


def test_neighbours_decide_what_a_column_leaves_open(csv):
    cells = ["950", "1.025"]
    assert read(csv(cells, separator=";", beside="0,5")) == [950, 1025]
    assert read(csv(cells, separator=";", beside="0.5")) == [950, 1.025]
    dates = ["01/02/2026", "03/04/2026"]
    assert [str(day.date()) for day in read(csv(dates, beside="31/12/2025"))] == [
        "2026-02-01",
        "2026-04-03",
    ]
    assert kind_of(csv(dates, beside="12/31/2025")).notation.date == "%m/%d/%Y"


@pytest.mark.parametrize("cell", ["950 €", "5 103", "(495)", "40 %"])
@pytest.mark.parametrize(("beside", "mark"), [("0,5", ","), ("0.5", "."), ("7", "")])
def test_whole_numbers_are_remembered_with_the_mark_of_their_neighbours(csv, cell, beside, mark):
    found = kind_of(csv([cell, cell], separator=";", beside=beside))
    assert (found.kind, found.notation.decimal) == ("number", mark)


def test_a_point_between_thousands_is_shown_by_an_example(csv):
    cells = ["950", "1.025"]
    assert kind_of(csv(cells, separator=";", beside="0,5")).example == "1.025"
    assert kind_of(csv(cells, separator=";", beside="0.5")).example == ""
    assert kind_of(csv(["0,5", "1,025"], separator=";")).example == ""  # as in most such files


def test_options_decide_where_nothing_else_does(csv):
    path = csv(["950", "1.025"], separator=";")
    assert read(path, FileOptions(decimal=",")) == [950, 1025]
    assert read(path, FileOptions(thousands=".")) == [950, 1025]
    assert read(path, FileOptions(decimal=".")) == [950, 1.025]
    path = csv(["01/02/2026"])
    for dayfirst, day in ((True, "2026-02-01"), (False, "2026-01-02")):
        assert str(read(path, FileOptions(dayfirst=dayfirst))[0].date()) == day


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["19/06/2024", "1/2/2024"], "%d/%m/%Y"),
        (["06/19/2024", "1/2/2024"], "%m/%d/%Y"),
        (["01.02.2024", ""], "%d.%m.%Y"),
        (["19.06.24"], "%d.%m.%y"),
        (["6/19/2024 3:05 PM"], "%m/%d/%Y %I:%M %p"),
        (["Jan 1949", "Dec 1949"], "named %m %Y"),
        (["2026-01-31"], ""),
    ],
)
def test_dates_whose_order_is_clear_are_read(csv, cells, form):
    recognised = kind_of(csv(cells))
    assert (recognised.kind, recognised.notation) == ("date", Notation(date=form))


@pytest.mark.parametrize("cell", ["01-02-26", "1/2/2026 10:00", "03/04/2026"])
def test_dates_that_can_be_read_in_two_ways_are_asked_about(csv, cell):
    recognised = kind_of(csv([cell, cell]))
    assert recognised.kind == "category"
    assert f"{cell!r} may " in recognised.note
    assert "add --dayfirst or --no-dayfirst" in recognised.note


def test_dates_of_both_orders_are_told_by_an_example_of_each(csv):
    note = kind_of(csv(["19/06/2024", "06/19/2024"])).note
    assert "'19/06/2024' starts with the day and '06/19/2024' with the month" in note


def test_a_plain_column_has_a_plain_notation_and_no_example(csv):
    for cells, separator in ((["1.5", ""], ","), (["1", "2"], ";"), (["1.5", "2.25"], ";")):
        recognised = kind_of(csv(cells, separator=separator))
        assert (recognised.notation, recognised.example) == (PLAIN, "")
    usual = kind_of(csv(["1,5"], separator=";"))
    assert (usual.notation, usual.example) == (COMMA, "")
    told = kind_of(csv(["1.5", "1,234.5"]))
    assert (told.notation, told.example) == (POINT, "1,234.5")


def test_texts_of_typed_files_are_numbers_only_if_they_cannot_be_codes(tmp_path):
    frame = pd.DataFrame({"zip": ["12345", "54321"], "cost": ["$1,234.50", "$3.00"]})
    frame.to_parquet(tmp_path / "f.parquet")
    with open_table(tmp_path / "f.parquet") as file:
        kinds = [one.kind for one in recognise(next(file.batches()), file).values()]
    assert kinds == ["category", "number"]


def test_plain_numbers_that_a_typed_file_has_as_texts_are_numbers_unless_they_may_be_codes(
    tmp_path,
):
    frame = pd.DataFrame(
        {
            "area": ["57.5", None, "38"],
            "rooms": ["3", "4", "2"],
            "key": ["007", "12", "3"],
            "article": ["4006381333931123", "4006381333931124", "1"],
            "customer id": ["12", "13", "14"],
            "level": pd.Categorical(["1", "2", "3"]),
            "kind": ["1", "2", "b"],
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    with open_table(tmp_path / "f.parquet") as file:
        rows = next(file.batches())
        columns = recognise(rows, file)
        kinds = {name: one.kind for name, one in columns.items()}
        read = read_recognised(rows, columns, kinds, file)
        as_they_are = recognise(rows, file, with_plain=False)
    assert list(kinds.values()) == ["number", "number", *["category"] * 5]
    assert read["area"].fillna(0).tolist() == [57.5, 0, 38]
    assert (columns["area"].example, columns["area"].notation) == ("57.5", PLAIN)
    assert {one.kind for one in as_they_are.values()} == {"category"}


@pytest.mark.parametrize(
    ("others", "separator", "number"),
    [
        (["7", "8", "9"], ";", 30866),  # km beside it part thousands
        (["7", "8", "9"], "\t", 30866),
        (["7", "8", "9"], ",", 30.866),  # as programs write it
        (["1,3", "2,5", "1,0"], ";", 30866),
        (["1,3", "2,5", "1,0"], "\t", 30866),
        (['"1,3"', '"2,5"', '"1,0"'], ",", 30866),  # as tables in a browser do
        (["1.3", "2.5", "1.0"], ";", 30.866),
        (["1.3", "2.5", "1.0"], "\t", 30.866),
        (["1.3", "2.5", "1.0"], ",", 30.866),
    ],
)
def test_what_a_column_leaves_open_the_others_decide(tmp_path, separator, others, number):
    rows = zip(["950", "1.250", "249.602"], ["30.866", "15.885", "19.343"], others, strict=True)
    lines = [separator.join(cells) for cells in [("km", "price", "c"), *rows]]
    (tmp_path / "f.csv").write_text("\n".join(lines))
    frame = read_file(tmp_path / "f.csv").frame
    assert frame["price"].iloc[0] == number
    assert frame["km"].iloc[2] == pytest.approx(number / 30866 * 249602)


def test_columns_that_leave_their_marks_open_and_have_different_ones_are_asked_about(csv):
    cells = ["7,084", "13,674"]
    for separator in ";\t":
        one = kind_of(csv(cells, separator=separator, beside="2.016"))
        assert one.kind == "category"
        assert "'7,084' may be 7084 or 7.084, and other columns have the other mark" in one.note
        asked = kind_of(
            csv(cells, separator=separator, beside="2.016"), options=FileOptions(decimal=",")
        )
        assert asked.kind == "number"
    assert read(csv(cells, separator=";", beside="2016")) == [7.084, 13.674]
    assert read(csv(cells, separator=",", beside="2.016")) == [7084, 13674]


@pytest.mark.parametrize("others", [["31.01.2024", "01.02.2024"], ["13/01/2024"], ["01/02/2024"]])
def test_dates_in_two_ways_are_words_and_both_ways_are_named(csv, others):
    cells = ["2024-01-01", *others, "2024-01-02", *others]
    one = kind_of(csv(cells))
    assert one.kind == "category"
    ways = f"'2024-01-01' in line 2 and {others[0]!r} in line 3; write all alike"
    assert f"its dates are written in two ways, {ways}" in one.note
    assert not kind_of(csv([*cells, "later"] * 3)).note
