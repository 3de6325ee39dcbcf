"""Real tables and series by name, one's own from a file, and shifted test sets from any table."""

from functools import partial

from batchensemble.data.tables import Table, read_table
from batchensemble.datasets import Series, make_seasonal
from batchensemble.study.datasets.ackley import make_ackley
from batchensemble.study.datasets.catalogue import list_datasets
from batchensemble.study.datasets.paper_series import SERIES, load_series
from batchensemble.study.datasets.paper_tables import TABLES, load_table
from batchensemble.study.datasets.shift import Shift, make_shift
from batchensemble.study.datasets.sources import DatasetMissing

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
