"""Real tables by name, and shifted test sets from any table."""

from batchensemble.datasets.shift import Shift, make_shift
from batchensemble.datasets.tables import TABLES, Table, load_table

__all__ = ["TABLES", "Shift", "Table", "load_table", "make_shift"]
