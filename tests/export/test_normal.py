import numpy as np
from fixtures import onnx_answers, onnx_session
from scipy.special import ndtri

from batchensemble.export.graph import Graph
from batchensemble.export.interface import Slot
from batchensemble.export.normal import normal_quantile


def test_quantiles_of_the_normal_distribution_are_scipys():
    graph = Graph(reserved={"p", "z"})
    z = normal_quantile(graph.input(Slot("p", ("rows",), "")))
    graph.output(Slot("z", ("rows",), ""), z)
    session = onnx_session(graph.model("", {}).SerializeToString())
    tail = np.logspace(-11, -1, 500)
    p = np.concatenate([tail, np.linspace(0.05, 0.95, 1001), 1 - tail, [0.075, 0.925]])
    ours = onnx_answers(session, {"p": p})["z"]
    assert np.allclose(ours, ndtri(p), rtol=1e-14, atol=1e-15)
