"""Real tables and series by name, and shifted test sets from any table."""

from batchensemble.datasets.series import SERIES, Series, load_series, make_seasonal
from batchensemble.datasets.shift import Shift, make_shift
from batchensemble.datasets.tables import TABLES, Table, load_table

__all__ = [
    "SERIES",
    "TABLES",
    "Series",
    "Shift",
    "Table",
    "load_series",
    "load_table",
    "make_seasonal",
    "make_shift",
]
