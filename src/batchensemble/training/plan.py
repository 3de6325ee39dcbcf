"""What the steps of an epoch see: every network's shuffling, padding, dropout keys and noise."""

from collections.abc import Iterator, Sequence

import torch
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Source, Steps, Windows

BATCHING = ("shared", "independent", "split")
NOISE_BYTES, STEPS_AT_ONCE, WINDOW_STEPS_AT_ONCE = 2**24, 256, 16
MULTIPLICATIONS_AT_ONCE = 2**30  # on a CPU, about a second


class Plan:
    """Cuts an epoch of a bank into steps.

    `batching` says how the members of a network see a batch: "shared" (all see the same rows),
    "independent" (each has its own shuffling) or "split" (each sees its share). `batch_size` is one
    for all networks, or one for each. `epoch_steps` is how many steps an epoch has, with rows
    shuffled anew whenever they run out; None: so many that every row is seen once.
    """

    def __init__(
        self,
        bank: Bank,
        data: Source,
        rows: Sequence[Tensor],
        generators: Sequence[Generator],
        *,
        batch_size: int | Sequence[int],
        batching: str = "shared",
        epoch_steps: int | None = None,
    ) -> None:
        self.data, self.generators = data, generators
        self.device = data.device
        self.module = bank.module
        n_members = self.module.n_members
        lengths = list(map(len, rows))
        asked = [batch_size] * len(rows) if isinstance(batch_size, int) else batch_size
        batches = [min(batch, max(lengths)) for batch in asked]
        if batching == "split":
            batches = [-(-batch // n_members) for batch in batches]
        self.batch = max(batches)
        # How many members see different rows, and how many shufflings these are taken from.
        self.width = 1 if batching == "shared" else n_members
        self.shufflings = n_members if batching == "independent" else 1
        own_rows = [batch * self.width // self.shufflings for batch in batches]
        self.rows_a_step = max(own_rows)
        by_network = zip(lengths, own_rows, strict=True)
        self.network_steps = [epoch_steps or -(-length // own) for length, own in by_network]
        self.n_steps = max(self.network_steps)
        self.lengths = torch.tensor(lengths, device=self.device)
        # How many places of a network hold rows: with `epoch_steps` all of them.
        own = torch.tensor(own_rows, device=self.device)
        self.filled = own * epoch_steps if epoch_steps else self.lengths
        # A network is padded with its first row, at weight 0.
        longest = max(self._n_places, *lengths)
        padded = [torch.cat([each, each[:1].expand(longest - len(each))]) for each in rows]
        self.rows = torch.stack(padded).to(self.device)
        places = torch.arange(self._n_places, device=self.device)
        self.real = places < self.filled.unsqueeze(1)
        # Of a network with smaller batches, the last places of each step are padding.
        self.places: Tensor | None = None
        if min(own_rows) < self.rows_a_step:
            step, place = places // self.rows_a_step, places % self.rows_a_step
            self.places = step * own.unsqueeze(1) + place
            self.real = (place < own.unsqueeze(1)) & (self.places < self.filled.unsqueeze(1))
        self.multiplications = bank.n_parameters * self.batch * n_members
        bytes_a_step = 4 * len(rows) * self.batch * n_members * self.module.noise_features
        self.segment = min(STEPS_AT_ONCE, max(1, NOISE_BYTES // max(1, bytes_a_step)))
        if self.device.type == "cpu":
            at_once = max(1, MULTIPLICATIONS_AT_ONCE // self.multiplications)
            self.segment = min(self.segment, at_once)
        if epoch_steps and isinstance(data, Windows):  # of which steps take long
            self.segment = min(self.segment, WINDOW_STEPS_AT_ONCE)

    @property
    def _n_places(self) -> int:
        """Places in a shuffling of the network with the most rows."""
        return self.n_steps * self.rows_a_step

    def epoch(self, active: Sequence[bool]) -> Iterator[Steps]:
        """The steps of one epoch, in parts short enough to check the time limit between them."""
        rows = self._shuffled(active)
        real = self.real & torch.tensor(active, device=self.device).unsqueeze(1)
        real = real.unsqueeze(2).expand(rows.shape)
        rows, real = self._by_step(rows), self._by_step(real)
        weights = real.to(self.data.dtype)
        share = weights.sum((2, 3), keepdim=True) * (self.module.n_members / self.width)
        weights = weights / share.clamp(min=1)
        if self.data.weight is not None:
            weights = weights * self.data.weight[rows]
        keys = self._keys(active) if self.module.mask_features else None
        for start in range(0, self.n_steps, self.segment):
            part = slice(start, start + self.segment)
            noise = self._noise(range(self.n_steps)[part], active)
            yield Steps(rows[part], weights[part], None if keys is None else keys[part], noise)

    def _shuffled(self, active: Sequence[bool]) -> Tensor:
        """Each network's rows in its own order, padded: (networks, places, shufflings)."""
        order = torch.arange(self._n_places, device=self.device)
        order = order.repeat(len(self.rows), self.shufflings, 1)
        all_filled = iter(self.filled.tolist())
        for orders, n_rows, generator, goes_on in self._networks(order, self.lengths, active):
            n_filled = next(all_filled)
            for shuffling in orders if goes_on else ():
                for places in shuffling[:n_filled].split(n_rows):
                    shuffled = torch.randperm(n_rows, generator=generator, device=self.device)
                    places.copy_(shuffled[: len(places)])
        if self.places is not None:
            order = order.gather(2, self.places.unsqueeze(1).expand(order.shape))
        rows = self.rows.unsqueeze(1).expand(-1, self.shufflings, -1)
        return rows.gather(2, order).transpose(1, 2)

    def _by_step(self, tensor: Tensor) -> Tensor:
        """(networks, places, shufflings) -> (steps, networks, batch, members or 1)."""
        return tensor.reshape(-1, self.n_steps, self.batch, self.width).transpose(0, 1).contiguous()

    def _keys(self, active: Sequence[bool]) -> Tensor:
        """Of the dropout masks, (steps, networks), zeros for networks that rest."""
        keys = torch.zeros(len(self.rows), self.n_steps, dtype=torch.int32, device=self.device)
        for row, n_steps, generator, goes_on in self._networks(keys, self.network_steps, active):
            if goes_on:
                row[:n_steps].random_(-(2**31), 2**31, generator=generator)
        return keys.T.contiguous()

    def _noise(self, steps: Sequence[int], active: Sequence[bool]) -> Tensor | None:
        """Standard normal, for networks that need it; step by step, so that no cut changes it."""
        if not self.module.noise_features:
            return None
        shape = (self.batch, self.module.n_members, self.module.noise_features)
        size = (len(self.rows), len(steps), *shape)
        noise = torch.zeros(size, dtype=self.data.dtype, device=self.device)
        for by_step, n_steps, generator, goes_on in self._networks(
            noise, self.network_steps, active
        ):
            for i, step in enumerate(steps):
                if goes_on and step < n_steps:
                    by_step[i].normal_(generator=generator)
        return noise.transpose(0, 1).contiguous()

    def _networks(
        self, tensor: Tensor, counts: Sequence[int] | Tensor, active: Sequence[bool]
    ) -> Iterator[tuple[Tensor, int, Generator, bool]]:
        counts = counts.tolist() if isinstance(counts, Tensor) else counts
        return zip(tensor, counts, self.generators, active, strict=True)

    def epoch_means(self, losses: Tensor) -> list[float]:
        """Each network's mean loss over its own steps: (steps, networks) -> (networks).

        There are fewer steps where the time limit ended the epoch.
        """
        n_steps = torch.tensor(self.network_steps, device=losses.device).clamp(max=len(losses))
        steps = torch.arange(len(losses), device=losses.device)
        sums = torch.where(steps.unsqueeze(1) < n_steps, losses, 0).sum(0)
        means: list[float] = (sums / n_steps).tolist()
        return means
