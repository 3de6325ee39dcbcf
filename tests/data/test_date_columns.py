import numpy as np
import pandas as pd
import pytest

from batchensemble.data.date_columns import recognise_dates, with_dates, with_written_dates
from batchensemble.data.frames import read_columns


def columns_of(**cells):
    return read_columns(pd.DataFrame(cells))


def test_texts_are_dates_if_all_are_and_the_order_is_clear():
    columns = columns_of(
        iso=["2024-01-31", None],
        day=["31/01/2024", "01/02/2024"],
        unclear=["01/02/2024", "02/02/2024"],
        some=["2024-01-31", "soon"],
        coded=pd.Categorical(["2024-01-31", "2024-02-01"]),
        mixed=["2024-01-31T10:00Z", "2024-01-31T10:00"],
        asked=["2024-01-31", "2024-02-01"],
        number=[1.5, 2.5],
    )
    formats, doubts = recognise_dates(columns, ["asked"])
    assert formats == {"iso": "", "day": "%d/%m/%Y"}
    assert list(doubts) == ["unclear"]
    assert doubts["unclear"].startswith("'01/02/2024' may be 2024-02-01 or 2024-01-02, so it is")
    read = with_dates(columns, columns.names, formats)
    assert read.kinds == ["date", "date", *columns.kinds[2:]]
    assert [str(one) for one in read[1].values.astype("datetime64[D]")] == [
        "2024-01-31",
        "2024-02-01",
    ]


def test_zones_are_kept_in_mind_and_read_in_utc():
    columns = columns_of(at=["2024-01-31T10:00+02:00", "2024-01-31T10:00Z"])
    formats, _ = recognise_dates(columns, [])
    (column,) = with_dates(columns, columns.names, formats)
    assert column.is_zoned
    assert column.values.astype("datetime64[h]").tolist() == [
        np.datetime64("2024-01-31T08").item(),
        np.datetime64("2024-01-31T10").item(),
    ]


def test_a_cell_that_is_no_date_is_refused_with_its_row():
    columns = columns_of(day=["31/01/2024", None, "soon"])
    with pytest.raises(ValueError, match=r"such as '31/01/2026' as in fit, got 'soon' in row 2"):
        with_dates(columns, ["day"], {"day": "%d/%m/%Y"})


def test_columns_are_matched_by_position():
    columns = columns_of(other=["31/01/2024"])
    assert with_dates(columns, ["day"], {"day": "%d/%m/%Y"}).kinds == ["date"]
    assert with_dates(columns, ["day"], {}) is columns


def test_where_fit_had_dates_texts_are_read_by_the_rule_of_fit():
    days = pd.to_datetime(["2024-01-31", "2024-02-01"])
    for form in ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d %b %Y"):
        columns = columns_of(day=days.strftime(form))
        (column,) = with_written_dates(columns, ["day"], ["date"], {})
        np.testing.assert_array_equal(column.values, days.to_numpy().astype("datetime64[us]"))
        for kind, formats in (("category", {}), ("date", {"day": form})):
            assert with_written_dates(columns, ["day"], [kind], formats) is columns
    for cells in (["2024-01-31", "soon"], pd.Categorical(["2024-01-31", "2024-02-01"]), [1.0, 2.0]):
        columns = columns_of(day=cells)
        assert with_written_dates(columns, ["day"], ["date"], {}).kinds == columns.kinds


def test_where_fit_had_dates_texts_whose_order_is_unclear_are_refused_with_the_cure():
    columns = columns_of(day=["01/02/2024", "02/02/2024"])
    words = r"column 'day': .* '01/02/2024' may be 2024-02-01 or 2024-01-02; .* pd\.to_datetime"
    with pytest.raises(ValueError, match=words):
        with_written_dates(columns, ["day"], ["date"], {})
