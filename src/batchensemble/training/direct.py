"""A network that forecasts all steps at once: exponential smoothing, corrected by an MLP."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from batchensemble.training.networks import MLP, Draw, Network
from batchensemble.training.smoothing import LONG, places_read, smoothers

LARGEST_INPUT = 10.0
CORRECTION = 0.3  # how fast the correction is learned: few series teach one that holds
LEAST_ERROR = 1e-3  # of a smoother, in units of the scaled series
MOST_PLACES = 2**21
MOST_EVIDENCE = 28  # one-step errors: more would leave one smoother only
PENALTY = 0.3  # of what a smoother estimates, beside so little evidence
MOST_EVIDENCE_LONG, PENALTY_LONG = 72, 1.0  # of the few smoothers of a long context
NO_EVIDENCE = -1e4  # of a smoother of which no error counts
FAR = 1000.0  # from zero, in units of the scaled series: there logarithms are straight lines
ERRORS_AT_ONCE, ERRORS_AT_ONCE_GPU = 2**21, 2**26  # few enough for a cache; fill the device
LEAST_RATIO, LARGEST_RATIO = 0.02, 10.0  # of a value to the level, both above zero


class Direct(Network):
    """Smoothers weighted by how well they did inside the window, and an MLP that corrects them.

    The mean of step j is the smoothers' forecast plus the MLP's correction, in units of the
    smoothers' one-step error; so is the standard deviation. The MLP reads the values, the
    smoothers' forecast and weights, and the covariates of the first step ahead. Beside the values
    stands where their zero is: each smoother comes twice, also for the logarithms of a window above
    zero (not of a long one). The first covariate is 1 where a value was observed, 0 where something
    stands in its place, and -1 where the series had not begun: what smoothers make of those does
    not count. An error of a seasonal smoother counts where the series had begun one season earlier:
    before that stands what follows, and a season cannot be wrong about itself. What a
    smoother estimates counts against it in the measure in which its errors count: a gap in the last
    season does not make the seasons before it doubtful.

    `spread` holds what held-out windows said: by how much to stretch the paths around their mean
    ("factors", (horizon,)), and a Cholesky factor of the correlation between steps ("cholesky").
    Longer forecasts go on from what was drawn.
    """

    def __init__(
        self,
        covariates: int,
        heads: Sequence[int],
        *,
        draw: Draw,
        context: int,
        horizon: int,
        seasons: Sequence[int],
        blended: bool = False,
        lags: Sequence[int] = (1,),
        hidden: Sequence[int] = (128, 128),
        n_members: int = 1,
        adapters: str | Sequence[str] = "rsb",
        init: str | Sequence[str] = "random_sign",
        dropout: float = 0.1,
        spread: dict[str, NDArray[np.float64]] | None = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        if context * horizon > MOST_PLACES:
            raise ValueError(
                f"a context of {context:,} steps and a horizon of {horizon:,} would fill the "
                f"memory (their product may be at most {MOST_PLACES:,}); choose smaller ones, "
                "or preset='recurrent'"
            )
        if spread is not None and spread["cholesky"].shape != (len(spread["factors"]), horizon):
            raise ValueError(f"expected a spread of {horizon} steps")
        self.n_members, self.dropout, self.draw = n_members, dropout, draw
        self.reach, self.n_steps = context, horizon
        self.lags, self.seasons, self.blended = tuple(lags), tuple(seasons), bool(blended)
        self._recent = min(self.seasons[0], context)  # the last values, whose mean is the level
        self.n_covariates = covariates
        self.spread = spread
        self.with_logs = context < LONG
        self.most_evidence = MOST_EVIDENCE if context < LONG else MOST_EVIDENCE_LONG
        self.penalty = PENALTY if context < LONG else PENALTY_LONG
        found = smoothers(context, horizon, self.seasons, blended=self.blended)
        self.n_errors = found.errors.shape[1] // 2
        earlier = np.arange(context - self.n_errors, context) - found.seasons[:, None]
        self.earlier = earlier.clip(min=0)  # (K, n): places one season before each error
        self.is_before = (earlier < 0).astype(np.float32)  # the window: taken as observed
        n_smoothers = len(found.forecasts) * (2 if self.with_logs else 1)
        self.read = places_read(context, horizon, self.seasons)
        n_inputs = len(self.read) + horizon + n_smoothers + 2 + covariates
        self.head = MLP(
            n_inputs,
            [*(size * horizon for size in heads), n_smoothers],
            hidden=hidden,
            n_members=n_members,
            adapters=adapters,
            init=init,
            dropout=dropout,
            generator=generator,
        )
        for layer in self.head.heads:
            torch.nn.init.zeros_(
                layer.get_parameter("weight")
            )  # training starts from the smoothers' forecast
        self._matrices: dict[Any, tuple[Tensor, ...]] = {}

    @property
    def mask_features(self) -> int:
        return self.head.mask_features

    @property
    def floats_a_path(self) -> int:
        """About how many floats `simulate` holds at a time for one path of one member."""
        return 4 * self.n_steps + 2 * max(self.head.hidden, default=0)

    def forward(
        self, x: Tensor, masks: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        """(batch, time, members, 2 + covariates) -> (batch, horizon, members, outputs).

        x holds `reach` times before the first forecast and the times of the forecasts; of these it
        reads the covariates only. Before the covariates stand the values and their zero.
        """
        shown = x if x.stride(-2) else x[..., :1, :]  # what is the same for all members once
        return self._ahead(shown[..., :2], shown[..., 2:], x.shape[-2], masks).transpose(-2, -3)

    def _ahead(self, y: Tensor, known: Tensor, n_members: int, masks: Tensor | None) -> Tensor:
        """(..., members, horizon, outputs) of the columns of `forward`'s x.

        y (..., time, members or 1, 2): the values and their zero. The other columns, `known`, may
        have axes of 1 where y has paths or members.
        """
        values = y[..., : self.reach, :, 0].transpose(-1, -2)
        level = values[..., -self._recent :].mean(-1, keepdim=True)
        values = values - level
        flags = known[..., : self.reach, :, 0].transpose(-1, -2)
        above_zero = level - y[..., 0, :, 1:2]
        evidence, by_smoother, squares, growth = self._smoothed(values, flags, above_zero)
        weights = torch.softmax(evidence, -1)
        base = _mixed(weights, by_smoother)
        error = (weights * squares).sum(-1, keepdim=True).sqrt()
        read = values[..., self._places(values.device)[0]]
        near = torch.cat([read, base, level], -1).clamp(-LARGEST_INPUT, LARGEST_INPUT)
        share = flags.clamp(min=0).mean(-1, keepdim=True)
        covariates = known[..., self.reach, :, 1:]
        for_all = (each.expand(*near.shape[:-1], -1) for each in (share, covariates))
        inputs = torch.cat([near, weights, error.log(), *for_all], -1)
        inputs = inputs.expand(*inputs.shape[:-2], n_members, -1)
        sizes = [self.n_steps, self.n_steps, evidence.shape[-1]]
        mean, raw, preference = self.head(inputs, masks).split(sizes, -1)
        weights = torch.softmax(evidence + preference, -1)
        base = _mixed(weights, by_smoother)
        variance = _mixed(weights, squares.unsqueeze(-1) * growth + by_smoother.square())
        variance = (variance - base.square()).clamp(min=LEAST_ERROR**2)
        mean = level + base + CORRECTION * error * mean
        return torch.stack([mean, raw + variance.log()], -1)

    def _smoothed(
        self, values: Tensor, flags: Tensor, above_zero: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(..., reach) -> log-weights (..., K), forecasts (..., K, horizon), squares (..., K).

        The squares are mean squared errors of one step; the last is their growth, (..., K,
        horizon). `above_zero` is the level that the values are relative to.
        """
        counted = self._counted(flags)
        evidence, forecasts, squares, growth = self._linear(values, *counted)
        if not self.with_logs:
            return evidence, forecasts, squares, growth
        lowest = values.amin(-1, keepdim=True) + above_zero
        is_positive = lowest > LEAST_RATIO * above_zero.clamp(min=0)
        unit = torch.where(is_positive, above_zero, FAR).clamp(max=FAR)
        logs = torch.log1p((values / unit).clamp(min=LEAST_RATIO - 1))
        others, ahead, log_squares, log_growth = self._linear(unit * logs, *counted)
        # A density of logarithms is one of values times the values' share of the level.
        counts = flags[..., -self.n_errors :].clamp(min=0)
        mean_log = (logs[..., -self.n_errors :] * counts).sum(-1) / counts.sum(-1).clamp(min=1)
        n_counted = counts.sum(-1).clamp(1, self.most_evidence)
        others = others - (n_counted * mean_log).unsqueeze(-1)
        ratios = (ahead / unit.unsqueeze(-1)).clamp(max=math.log(LARGEST_RATIO)).exp()
        return (
            torch.cat([evidence, others], -1),
            torch.cat([forecasts, unit.unsqueeze(-1) * (ratios - 1)], -2),
            torch.cat([squares, log_squares], -1),
            torch.cat([growth.expand_as(ratios), log_growth * ratios.square()], -2),
        )

    def _counted(self, flags: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Flags (..., reach) -> which errors count (..., K, n), how many, and penalties."""
        *_, penalties, is_before = self._on(flags.device, flags.dtype)
        is_known, has_begun = flags.clamp(min=0), flags.clamp(-1, 0) + 1
        was_known = torch.maximum(has_begun[..., self._places(flags.device)[1]], is_before)
        counts, begun = (
            each[..., None, -self.n_errors :] * was_known for each in (is_known, has_begun)
        )
        n_known, n_begun = counts.sum(-1), begun.sum(-1)
        n_counted, n_begun = (n.clamp(1, self.most_evidence) for n in (n_known, n_begun))
        return counts, n_known, self.penalty * penalties * (n_counted / n_begun)

    def _linear(
        self, values: Tensor, counts: Tensor, n_known: Tensor, penalties: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What the smoothers make of values, in the order of `_smoothed`."""
        ahead, residual, growth, *_ = self._on(values.device, values.dtype)
        errors = (values @ residual).unflatten(-1, (len(growth), 2, self.n_errors))
        counts = counts.unsqueeze(-2)
        learns = torch.is_grad_enabled()  # otherwise in place: new memory costs as much again
        squares = (errors.square() * counts if learns else errors.square_().mul_(counts)).sum(-1)
        squares = squares / n_known.clamp(min=1).unsqueeze(-1) + LEAST_ERROR**2
        n_counted = n_known.clamp(1, self.most_evidence)
        evidence = -0.5 * n_counted * squares.log().mean(-1) - penalties
        evidence = torch.where(n_known > 0, evidence, NO_EVIDENCE)
        forecasts = (values @ ahead).unflatten(-1, (len(growth), self.n_steps))
        return evidence, forecasts, squares[..., 0], growth

    def _on(self, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """(reach, K * horizon), (reach, K * 2 * n), (K, horizon), (K,) and (K, n)."""
        if (device, dtype) not in self._matrices:
            ahead, residual, growth, penalties, _ = smoothers(
                self.reach, self.n_steps, self.seasons, blended=self.blended
            )
            self._matrices[device, dtype] = tuple(
                torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=device)
                for array in (
                    ahead.reshape(-1, self.reach).T,
                    residual.reshape(-1, self.reach).T,
                    growth,
                    penalties,
                    self.is_before,
                )
            )
        return self._matrices[device, dtype]

    def _places(self, device: torch.device) -> tuple[Tensor, ...]:
        """`read` and `earlier`, on the device: a step that a GPU records may copy nothing to it."""
        if device not in self._matrices:
            places = (self.read, self.earlier)
            self._matrices[device] = tuple(torch.tensor(each, device=device) for each in places)
        return self._matrices[device]

    def simulate(self, x: Tensor, noise: Tensor, masks: Tensor | None = None) -> Tensor:
        """Paths: x (batch, time, 2 + covariates) and noise -> (batch, paths, members, steps).

        The noise is standard, of the same shape as the paths. `masks`, (members, units), are those
        of MC dropout.
        """
        n_steps, size = noise.shape[-1], self.n_steps
        n_more = -n_steps % size
        x = torch.nn.functional.pad(x, (0, 0, 0, n_more))
        noise = torch.nn.functional.pad(noise, (0, n_more))
        outputs = self(x.unsqueeze(-2).expand(-1, -1, noise.shape[2], -1), masks)
        outputs = outputs.transpose(-2, -3).unsqueeze(1)
        paths = [self._drawn(outputs, noise[..., :size], shared=True)]
        if n_steps > size:
            y, known = x[:, None, :, None].split([2, x.shape[-1] - 2], -1)
            y = y.expand(-1, noise.shape[1], -1, noise.shape[2], -1)
            y, known = (each.clone(memory_format=torch.contiguous_format) for each in (y, known))
            known[:, :, self.reach :, :, 0] = 1  # what is drawn is, whether or not the truth is
        for start in range(size, n_steps, size):
            y[:, :, self.reach + start - size : self.reach + start, :, 0] = paths[-1].mT
            times = slice(start, start + self.reach + size)
            outputs = self._in_parts(y[:, :, times], known[:, :, times], masks)
            paths.append(self._drawn(outputs, noise[..., start : start + size], shared=False))
        return torch.cat(paths, -1)[..., :n_steps]

    def _in_parts(self, y: Tensor, known: Tensor, masks: Tensor | None) -> Tensor:
        """`_ahead` of (windows, paths, ...) and (windows, 1, ...), of few paths at a time."""
        n_windows, n_paths, _, n_members, _ = y.shape
        floats = ERRORS_AT_ONCE_GPU if y.is_cuda else ERRORS_AT_ONCE
        size = max(1, floats // (2 * self.is_before.size * n_members))
        n_parts = math.ceil(n_windows / max(1, size // n_paths)), math.ceil(n_paths / size)
        windows = zip(*(each.tensor_split(n_parts[0]) for each in (y, known)), strict=True)
        parts = [
            [self._ahead(part, its, n_members, masks) for part in own.tensor_split(n_parts[1], 1)]
            for own, its in windows
        ]
        return torch.cat([torch.cat(each, 1) for each in parts])

    def _drawn(self, outputs: Tensor, noise: Tensor, *, shared: bool) -> Tensor:
        """Outputs (..., members, horizon, 2) and noise (..., members, horizon) -> values.

        `shared`: the members forecast the same window, and are stretched around their mean.
        """
        if self.spread is None:
            return self.draw(outputs, noise)
        factors, cholesky = (
            torch.as_tensor(self.spread[name], dtype=noise.dtype, device=noise.device)
            for name in ("factors", "cholesky")
        )
        centre = outputs[..., 0]
        centre = centre.mean(-2, keepdim=True) if shared else centre
        return centre + factors * (self.draw(outputs, noise @ cholesky.T) - centre)


def _mixed(weights: Tensor, by_smoother: Tensor) -> Tensor:
    """(..., members, K) and (..., members or 1, K, horizon) -> (..., members, horizon)."""
    if by_smoother.shape[-3] == 1:  # one product for all members
        return weights @ by_smoother.squeeze(-3)
    return (weights.unsqueeze(-2) @ by_smoother).squeeze(-2)
