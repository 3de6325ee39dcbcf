import numpy as np
import pytest
from fixtures import onnx_answers, onnx_session

from batchensemble.export.graph import Graph
from batchensemble.export.interface import Slot

X, Y = Slot("x", ("rows",), "what goes in"), Slot("y", ("rows",), "what comes out")


def computed(write, x):
    """What a graph of one input and one output answers."""
    graph = Graph(reserved={"x", "y"})
    graph.output(Y, write(graph.input(X)))
    session = onnx_session(graph.model("", {}).SerializeToString())
    return onnx_answers(session, {"x": np.asarray(x, np.float64)})["y"]


def test_arithmetic_is_written_as_in_python():
    x = np.array([-2.0, 0.5, 3.0])
    assert np.allclose(computed(lambda v: (1 - v) * v / 3 - -v, x), (1 - x) * x / 3 + x)


def test_a_value_gives_way_where_a_condition_holds_and_keeps_its_gaps_elsewhere():
    answer = computed(lambda v: v.but(7.0, where=v < 0), [-1.0, 2.0, np.nan])
    assert np.array_equal(answer, [7.0, 2.0, np.nan], equal_nan=True)


def test_a_scan_carries_its_state_and_sees_what_is_outside():
    def running_sum(x):
        def step(state, now):
            total = state[0] + now[0]
            return [total], total * x.sum(0)

        _, answers = x.graph.scan(step, [x.sum(0) * 0.0], [x])
        return answers

    x = np.array([1.0, 2.0, 4.0])
    assert np.allclose(computed(running_sum, x), np.cumsum(x) * x.sum())


def test_no_value_takes_a_name_that_is_reserved():
    slots = [Slot(f"v{i}", ("rows",), "") for i in range(3)]
    graph = Graph(reserved={slot.name for slot in slots} | {"y"})
    a, b, c = map(graph.input, slots)
    graph.output(Y, a * b + c)
    session = onnx_session(graph.model("", {}).SerializeToString())
    ones = np.ones(2)
    assert onnx_answers(session, {"v0": 2 * ones, "v1": 3 * ones, "v2": ones})["y"][0] == 7


def test_the_same_constant_is_kept_once():
    graph = Graph(reserved={"x", "y"})
    x = graph.input(X)
    graph.output(Y, (x + 2.0) * 2.0 + np.array([2.0]) + 2.0)
    assert len(graph.model("", {}).graph.initializer) == 2  # a number, and an array of one


@pytest.mark.parametrize("n_times", [0, 1, 5])
def test_a_loop_takes_as_many_steps_as_it_is_told_and_its_state_may_grow(n_times):
    def grown(x):
        def step(i, state):
            return [x.graph.concat([state[0], x * i.cast(np.float64)], 0)]

        return x.graph.loop(step, [x], x.graph.constant(np.array(n_times)))[0]

    assert np.allclose(computed(grown, [3.0]), [3.0, *(3.0 * np.arange(n_times))])
