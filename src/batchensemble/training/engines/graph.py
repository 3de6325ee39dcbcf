"""The CUDA engine: the plain step, compiled where that pays, captured once and replayed."""

import warnings

import torch
from torch import Tensor

from batchensemble.training.engines.plain import PlainEngine, Steps

WARM_UP = 3
# What torch's compiler says about its code and choices; every process would repeat it.
ADVICE = r"`torch\.jit\.script|\s*Online softmax is disabled|TensorFloat32 tensor cores"


class GraphEngine:
    """Replays one captured step; the step's inputs are looked up on the device by a counter."""

    def __init__(self, plain: PlainEngine, *, compiled: bool) -> None:
        self.plain = plain
        if compiled:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ADVICE)
                plain.losses = torch.compile(plain.losses, dynamic=False)
                plain.update = torch.compile(plain.update, dynamic=False)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.capacity = 0

    def run(self, steps: Steps) -> Tensor:
        self.plain.bank.module.train()
        if self.graph is None or len(steps) > self.capacity:
            self._capture(steps)
        assert self.graph is not None
        self._load(steps)
        for _ in range(len(steps)):
            self.graph.replay()
        return self.losses[: len(steps)].clone()

    def _load(self, steps: Steps) -> None:
        self.rows[: len(steps)].copy_(steps.rows)
        self.weights[: len(steps)].copy_(steps.weights)
        for held, new in ((self.keys, steps.keys), (self.noise, steps.noise)):
            if held is not None and new is not None:
                held[: len(steps)].copy_(new)
        self.counter.zero_()

    def _one(self) -> None:
        held = (self.rows, self.weights, self.keys, self.noise)
        now = [None if h is None else h.index_select(0, self.counter)[0] for h in held]
        losses = self.plain.step(*now)  # type: ignore[arg-type]
        self.losses.index_copy_(0, self.counter, losses.unsqueeze(0))
        self.counter += 1

    def _capture(self, steps: Steps) -> None:
        self.capacity = len(steps)
        self.rows = steps.rows.clone()
        self.weights = steps.weights.clone()
        self.keys = None if steps.keys is None else steps.keys.clone()
        self.noise = None if steps.noise is None else steps.noise.clone()
        self.losses = steps.weights.new_zeros(steps.rows.shape[:2])
        self.counter = torch.zeros(1, dtype=torch.int64, device=steps.rows.device)
        # Warming up and capturing must not move the networks.
        adam = self.plain.adam
        state = [adam.theta, adam.moment1, adam.moment2, adam.count]
        before = [tensor.clone() for tensor in state]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ADVICE)
            for _ in range(WARM_UP):
                self.counter.zero_()
                self._one()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._one()
        for tensor, saved in zip(state, before, strict=True):
            tensor.copy_(saved)
