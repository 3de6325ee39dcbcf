"""Data that is always here: a generated series to try a forecaster on."""

from batchensemble.datasets.seasonal import Series, load_series, make_seasonal

__all__ = ["Series", "load_series", "make_seasonal"]
