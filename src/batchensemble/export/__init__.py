"""A fitted estimator as one ONNX file, from the user's columns to predictions in their units."""

from batchensemble.export.inputs import onnx_inputs
from batchensemble.export.onnx_file import to_onnx

__all__ = ["onnx_inputs", "to_onnx"]
