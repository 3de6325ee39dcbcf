import numpy as np
import pytest
from fixtures import onnx_answers, onnx_session

from batchensemble.export.graph import Graph
from batchensemble.export.interface import Slot
from batchensemble.export.transforms import member_moments, transformed
from batchensemble.predictive import Transform, TransformedPredictive

EVERY = pytest.mark.parametrize(
    "transform",
    [
        Transform.straight(0.0),
        Transform.straight(-1.0, 5.0),
        Transform.logarithmic(0.5, 40.0),
        Transform.between(0.0, 100.0, 2.0),
    ],
    ids=["above", "within", "logarithmic", "between"],
)


@EVERY
def test_a_transform_is_the_same_as_nodes(transform):
    graph = Graph(reserved={"z", "y"})
    y = transformed(graph.input(Slot("z", ("rows",), "")), transform)
    graph.output(Slot("y", ("rows",), ""), y)
    session = onnx_session(graph.model("", {}).SerializeToString())
    z = np.concatenate([np.linspace(-20, 200, 500), [-1e9, 1e9, *transform.starts]])
    np.testing.assert_allclose(onnx_answers(session, {"z": z})["y"], transform(z), rtol=1e-12)


@pytest.mark.parametrize("tails", [(0.0, 1.0), (0.1, 5.0)])
@EVERY
def test_moments_of_members_are_those_of_the_predictive(transform, tails):
    graph = Graph(reserved={"means", "stds", "mean", "variance"})
    inputs = [graph.input(Slot(name, ("rows", 3), "")) for name in ("means", "stds")]
    share, width = tails
    outputs = member_moments(*inputs, tail_share=share, tail_width=width, transform=transform)
    for name, value in zip(("mean", "variance"), outputs, strict=True):
        graph.output(Slot(name, ("rows", 3), ""), value)
    session = onnx_session(graph.model("", {}).SerializeToString())
    random = np.random.default_rng(0)
    means, stds = random.uniform(-3, 12, (200, 3)), np.exp(random.uniform(-4, 2, (200, 3)))
    ours = onnx_answers(session, {"means": means, "stds": stds})
    dist = TransformedPredictive(means, stds**2, share, width, transform)
    np.testing.assert_allclose(ours["mean"], dist.means, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours["variance"], dist.variances, rtol=1e-7, atol=1e-10)
