"""What a run is: a frozen value that determines its results."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from batchensemble.words import one_of

VARIANTS = ("id", "shift")


@dataclass(frozen=True)
class Settings:
    """How thoroughly runs are trained; the defaults are the paper's.

    most_rows      at most this many training rows
    most_windows   at most this many training windows, and as many test windows
    """

    epochs: int = 500
    most_rows: int | None = None
    most_windows: int | None = None


@dataclass(frozen=True)
class Change:
    """How a run differs from the main study; the defaults are the main study.

    bounded     whether the log-variance is bounded and gradients are clipped; False is the
                objective as the paper writes it
    matched     whether one network gets the parameter count of BatchEnsemble by wider layers
    budget      the method whose parameter count all networks together get, by narrower or wider
                layers, which may differ in width
    adapters    the vectors that each member has for itself: letters of "rsb"
    init        initialisation of r and s
    penalty     strength of the orthogonality penalty
    gates       the gates that have members: letters of "czf"
    last        how many of the last layers have members; None: all
    n_hidden    hidden layers of a table's network
    dropout     their dropout rate
    n_members   of the ensembles
    batching    how the members of a network see a batch
    bias        initialisation of biases: "zero", or "uniform" as torch.nn.Linear has them
    feedback    what a forecaster is fed while it is trained: the "mean" it predicts, or a "sample"
    lr          learning rate
    start       number of the initialisation, shuffling and dropout of a seed; its split stays
    """

    bounded: bool = True
    matched: bool = False
    adapters: str = "rsb"
    init: str = "random_sign"
    penalty: float = 0.0
    gates: str = "czf"
    last: int | None = None
    n_hidden: int = 2
    dropout: float = 0.1
    n_members: int = 10
    batching: str = "shared"
    budget: str = ""
    bias: str = "zero"
    feedback: str = "mean"
    lr: float = 0.005
    start: int = 0

    def __str__(self) -> str:
        """Only what is changed, such as "bounded=False"."""
        fields = dataclasses.fields(self)
        changed = [f.name for f in fields if getattr(self, f.name) != f.default]
        return ",".join(f"{name}={getattr(self, name)}" for name in changed)


PLAIN = Change()


@dataclass(frozen=True)
class Run:
    """One method on one variant of one dataset with one seed.

    data   a checksum of a user's dataset; built-in datasets are checked when they are loaded
    """

    dataset: str
    variant: str
    method: str
    seed: int
    settings: Settings = Settings()
    change: Change = PLAIN
    data: str = ""

    def __post_init__(self) -> None:
        one_of(self.variant, VARIANTS, "variant")
        for name in (self.dataset, self.method):
            if "/" in name or "\\" in name:
                raise ValueError(f"expected a name without slashes, got {name!r}: it names a file")

    @property
    def entrant(self) -> str:
        """The method and its changes, such as "single matched=True"."""
        return " ".join(filter(None, (self.method, str(self.change))))

    @property
    def name(self) -> str:
        """Folder and file of the result; settings are not part of it."""
        entrant = self.entrant.replace(" ", "-")
        return f"{self.dataset}-{self.variant}/{entrant}-seed{self.seed}"

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> "Run":
        settings, change = Settings(**value["settings"]), Change(**value["change"])
        return cls(**{**value, "settings": settings, "change": change})


@dataclass(frozen=True)
class Unit:
    """Runs that are trained together as one bank: all seeds of methods that train alike.

    Its changes give networks of one shape that train alike, except for the penalty. A unit does not
    depend on which runs are done, so that an interruption does not change a run's numbers.
    """

    dataset: str
    variant: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: Settings
    changes: tuple[Change, ...] = (PLAIN,)
    data: str = ""

    @property
    def runs(self) -> list[Run]:
        return [
            Run(self.dataset, self.variant, method, seed, self.settings, change, self.data)
            for change in self.changes
            for method in self.methods
            for seed in self.seeds
        ]


def units_of(
    dataset: str,
    variant: str,
    methods: tuple[str, ...],
    n_seeds: int,
    settings: Settings,
    changes: Sequence[Change] = (PLAIN,),
    data: str = "",
) -> list[Unit]:
    """The units of these methods; MC dropout trains the single network and differs in predicting.

    The main study's method is always a unit of its own, which ablations share.
    """
    alike: dict[str, list[str]] = {}
    for method in methods:
        alike.setdefault("single" if method == "mc_dropout" else method, []).append(method)
    groups: dict[tuple[bool, Change], list[Change]] = {}
    for change in dict.fromkeys(changes):
        same_shape = dataclasses.replace(change, init=PLAIN.init, penalty=PLAIN.penalty)
        groups.setdefault((change == PLAIN, same_shape), []).append(change)
    seeds = tuple(range(n_seeds))
    return [
        Unit(dataset, variant, tuple(words), seeds, settings, tuple(group), data)
        for group in groups.values()
        for words in alike.values()
    ]
