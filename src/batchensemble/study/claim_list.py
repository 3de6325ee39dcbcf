"""What the paper claims, in the words of `checks` and `limits`; a new claim is a new entry.

Claims that came without a rule are read so: "next" is the best of those left without the ones
claimed to come before; "like" and "tied" are overlapping intervals; "below" and "above" compare
two alone, and hold partly where the order is as claimed but intervals overlap; a range of
coverages is judged as several statements, one for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from batchensemble.study.ablations import ABLATIONS, ACKLEY
from batchensemble.study.checks import (
    Check,
    Statement,
    alike,
    among_best,
    beats,
    better_on_most,
    not_always_best,
    not_among_best,
    not_worse,
    ranking,
    tie,
)
from batchensemble.study.evidence import (
    ACCURACY,
    ALEATORIC,
    ALL,
    BE,
    BRIER,
    CHANGE,
    DE,
    ECE,
    EPISTEMIC,
    ID,
    MC,
    MISCALIBRATION,
    N_PARAMETERS,
    NLL,
    RMSCE,
    RMSE,
    SHIFT,
    TOTAL,
    Place,
    Quantity,
    S,
    area,
    kept,
)
from batchensemble.study.limits import (
    Faster,
    at_most,
    changes_within,
    covers,
    fewer,
    grows,
    increases_by,
    is_most_of_growth,
    similar,
    trend,
)


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    statements: tuple[Statement, ...]


CALIFORNIA, CALIFORNIA_SHIFT = Place("california", ID), Place("california", SHIFT)
DIABETES, DIABETES_SHIFT = Place("diabetes", ID), Place("diabetes", SHIFT)
ADULT, ADULT_SHIFT = Place("adult", ID), Place("adult", SHIFT)
CANCER, CANCER_SHIFT = Place("breast_cancer", ID), Place("breast_cancer", SHIFT)
PHONEME, PHONEME_SHIFT = Place("phoneme", ID), Place("phoneme", SHIFT)
ELECTRIC, TEMPERATURE = SERIES = Place("electric", ID), Place("temperature", ID)
IN_DISTRIBUTION = (ADULT, CANCER, PHONEME, CALIFORNIA, DIABETES, *SERIES)
SHIFTED = (ADULT_SHIFT, CANCER_SHIFT, PHONEME_SHIFT, CALIFORNIA_SHIFT, DIABETES_SHIFT)
PLACES = IN_DISTRIBUTION + SHIFTED
DATASETS = tuple(place.dataset for place in IN_DISTRIBUTION)
ACKLEY_REGRESSION, ACKLEY_CLASSES = (Place(name, ID) for name in ACKLEY)
CALIBRATION = (RMSCE, MISCALIBRATION)
NUMBERS, CLASSES = (RMSE, NLL, *CALIBRATION), (ACCURACY, NLL, BRIER, ECE)
DOUBTING = (BE, DE, MC)  # a single network has no epistemic uncertainty


def _calibration(place: Place, *claimed: str) -> tuple[Check, ...]:
    return tuple(tie(place, quantity, *claimed) for quantity in CALIBRATION)


def _selective_regression(places: Sequence[Place]) -> tuple[Check, ...]:
    """Both ensembles' curves rise, and lie below those of one network by area."""
    return tuple(
        check
        for place in places
        for ours in (BE, DE)
        for check in (
            trend(place, RMSE, ours, "rises"),
            *(beats(place, area(RMSE), ours, other) for other in (MC, S)),
        )
    )


def _low_and_middle(california: Place, diabetes: Place) -> tuple[Check, ...]:
    return (
        beats(california, kept(RMSE, 30, 65), DE, BE),
        tie(diabetes, kept(RMSE, 30, 35), BE),
        beats(diabetes, kept(RMSE, 45, 80), DE, BE),
    )


def _entrants(ablation: str) -> tuple[str, ...]:
    return tuple(variant.entrant for variant in ABLATIONS[ablation].variants)


def _everywhere(ablation: str) -> tuple[tuple[Place, Quantity], ...]:
    """All quantities that the paper shows, on all datasets of an ablation."""
    return tuple(
        (Place(dataset, ID), quantity)
        for dataset in ABLATIONS[ablation].datasets
        for quantity in (CLASSES if Place(dataset, ID) in (ADULT, CANCER, PHONEME) else NUMBERS)
    )


def _none_always_best(ablation: str) -> tuple[Check, ...]:
    """Of all variants but the plain ensemble."""
    where, among = _everywhere(ablation), _entrants(ablation)
    return tuple(not_always_best(where, who, among) for who in among if who != BE)


