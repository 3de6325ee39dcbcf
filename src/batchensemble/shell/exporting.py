"""A model for other programs."""

from importlib import import_module
from pathlib import Path
from typing import Any

from batchensemble.writing import check_place


def export_model(model: Any, out: Path) -> None:
    if out.suffix != ".onnx":
        raise ValueError(f"expected the name of an .onnx file to write, got {out}")
    check_place(out)
    import_module("batchensemble.export").to_onnx(model, out)
