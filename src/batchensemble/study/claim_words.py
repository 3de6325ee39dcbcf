"""The words that claims are written in: quantities, and short forms of statements."""

from typing import Literal

from batchensemble.study.ablations import ABLATIONS
from batchensemble.study.limits import Bound
from batchensemble.study.results import CHANGE, ID, SHIFT, Place, Quantity
from batchensemble.study.statements import ALL, BE, DE, MC, Best, Extreme, Reading, S, Statement
from batchensemble.study.tidy import AREA, points

RMSE = Quantity("RMSE", ("rmse",))
NLL = Quantity("NLL", ("nll",))
ACCURACY = Quantity("accuracy", ("accuracy",), up=True)
BRIER = Quantity("Brier score", ("brier",))
ECE = Quantity("ECE", ("ece",))
RMSCE = Quantity("RMSCE", ("rmsce",))
MISCALIBRATION = Quantity("miscalibration area", ("miscalibration_area",))
CALIBRATION = (RMSCE, MISCALIBRATION)
TOTAL, ALEATORIC, EPISTEMIC = (
    Quantity(f"{part} uncertainty", (part,)) for part in ("total", "aleatoric", "epistemic")
)
N_PARAMETERS = Quantity("parameters", ("n_parameters",))
COVERED = Quantity("empirical coverage", points("coverage"))
SELECTIVE_RMSE = Quantity("RMSE", points("selective"))
RMSE_AREA = Quantity("area under the curve of RMSE by coverage", (AREA,))
NUMBERS, CLASSES = (RMSE, NLL, *CALIBRATION), (ACCURACY, NLL, BRIER, ECE)

TABLES = ("adult", "breast_cancer", "phoneme", "california", "diabetes")
SERIES = ("electric", "temperature")
PLACES = (*(f"{name} id" for name in (*TABLES, *SERIES)), *(f"{name} shift" for name in TABLES))
DOUBTING = (BE, DE, MC)  # a single network has no epistemic uncertainty


def at(place: str) -> Place:
    dataset, _, variant = place.partition(" ")
    return Place(dataset, variant)


def kept(of: Quantity, low: int = 30, high: int = 100) -> Quantity:
    """The selective curve of RMSE or accuracy, from `low` to `high` per cent of rows kept."""
    name = f"{of.name} at every coverage from {low} to {high} %"
    return Quantity(name, points("selective", low, high), of.up)


def best(
    place: str,
    quantity: Quantity,
    *claimed: str,
    among: tuple[str, ...] = ALL,
    rule: Literal["is", "beats", "in", "out"] = "is",
    extreme: Extreme = "best",
) -> Best:
    return Best(((at(place), quantity),), claimed, among, rule, extreme)


def sets(quantity: Quantity, variant: str = ID, **claimed: tuple[str, ...]) -> tuple[Best, ...]:
    """The best set on each dataset."""
    return tuple(best(f"{name} {variant}", quantity, *who) for name, who in claimed.items())


def beats(place: str, quantity: Quantity, ours: str, other: str, extreme: Extreme = "best") -> Best:
    return best(place, quantity, ours, among=(ours, other), rule="beats", extreme=extreme)


def ranking(
    place: str,
    quantity: Quantity,
    *groups: str | tuple[str, ...],
    among: tuple[str, ...] = ALL,
    extreme: Extreme = "best",
) -> tuple[Best, ...]:
    """The first is best, the second next, and so on, each a statement of its own.

    Next is the best set among those left after taking away all that are claimed to come before.
    """
    statements, left = [], among
    for group in groups:
        claimed = (group,) if isinstance(group, str) else group
        statements.append(best(place, quantity, *claimed, among=left, extreme=extreme))
        left = tuple(who for who in left if who not in claimed)
    return tuple(statements)


def calibrated(place: str, *claimed: str) -> tuple[Best, ...]:
    return tuple(best(place, quantity, *claimed) for quantity in CALIBRATION)


def mean(place: str, quantity: Quantity, who: str, sign: str, limit: float) -> Bound:
    return Bound((Reading(at(place), who, quantity),), "mean", sign, limit)


def grows(dataset: str, quantity: Quantity, who: str, sign: str, limit: float) -> Bound:
    """The mean under shift over the mean in distribution."""
    both = (Reading(Place(dataset, variant), who, quantity) for variant in (SHIFT, ID))
    return Bound(tuple(both), "ratio", sign, limit)


def growth(dataset: str, part: Quantity, whole: Quantity, who: str) -> Bound:
    """The whole grows under shift, and over half of that is the part's growth."""
    both = (Reading(Place(dataset, CHANGE), who, quantity) for quantity in (part, whole))
    return Bound(tuple(both), "share", "over", 0.5)


def trend(place: str, who: str, *, rises: bool = True) -> Bound:
    """RMSE rises, or falls, with the share of rows kept."""
    reading = (Reading(at(place), who, SELECTIVE_RMSE),)
    return Bound(reading, "spearman", *(("at least", 0.9) if rises else ("at most", -0.9)))


def covers(place: str, who: str, side: Literal["above", "below"]) -> Bound:
    """Intervals are too wide, or too narrow."""
    return Bound((Reading(at(place), who, COVERED),), side, "at least", 0.9)


def selective_regression(*places: str) -> tuple[Statement, ...]:
    """Both ensembles' curves rise, and lie below those of one network by area."""
    return tuple(
        statement
        for place in places
        for ours in (BE, DE)
        for statement in (
            trend(place, ours),
            *(beats(place, RMSE_AREA, ours, other) for other in (MC, S)),
        )
    )


def low_and_middle(variant: str) -> tuple[Statement, ...]:
    return (
        beats(f"california {variant}", kept(RMSE, 30, 65), DE, BE),
        best(f"diabetes {variant}", kept(RMSE, 30, 35), BE),
        beats(f"diabetes {variant}", kept(RMSE, 45, 80), DE, BE),
    )


def entrants(ablation: str) -> tuple[str, ...]:
    return tuple(variant.entrant for variant in ABLATIONS[ablation].variants)


def everywhere(ablation: str) -> tuple[tuple[Place, Quantity], ...]:
    """All quantities that the paper shows, on all datasets of an ablation."""
    return tuple(
        (Place(dataset, ID), quantity)
        for dataset in ABLATIONS[ablation].datasets
        for quantity in (CLASSES if dataset in TABLES[:3] else NUMBERS)
    )


def none_always_best(ablation: str) -> tuple[Best, ...]:
    """Each variant but the plain ensemble is outside the best set somewhere."""
    where, among = everywhere(ablation), entrants(ablation)
    return tuple(Best(where, (who,), among, "out", count="some") for who in among if who != BE)
