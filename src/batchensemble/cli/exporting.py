"""A model for other programs."""

from pathlib import Path
from typing import Any

from batchensemble.data.writing import check_place
from batchensemble.export import to_onnx


def export_model(model: Any, out: Path) -> None:
    if out.suffix != ".onnx":
        raise ValueError(f"expected the name of an .onnx file to write, got {out}")
    check_place(out)
    to_onnx(model, out)
