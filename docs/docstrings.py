"""Gives the reference the docstrings that estimators build when they are imported.

mkdocstrings reads the source without importing it, and would miss them.
"""

from importlib import import_module
from typing import Any

import griffe


class BuiltDocstrings(griffe.Extension):
    """Classes that set `__doc__` in their body get the docstring they have once imported."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        if "__doc__" in cls.members:
            text = getattr(import_module(cls.module.path), cls.name).__doc__
            cls.docstring = griffe.Docstring(text, parent=cls, parser="numpy")
