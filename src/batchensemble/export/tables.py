"""Regressors and classifiers as graphs: columns in, predictions in the target's units out."""

import numpy as np

from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.heads import ClassHead, NumberHead
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.table_model import APART_A_BIN
from batchensemble.export.columns import bins_beyond, encoded
from batchensemble.export.graph import Graph, Value
from batchensemble.export.interface import inputs_of
from batchensemble.export.networks import exactly, mlp, moments
from batchensemble.export.transforms import member_moments, transformed
from batchensemble.predictive.whole import MIDDLE

TINY = 1e-300  # where p log p is 0


def regressor(
    model: Regressor, graph: Graph, reaches: tuple[float, float] | None = None
) -> dict[str, Value]:
    """Outputs by name; with `reaches`, bounds so many standard deviations from the mean."""
    head = exactly(NumberHead, model.model_.head)
    outputs = _outputs(model, graph)
    means, log_variances = moments(outputs, head.loss.bounds)
    means, variances = means.cast(np.float64), log_variances.cast(np.float64).apply("Exp")
    # In units of the scaled target up to here: far from zero, digits would be lost.
    mean = means.mean(1, keepdims=True)
    spread = head.spread
    if spread.distance != 1:
        means = mean + (means - mean) * spread.distance
    variances = variances * spread.variance
    if least := spread.least_variance / head.scale**2:
        variances = variances.apply("Max", least)
    location, scale = head.location, head.scale
    bounds = {}
    if reaches is not None:
        middle = mean.reshape(-1) * scale + location
        std = (variances.mean(1) + _square(means - mean).mean(1)).apply("Sqrt") * scale
        below, above = reaches
        ends = {"lower": (middle - std * below, -MIDDLE), "upper": (middle + std * above, MIDDLE)}
        for name, (end, outwards) in ends.items():
            possible = end if head.transform is None else transformed(end, head.transform)
            bounds[name] = (possible + outwards).apply("Round") if model.is_count else possible
    if head.transform is not None:
        means, variances = member_moments(
            means * scale + location,
            variances.apply("Sqrt") * scale,
            tail_share=spread.tail_share,
            tail_width=spread.tail_width,
            transform=head.transform,
        )
        mean, location, scale = means.mean(1, keepdims=True), 0.0, 1.0
    aleatoric, epistemic = variances.mean(1), _square(means - mean).mean(1)
    total = aleatoric + epistemic
    return {
        "mean": mean.reshape(-1) * scale + location,
        "std": total.apply("Sqrt") * scale,
        "members_mean": means * scale + location,
        "members_std": variances.apply("Sqrt") * scale,
        "total": total * scale**2,
        "aleatoric": aleatoric * scale**2,
        "epistemic": epistemic * scale**2,
        **bounds,
    }


def classifier(model: Classifier, graph: Graph) -> dict[str, Value]:
    """Outputs by name."""
    classes = model.classes_
    members = _probabilities(_outputs(model, graph), model)
    mean = members.mean(1)
    total, aleatoric = _entropy(mean), _entropy(members).mean(1)
    first = graph.node("ArgMax", mean, dtype=np.int64, axis=1, keepdims=0)
    return {
        "label": graph.constant(classes).gather(first, axis=0),
        "probabilities": mean,
        "members": members,
        "total": total,
        "aleatoric": aleatoric,
        "epistemic": (total - aleatoric).apply("Max", 0.0),
    }


def _outputs(model: Regressor | Classifier, graph: Graph) -> Value:
    """The network's, (rows, members, outputs), farther apart where rows lie beyond those of fit."""
    encoder, members, head = model.model_.encoder, model.model_.ensemble.members, model.model_.head
    x = encoded([graph.input(slot) for slot in inputs_of(model)], encoder)
    outputs = mlp(x.insert(0), members.network, members.masks).expand(members.n_members, 1, 1)
    outputs = outputs.transpose(1, 0, 2)
    if not encoder.binned_.edges:
        return outputs
    by_bin = np.zeros(sum(head.sizes), np.float32)
    by_bin[head.places] = APART_A_BIN
    mean = outputs.mean(1, keepdims=True)
    return mean + (outputs - mean) * (bins_beyond(x, encoder).reshape(-1, 1, 1) * by_bin + 1)


def _probabilities(logits: Value, model: Classifier) -> Value:
    """Every member's, after calibration with its temperature: (rows, members, classes)."""
    logits = logits.cast(np.float64)
    temperature = exactly(ClassHead, model.model_.head).temperature
    if temperature != 1:
        logits = logits / temperature
    return logits.apply("Softmax", axis=-1)


def _entropy(probabilities: Value) -> Value:
    """(..., classes) -> (...), in nats."""
    logs = probabilities.apply("Max", TINY).apply("Log")
    return -(probabilities * logs).sum(-1)


def _square(x: Value) -> Value:
    return x * x
