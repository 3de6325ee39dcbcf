"""Real tables and series by name, one's own from a file, and shifted test sets from any table."""

from functools import partial

from batchensemble.datasets.ackley import make_ackley
from batchensemble.datasets.catalogue import list_datasets
from batchensemble.datasets.own import read_table
from batchensemble.datasets.series import SERIES, Series, load_series, make_seasonal
from batchensemble.datasets.shift import Shift, make_shift
from batchensemble.datasets.sources import DatasetMissing
from batchensemble.datasets.tables import TABLES, Table, load_table

for _task in ("regression", "classification"):
    TABLES[f"ackley_{_task}"] = partial(make_ackley, task=_task)

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
