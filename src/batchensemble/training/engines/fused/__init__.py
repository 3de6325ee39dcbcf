"""Whole training steps on the CPU in compiled loops; `covers` says for which networks."""

from batchensemble.training.engines.fused.engine import FusedEngine, covers

__all__ = ["FusedEngine", "covers"]
