"""How a training went."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class History:
    """Losses and held-out scores, a row for each epoch and a column for each network."""

    losses: list[list[float]] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)
    best_epochs: list[int] = field(default_factory=list)
    ended: str = "epochs"  # or "patience", "time_limit", "interrupt"
    seconds: float = 0.0

    def of(self, networks: slice, ends: Sequence[tuple[int, str]]) -> "History":
        """That of some networks of a bank, while they learned; time is shared out evenly."""
        n_epochs, ended = len(self.losses), self.ended
        if ended == "epochs":  # and nobody cut it short
            n_epochs = max(n for n, _ in ends[networks])
            ended = min(why for _, why in ends[networks])  # "epochs" before "patience"
        return History(
            losses=[row[networks] for row in self.losses[:n_epochs]],
            scores=[row[networks] for row in self.scores[:n_epochs]],
            best_epochs=self.best_epochs[networks],
            ended=ended,
            seconds=self.seconds * len(ends[networks]) / len(ends),
        )
