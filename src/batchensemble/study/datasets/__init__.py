"""Real tables and series by name, one's own from a file, and shifted test sets from any table."""

from batchensemble.data.tables import Table, read_table
from batchensemble.datasets import Series, make_seasonal
from batchensemble.study.datasets.ackley import make_ackley
from batchensemble.study.datasets.catalogue import list_datasets
from batchensemble.study.datasets.registry import SERIES, TABLES, load_series, load_table
from batchensemble.study.datasets.shift import Shift, make_shift
from batchensemble.study.datasets.sources import DatasetMissing

__all__ = [
    "SERIES",
    "TABLES",
    "DatasetMissing",
    "Series",
    "Shift",
    "Table",
    "list_datasets",
    "load_series",
    "load_table",
    "make_ackley",
    "make_seasonal",
    "make_shift",
    "read_table",
]
