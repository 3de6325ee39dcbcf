"""What a model's file holds."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from batchensemble.estimators import load
from batchensemble.modelfile.persistence import describe


def inspect_model(path: Path) -> dict[str, Any]:
    """Its description, how its training went, and where it comes from if `fit` made it."""
    model = load(path, device="cpu")
    return {
        "file": str(path),
        **describe(path),
        "training": [asdict(history) for history in model.history_],
        "n_calibrated": len(getattr(model, "calibration_", ())),
        "origin": getattr(model, "origin_", None),
    }
