"""An ONNX graph that is written like arithmetic: values know their graph and their type."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import DTypeLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from batchensemble.export.interface import Slot

# Old enough for every runtime of the last years; newer ones read it all the same.
OPSET, ML_OPSET, IR = 18, 3, 8


@dataclass(frozen=True, eq=False)
class Value:
    """What a node makes. Plain numbers beside it take its type; arrays keep their own."""

    graph: "Graph"
    name: str
    dtype: np.dtype[Any]

    def __add__(self, other: "Operand") -> "Value":
        return self.graph.node("Add", self, other)

    def __sub__(self, other: "Operand") -> "Value":
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: "Operand") -> "Value":
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: "Operand") -> "Value":
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: "Operand") -> "Value":
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: "Operand") -> "Value":
        return self.graph.node("MatMul", self, other)

    def __neg__(self) -> "Value":
        return self.graph.node("Neg", self)

    def __lt__(self, other: "Operand") -> "Value":
        return self.graph.node("Less", self, other, dtype=np.bool_)

    def __le__(self, other: "Operand") -> "Value":
        return self.graph.node("LessOrEqual", self, other, dtype=np.bool_)

    def apply(self, op: str, *others: "Operand", **attributes: Any) -> "Value":
        """An operator whose answer has the type of its first input."""
        return self.graph.node(op, self, *others, **attributes)

    def cast(self, dtype: DTypeLike) -> "Value":
        to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph.node("Cast", self, dtype=dtype, to=to)

    def is_nan(self) -> "Value":
        return self.graph.node("IsNaN", self, dtype=np.bool_)

    def but(self, other: "Operand", where: "Operand") -> "Value":
        """The other where the condition holds, this elsewhere."""
        other = self.graph.operand(other, self.dtype)
        return self.graph.node("Where", where, other, self, dtype=self.dtype)

    def clip(self, low: float, high: float) -> "Value":
        return self.apply("Clip", low, high)

    def mean(self, *axes: int, keepdims: bool = False) -> "Value":
        return self.apply("ReduceMean", ints(*axes), keepdims=int(keepdims))

    def sum(self, *axes: int) -> "Value":
        return self.apply("ReduceSum", ints(*axes), keepdims=0)

    def gather(self, places: "Operand", axis: int) -> "Value":
        return self.apply("Gather", places, axis=axis)

    def slice(self, start: int, stop: int | None, axis: int) -> "Value":
        end = np.iinfo(np.int64).max if stop is None else stop
        return self.apply("Slice", ints(start), ints(end), ints(axis))

    def transpose(self, *axes: int) -> "Value":
        return self.apply("Transpose", perm=list(axes))

    def reshape(self, *shape: int) -> "Value":
        """0 stands for the length that is there, -1 for what is left."""
        return self.apply("Reshape", ints(*shape))

    def insert(self, *axes: int) -> "Value":
        """New axes of length 1."""
        return self.apply("Unsqueeze", ints(*axes))

    def expand(self, *shape: int) -> "Value":
        """Repeated where it has length 1; a 1 in the shape leaves a length as it is."""
        return self.apply("Expand", ints(*shape))

    def shape(self) -> "Value":
        return self.graph.node("Shape", self, dtype=np.int64)


Operand = Value | NDArray[Any] | float
Step = Callable[[Sequence[Value], Sequence[Value]], tuple[Sequence[Value], Value | None]]
LoopStep = Callable[[Value, Sequence[Value]], Sequence[Value]]


class Graph:
    """Nodes in the order in which they are computed, and the constants that they read."""

    def __init__(self, reserved: Iterable[str]) -> None:
        """`reserved` are the names of inputs and outputs, which no other value may have."""
        self._taken = set(reserved)
        self._count = 0
        self._nodes: list[NodeProto] = []  # of the graph or, inside a scan, of its body
        self._constants: dict[tuple[Any, ...], TensorProto] = {}
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def input(self, slot: Slot) -> Value:
        self._inputs.append(_info(slot.name, slot.dtype, slot.shape, slot.meaning))
        return Value(self, slot.name, np.dtype(slot.dtype))

    def output(self, slot: Slot, value: Value) -> None:
        self._nodes.append(helper.make_node("Identity", [value.name], [slot.name]))
        self._outputs.append(_info(slot.name, value.dtype, slot.shape, slot.meaning))

    def node(
        self,
        op: str,
        *inputs: Operand,
        dtype: DTypeLike | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> Value:
        """One more operator, with one output: of that type, or of the type of its first value."""
        like = next(value.dtype for value in inputs if isinstance(value, Value))
        names = [self.operand(value, like).name for value in inputs]
        out = Value(self, self._new_name(), like if dtype is None else np.dtype(dtype))
        node = helper.make_node(op, names, [out.name], domain=domain, **attributes)
        self._nodes.append(node)
        return out

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=axis)

    def constant(self, array: NDArray[Any]) -> Value:
        """The same numbers are kept once."""
        if array.dtype.kind in "UT":
            array = array.astype(object)
        content = tuple(array.tolist()) if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._constants:
            self._constants[key] = numpy_helper.from_array(array, self._new_name())
        return Value(self, self._constants[key].name, array.dtype)

    def operand(self, value: Operand, like: np.dtype[Any]) -> Value:
        """A value as it is, an array or a number as a constant."""
        if isinstance(value, Value):
            return value
        return self.constant(value if isinstance(value, np.ndarray) else np.array(value, like))

    def scan(
        self, step: Step, state: Sequence[Value], sequences: Sequence[Value]
    ) -> tuple[list[Value], Value | None]:
        """Go through sequences, (steps, ...), with a state: the last state, and every answer.

        `step` maps a state and an element of each sequence to the next state and an answer, if it
        gives one; the answers are stacked in front.
        """
        outer, self._nodes = self._nodes, []
        before = [self._like(value) for value in (*state, *sequences)]
        after, answer = step(before[: len(state)], before[len(state) :])
        results = [*after, *([] if answer is None else [answer])]
        body = helper.make_graph(
            self._nodes,
            "step",
            [_info(value.name, value.dtype, None) for value in before],
            [_info(value.name, value.dtype, None) for value in results],
        )
        self._nodes = outer
        last = [self._like(value) for value in results]
        self._nodes.append(
            helper.make_node(
                "Scan",
                [value.name for value in (*state, *sequences)],
                [value.name for value in last],
                body=body,
                num_scan_inputs=len(sequences),
            )
        )
        return last[: len(state)], None if answer is None else last[-1]

    def loop(self, step: LoopStep, state: Sequence[Value], n_times: Value) -> Sequence[Value]:
        """The state after `step` has been applied n_times, maybe never; its shapes may change."""
        outer, self._nodes = self._nodes, []
        i, goes_on = self._like(n_times), Value(self, self._new_name(), np.dtype(np.bool_))
        before = [self._like(value) for value in state]
        after = step(i, before)
        still = self.node("Identity", goes_on)
        scalars = {i.name, goes_on.name, still.name}
        inputs, outputs = (
            [_info(v.name, v.dtype, () if v.name in scalars else None) for v in values]
            for values in ((i, goes_on, *before), (still, *after))
        )
        body = helper.make_graph(self._nodes, "step", inputs, outputs)
        self._nodes = outer
        last = [self._like(value) for value in state]
        names = [n_times.name, self.constant(np.array(True)).name, *(each.name for each in state)]
        node = helper.make_node("Loop", names, [value.name for value in last], body=body)
        self._nodes.append(node)
        return last

    def model(self, doc: str, metadata: Mapping[str, str]) -> ModelProto:
        """The whole file, checked."""
        constants = list(self._constants.values())
        model = helper.make_model(
            helper.make_graph(self._nodes, "batchensemble", self._inputs, self._outputs, constants),
            producer_name="batchensemble",
            doc_string=doc,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                helper.make_opsetid("ai.onnx.ml", ML_OPSET),
            ],
            ir_version=IR,
        )
        helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        return model

    def _like(self, value: Value) -> Value:
        return Value(self, self._new_name(), value.dtype)

    def _new_name(self) -> str:
        while (name := f"v{self._count}") in self._taken:
            self._count += 1
        self._count += 1
        return name


def ints(*values: int) -> NDArray[np.int64]:
    """What operators want for axes and shapes."""
    return np.array(values, np.int64)


def _info(
    name: str, dtype: DTypeLike, shape: Sequence[int | str] | None, doc: str = ""
) -> ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape, doc)
