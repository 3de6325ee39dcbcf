"""What a run is: a frozen value that says all that decides its numbers."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from batchensemble.words import one_of

VARIANTS = ("id", "shift")


@dataclass(frozen=True)
class Settings:
    """How runs are trained and judged; whatever is not said here is the paper's.

    most_rows, most_windows   at most so many training rows, or training and test windows
    bounded                   whether the log-variance is bounded and gradients are clipped; False
                              is the objective as written
    """

    epochs: int = 500
    most_rows: int | None = None
    most_windows: int | None = None
    bounded: bool = True


@dataclass(frozen=True)
class Run:
    """One method on one variant of one dataset with one seed."""

    dataset: str
    variant: str
    method: str
    seed: int
    settings: Settings = Settings()

    def __post_init__(self) -> None:
        one_of(self.variant, VARIANTS, "variant")

    @property
    def name(self) -> str:
        """A folder and a file: the same for the same run under other settings."""
        return f"{self.dataset}-{self.variant}/{self.method}-seed{self.seed}"

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> "Run":
        return cls(**{**value, "settings": Settings(**value["settings"])})


@dataclass(frozen=True)
class Unit:
    """Runs that are trained together as one bank: all seeds of what trains alike.

    A unit is the same whatever has been done before, so that a run's numbers do not depend on when
    it was interrupted.
    """

    dataset: str
    variant: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: Settings

    @property
    def runs(self) -> list[Run]:
        return [
            Run(self.dataset, self.variant, method, seed, self.settings)
            for method in self.methods
            for seed in self.seeds
        ]


def units_of(
    dataset: str, variant: str, methods: tuple[str, ...], n_seeds: int, settings: Settings
) -> list[Unit]:
    """The units of these methods; MC dropout is the single network, told apart at prediction."""
    alike: dict[str, list[str]] = {}
    for method in methods:
        alike.setdefault("single" if method == "mc_dropout" else method, []).append(method)
    seeds = tuple(range(n_seeds))
    return [Unit(dataset, variant, tuple(words), seeds, settings) for words in alike.values()]