LAYERS = _entrants("layers")

CLAIMS: tuple[Claim, ...] = (
    # Headlines
    Claim(
        "C1",
        "BatchEnsemble has under 0.3 of the deep ensemble's parameters on every dataset",
        tuple(fewer(place, N_PARAMETERS, BE, DE, 0.3) for place in IN_DISTRIBUTION),
    ),
    Claim(
        "C2",
        "BatchEnsemble is nowhere worse than MC dropout in NLL, and better on most",
        (
            *(not_worse(place, NLL, BE, MC) for place in PLACES),
            better_on_most(PLACES, NLL, BE, MC),
        ),
    ),
    Claim(
        "C3",
        "BatchEnsemble matches or beats the deep ensemble in NLL everywhere",
        tuple(not_worse(place, NLL, BE, DE) for place in PLACES),
    ),
    Claim(
        "C4",
        "BatchEnsemble trains and predicts faster than a deep ensemble done one by one",
        (
            Faster(BE, "deep_ensemble one by one", DE, DATASETS),
            Faster(BE, DE, DE, DATASETS, note=" vectorised (does not count)", counts=False),
        ),
    ),
    # Regression, in distribution
    Claim(
        "C5",
        "RMSE: BatchEnsemble and deep ensemble tie on California, all four on Diabetes",
        (tie(CALIFORNIA, RMSE, BE, DE), tie(DIABETES, RMSE, *ALL)),
    ),
    Claim(
        "C6",
        "NLL: the deep ensemble leads before BatchEnsemble on California; all but single tie on "
        "Diabetes",
        (*ranking(CALIFORNIA, NLL, DE, BE), tie(DIABETES, NLL, BE, DE, MC)),
    ),
    Claim(
        "C7",
        "Calibration: single is best on California, BatchEnsemble and deep ensemble on Diabetes",
        (*_calibration(CALIFORNIA, S), *_calibration(DIABETES, BE, DE)),
    ),
    Claim(
        "C8",
        "All methods' intervals are too wide on California and too narrow on Diabetes",
        (
            *(covers(CALIFORNIA, who, "over") for who in ALL),
            *(covers(DIABETES, who, "under") for who in ALL),
        ),
    ),
    # Regression, shifted
    Claim(
        "C9",
        "California under shift: RMSE grows little for both ensembles, much for the others",
        (
            *(grows("california", RMSE, who, "at most", 2.5) for who in (BE, DE)),
            *(grows("california", RMSE, who, "at least", 3) for who in (MC, S)),
        ),
    ),
    Claim(
        "C10",
        "Diabetes under shift: all four tie in RMSE, which stays about the same",
        (
            tie(DIABETES_SHIFT, RMSE, *ALL),
            *(grows("diabetes", RMSE, who, "at most", 1.2) for who in ALL),
        ),
    ),
    Claim(
        "C11",
        "NLL under shift: the deep ensemble leads before BatchEnsemble on California; "
        "BatchEnsemble before deep ensemble and MC dropout on Diabetes",
        (*ranking(CALIFORNIA_SHIFT, NLL, DE, BE), *ranking(DIABETES_SHIFT, NLL, BE, (DE, MC))),
    ),
    Claim(
        "C12",
        "Calibration under shift: single is best on California; all but single tie on Diabetes",
        (*_calibration(CALIFORNIA_SHIFT, S), *_calibration(DIABETES_SHIFT, BE, DE, MC)),
    ),
    # Decomposition, regression
    Claim(
        "C13",
        "In distribution aleatoric uncertainty is alike; on California the ensembles' epistemic "
        "uncertainty is tiny, and below MC dropout's",
        (
            *(similar(place, ALEATORIC, 1.5) for place in (CALIFORNIA, DIABETES)),
            *(at_most(CALIFORNIA, EPISTEMIC, who, 0.005) for who in (BE, DE)),
            *(beats(CALIFORNIA, EPISTEMIC, who, MC, extreme="lowest") for who in (BE, DE)),
        ),
    ),
    Claim(
        "C14",
        "California under shift: epistemic uncertainty grows tenfold and makes most of the growth, "
        "most for the deep ensemble, then MC dropout, then BatchEnsemble",
        (
            *(grows("california", EPISTEMIC, who, "at least", 10) for who in DOUBTING),
            *(is_most_of_growth("california", EPISTEMIC, TOTAL, who) for who in DOUBTING),
            *ranking(CALIFORNIA_SHIFT, EPISTEMIC, DE, MC, among=DOUBTING, extreme="highest"),
        ),
    ),
    Claim(
        "C15",
        "Diabetes: no uncertainty changes by more than 0.005 under shift",
        tuple(
            changes_within("diabetes", quantity, who, 0.005)
            for quantity in (TOTAL, ALEATORIC, EPISTEMIC)
            for who in (DOUBTING if quantity is EPISTEMIC else ALL)
        ),
    ),
    # Selective prediction, regression
    Claim(
        "C16",
        "The ensembles' RMSE rises with coverage and lies below that of one network",
        _selective_regression((CALIFORNIA, DIABETES)),
    ),
    Claim(
        "C17",
        "The deep ensemble has lower RMSE than BatchEnsemble at low coverage on California and "
        "middle coverage on Diabetes, where BatchEnsemble is lowest at the lowest",
        _low_and_middle(CALIFORNIA, DIABETES),
    ),
    Claim(
        "C18",
        "The two claims before hold under shift too",
        (
            *_selective_regression((CALIFORNIA_SHIFT, DIABETES_SHIFT)),
            *_low_and_middle(CALIFORNIA_SHIFT, DIABETES_SHIFT),
        ),
    ),
    # Classification, in distribution
    Claim(
        "C19",
        "Accuracy: BatchEnsemble is best on Adult; all but the deep ensemble tie on Breast_cancer, "
        "all on Phoneme",
        (
            tie(ADULT, ACCURACY, BE),
            tie(CANCER, ACCURACY, BE, MC, S),
            tie(PHONEME, ACCURACY, *ALL),
        ),
    ),
    Claim(
        "C20",
        "NLL: BatchEnsemble is best on Adult; all but single tie on Breast_cancer, all on Phoneme",
        (tie(ADULT, NLL, BE), tie(CANCER, NLL, BE, DE, MC), tie(PHONEME, NLL, *ALL)),
    ),
    Claim(
        "C21",
        "Brier score: BatchEnsemble is best on Adult; all tie on Breast_cancer and Phoneme",
        (tie(ADULT, BRIER, BE), tie(CANCER, BRIER, *ALL), tie(PHONEME, BRIER, *ALL)),
    ),
    Claim(
        "C22",
        "ECE: the ensembles tie on Adult; all tie on Breast_cancer and Phoneme",
        (tie(ADULT, ECE, BE, DE), tie(CANCER, ECE, *ALL), tie(PHONEME, ECE, *ALL)),
    ),
    # Classification, shifted
    Claim(
        "C23",
        "Accuracy under shift: BatchEnsemble is best on Adult; all tie on Breast_cancer and "
        "Phoneme",
        (
            tie(ADULT_SHIFT, ACCURACY, BE),
            tie(CANCER_SHIFT, ACCURACY, *ALL),
            tie(PHONEME_SHIFT, ACCURACY, *ALL),
        ),
    ),
    Claim(
        "C24",
        "Adult under shift: BatchEnsemble, then deep ensemble, then MC dropout in NLL, Brier "
        "score and ECE",
        tuple(
            check
            for quantity in (NLL, BRIER, ECE)
            for check in ranking(ADULT_SHIFT, quantity, BE, DE, MC)
        ),
    ),
    Claim(
        "C25",
        "Breast_cancer under shift: BatchEnsemble is best in NLL; all tie in ECE, the ensembles in "
        "Brier score",
        (
            tie(CANCER_SHIFT, NLL, BE),
            tie(CANCER_SHIFT, ECE, *ALL),
            tie(CANCER_SHIFT, BRIER, BE, DE),
        ),
    ),
    Claim(
        "C26",
        "Phoneme under shift: the ensembles tie in ECE and Brier score",
        (tie(PHONEME_SHIFT, ECE, BE, DE), tie(PHONEME_SHIFT, BRIER, BE, DE)),
    ),
    # Decomposition, classification
    Claim(
        "C27",
        "Under shift epistemic uncertainty hardly changes on Adult and Breast_cancer, and "
        "increases on Phoneme",
        (
            *(
                changes_within(dataset, EPISTEMIC, who, 0.005)
                for dataset in ("adult", "breast_cancer")
                for who in DOUBTING
            ),
            *(increases_by("phoneme", EPISTEMIC, who, 0.01) for who in DOUBTING),
        ),
    ),
    Claim(
        "C28",
        "Epistemic uncertainty under shift: deep ensemble, MC dropout, BatchEnsemble on Adult; "
        "BatchEnsemble highest on Breast_cancer; MC dropout on Phoneme, where BatchEnsemble's "
        "increases most",
        (
            *ranking(ADULT_SHIFT, EPISTEMIC, DE, MC, among=DOUBTING, extreme="highest"),
            tie(CANCER_SHIFT, EPISTEMIC, BE, among=DOUBTING, extreme="highest"),
            tie(PHONEME_SHIFT, EPISTEMIC, MC, among=DOUBTING, extreme="highest"),
            tie(Place("phoneme", CHANGE), EPISTEMIC, BE, among=DOUBTING, extreme="highest"),
        ),
    ),
    # Selective prediction, classification
    Claim(
        "C29",
        "At every coverage BatchEnsemble is the most accurate on Adult before the deep ensemble; "
        "all tie on Breast_cancer and Phoneme",
        (
            *ranking(ADULT, kept(ACCURACY), BE, DE),
            tie(CANCER, kept(ACCURACY), *ALL),
            tie(PHONEME, kept(ACCURACY), *ALL),
        ),
    ),
    Claim(
        "C30",
        "The same under shift on Adult and Phoneme; on Breast_cancer BatchEnsemble is more "
        "accurate than the deep ensemble at 70 to 85 %",
        (
            *ranking(ADULT_SHIFT, kept(ACCURACY), BE, DE),
            tie(PHONEME_SHIFT, kept(ACCURACY), *ALL),
            beats(CANCER_SHIFT, kept(ACCURACY, 70, 85), BE, DE),
        ),
    ),
    # Series
    Claim(
        "C31",
        "RMSE on both series: BatchEnsemble, then deep ensemble; the others tie for the worst",
        tuple(
            check
            for place in SERIES
            for check in (
                *ranking(place, RMSE, BE, DE),
                tie(place, RMSE, MC, S, extreme="worst"),
            )
        ),
    ),
    Claim(
        "C32",
        "NLL: BatchEnsemble is best on both series; MC dropout is worst on Electric, and better "
        "than single on Temperature",
        (
            *(tie(place, NLL, BE) for place in SERIES),
            tie(ELECTRIC, NLL, MC, extreme="worst"),
            beats(TEMPERATURE, NLL, MC, S),
        ),
    ),
    Claim(
        "C33",
        "Calibration: on Electric BatchEnsemble is best by area and ties with single in RMSCE, MC "
        "dropout is like the deep ensemble; on Temperature the deep ensemble leads before "
        "BatchEnsemble, MC dropout is like single",
        (
            tie(ELECTRIC, MISCALIBRATION, BE),
            tie(ELECTRIC, RMSCE, BE, S),
            *(alike(ELECTRIC, quantity, DE, MC) for quantity in CALIBRATION),
            *(
                check
                for quantity in CALIBRATION
                for check in (
                    *ranking(TEMPERATURE, quantity, DE, BE),
                    alike(TEMPERATURE, quantity, MC, S),
                )
            ),
        ),
    ),
    Claim(
        "C34",
        "RMSE rises with coverage on both series, but falls for single on Temperature",
        (
            *(trend(place, RMSE, who, "rises") for place in SERIES for who in DOUBTING),
            trend(ELECTRIC, RMSE, S, "rises"),
            trend(TEMPERATURE, RMSE, S, "falls"),
        ),
    ),
    Claim(
        "C35",
        "Selective RMSE: on Electric BatchEnsemble is lowest from 60 % and ties with the deep "
        "ensemble below, MC dropout is highest; on Temperature BatchEnsemble is lowest, deep "
        "ensemble next",
        (
            tie(ELECTRIC, kept(RMSE, 60, 100), BE),
            tie(ELECTRIC, kept(RMSE, 30, 55), BE, DE),  # 60 % is in the range above
            tie(ELECTRIC, kept(RMSE), MC, extreme="worst"),
            *ranking(TEMPERATURE, kept(RMSE), BE, DE),
        ),
    ),
    # Ablations
    Claim(
        "C36",
        "Neither orthogonal first values nor a penalty beats random signs",
        tuple(
            among_best(place, quantity, BE, _entrants("init"))
            for place, quantity in _everywhere("init")
        ),
    ),
    Claim(
        "C37",
        "No reduced set of vectors is among the best everywhere",
        _none_always_best("adapters"),
    ),
    Claim(
        "C38",
        "No reduced set of gates is among the best everywhere",
        _none_always_best("gates"),
    ),
    Claim(
        "C39",
        "Members in all ten layers are best in error and NLL; in fewer than eight they are not",
        tuple(
            check
            for place, error in ((ACKLEY_REGRESSION, RMSE), (ACKLEY_CLASSES, ACCURACY))
            for quantity in (error, NLL)
            for check in (
                tie(place, quantity, LAYERS[-1], among=LAYERS),
                not_among_best(place, quantity, LAYERS[:7], LAYERS),
            )
        ),
    ),
)
