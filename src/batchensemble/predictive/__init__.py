"""What a model predicts: one frozen object per task, with every member's prediction.

Uncertainties are variances for numbers (`GaussianPredictive`, `TransformedPredictive`,
`SamplePredictive`) and nats for classes (`CategoricalPredictive`); always total = aleatoric +
epistemic.
"""

from batchensemble.predictive.base import Predictive, Uncertainty
from batchensemble.predictive.categorical import CategoricalPredictive
from batchensemble.predictive.checks import (
    Array,
    Labels,
    check_array,
    check_coverage,
    check_labels,
    check_probabilities,
)
from batchensemble.predictive.gaussian import GaussianPredictive
from batchensemble.predictive.joint import JointPredictive, NumberPredictive
from batchensemble.predictive.samples import SamplePredictive
from batchensemble.predictive.transformed import TransformedPredictive
from batchensemble.predictive.transforms import Transform

__all__ = [
    "Array",
    "CategoricalPredictive",
    "GaussianPredictive",
    "JointPredictive",
    "Labels",
    "NumberPredictive",
    "Predictive",
    "SamplePredictive",
    "Transform",
    "TransformedPredictive",
    "Uncertainty",
    "check_array",
    "check_coverage",
    "check_labels",
    "check_probabilities",
]
