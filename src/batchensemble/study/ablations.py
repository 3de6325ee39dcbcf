"""Is all of BatchEnsemble needed? Each question is a list of changes, and where they are tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.results import Study
from batchensemble.study.spec import PLAIN, Change, Run, Settings, Unit, units_of

METHOD = "batch_ensemble"
TABLES = ("california", "diabetes", "adult", "breast_cancer", "phoneme")
SERIES = ("electric", "temperature")
ACKLEY = ("ackley_regression", "ackley_classification")
OURS = ("california", "diabetes", "phoneme")
DEPTH = 10


@dataclass(frozen=True)
class Variant:
    """A change, its name on the axis, and the line of a figure that it is a point of."""

    label: str
    change: Change
    line: str = ""

    @property
    def entrant(self) -> str:
        return Run("", "id", METHOD, 0, change=self.change).entrant

    @property
    def name(self) -> str:
        """With its line."""
        return ", ".join(filter(None, (self.line, self.label)))


VariantMean = tuple[Variant, MeanSE]


def plain_of(means: Sequence[VariantMean]) -> MeanSE | None:
    """The ensemble of the main study, if it is among them."""
    return next((cell for variant, cell in means if variant.change == PLAIN), None)


@dataclass(frozen=True)
class Ablation:
    """figures      their names by task; each shows the datasets of that task
    is_ordered   whether its variants are steps on a scale
    claim        of the paper about it
    is_extra     whether it goes beyond the paper, and is run only if named
    shows_seeds  whether figures have a dot for each seed: where means hide what happened
    caption      further words of its figures
    """

    question: str
    axis: str
    datasets: tuple[str, ...]
    variants: tuple[Variant, ...]
    figures: dict[str, str]
    is_ordered: bool = False
    claim: str = ""
    is_extra: bool = False
    shows_seeds: bool = False
    caption: str = ""

    def units(self, datasets: Sequence[str], n_seeds: int, settings: Settings) -> list[Unit]:
        changes = [variant.change for variant in self.variants]
        return [
            unit
            for dataset in self.datasets
            if dataset in datasets
            for unit in units_of(dataset, "id", (METHOD,), n_seeds, settings, changes)
        ]

    def means(self, study: Study, dataset: str, quantity: str) -> list[VariantMean]:
        """The variants that have the quantity on the dataset, with their mean."""
        means = study.means((dataset, "id"), quantity, (v.entrant for v in self.variants))
        return [(v, means[v.entrant]) for v in self.variants if v.entrant in means]

    def diverged(self, study: Study, dataset: str) -> list[Variant]:
        """Variants of which no network survived its training."""
        survived = {variant for variant, _ in self.means(study, dataset, "nll")}
        diverged = self.means(study, dataset, "diverged")
        return [variant for variant, _ in diverged if variant not in survived]

    def present(self, study: Study, task: str = "") -> list[str]:
        """Datasets, of a task or all, with several variants, and several lines if there are any."""
        tasks, lines = study.tasks(), {variant.line for variant in self.variants}

        def is_there(dataset: str) -> bool:
            found = [variant for variant, _ in self.means(study, dataset, "nll")]
            found += self.diverged(study, dataset)
            return len(found) > 1 and len({v.line for v in found}) >= min(2, len(lines))

        return [
            dataset
            for dataset in self.datasets
            if task in ("", tasks.get(dataset)) and is_there(dataset)
        ]


def subsets(letters: str) -> list[str]:
    """All non-empty ones, the whole word last."""
    kept = product((False, True), repeat=len(letters))
    words = ("".join(c for c, k in zip(letters, own, strict=True) if k) for own in kept)
    return sorted(filter(None, words), key=lambda word: (len(word), letters.index(word[0])))


REG, CLF, FORECAST = "regression", "classification", "forecasting"
ABLATIONS = {
    "adapters": Ablation(
        "Does a member need all three of its vectors?",
        "vectors that members own",
        TABLES,
        tuple(Variant(word, Change(adapters=word)) for word in subsets("rsb")),
        {REG: "adapter_reg", CLF: "adapter_clf"},
        claim="C37",
    ),
    "init": Ablation(
        "Does it help if members start or stay orthogonal?",
        "strength of the penalty",
        TABLES,
        tuple(
            Variant(f"{penalty:g}", Change(init=init, penalty=penalty), init.replace("_", " "))
            for init, penalty in product(("random_sign", "orthogonal"), (0.0, 0.01, 0.1, 1.0))
        ),
        {REG: "init_reg", CLF: "init_clf"},
        is_ordered=True,
        claim="C36",
    ),
    "gates": Ablation(
        "Do all gates need members?",
        "gates that have members",
        SERIES,
        tuple(Variant(word.upper(), Change(gates=word)) for word in subsets("czf")),
        {FORECAST: "gru_gates"},
        claim="C38",
    ),
    "layers": Ablation(
        "Do all layers need members?",
        "last layers that have members, of ten",
        ACKLEY,
        tuple(
            Variant(str(n), Change(last=n, n_hidden=DEPTH - 1, dropout=0.0))
            for n in range(1, DEPTH + 1)
        ),
        {REG: "layers_reg", CLF: "layers_clf"},
        is_ordered=True,
        claim="C39",
        shows_seeds=True,
        caption="Small dots are seeds; accuracy near 0.5 is a network that never learned.",
    ),
    "members": Ablation(
        "How many members are enough?",
        "members",
        OURS,
        tuple(Variant(str(n), Change(n_members=n)) for n in (1, 2, 4, 8, 16, 32)),
        {REG: "members_reg", CLF: "members_clf"},
        is_ordered=True,
    ),
    "batching": Ablation(
        "Should members see the same rows?",
        "how members see a batch",
        OURS,
        tuple(Variant(word, Change(batching=word)) for word in ("shared", "independent", "split")),
        {REG: "batching_reg", CLF: "batching_clf"},
    ),
    "first_values": Ablation(
        "How should members start?",
        "initialisation of r and s",
        OURS,
        tuple(
            Variant(word.replace("_", " "), Change(init=word))
            for word in ("ones", "random_sign", "normal")
        ),
        {REG: "first_values_reg", CLF: "first_values_clf"},
    ),
    "bounds": Ablation(
        "Does a bounded log-variance help?",
        "log-variance",
        ("california", "diabetes"),
        (Variant("bounded", PLAIN), Variant("as written", Change(bounded=False))),
        {REG: "bounds_reg"},
    ),
    # A network of ten ReLU layers seldom leaves the constant answer at the paper's learning rate:
    # these readings of its classification might.
    "ackley": Ablation(
        "Which reading of the Ackley classification trains?",
        "last layers that have members, of ten",
        ("ackley_classification",),
        tuple(
            Variant(
                str(n),
                Change(last=n, n_hidden=DEPTH - 1, dropout=0.0, lr=lr, bias=bias),
                words,
            )
            for words, lr, bias in (
                ("as published", 0.005, "zero"),
                ("uniform biases", 0.005, "uniform"),
                ("learning rate 0.001", 0.001, "zero"),
                ("both", 0.001, "uniform"),
            )
            for n in (1, 4, 7, 8, 9, 10)
        ),
        {CLF: "ackley_readings"},
        is_extra=True,
        shows_seeds=True,
        caption="Small dots are seeds; accuracy near 0.5 is a network that never learned.",
    ),
}
