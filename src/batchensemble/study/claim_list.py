"""What the paper claims; a new claim is a new entry.

Claims that came without a rule are read so: "next" is the best of those left without the ones
claimed to come before; "like" and "tied" are overlapping intervals; "below" and "above" compare
two alone, and hold partly where the order is as claimed but intervals overlap; a range of
coverages is judged as several statements, one for each.
"""

from dataclasses import dataclass

from batchensemble.study.claim_words import (
    ACCURACY,
    ALEATORIC,
    BRIER,
    CALIBRATION,
    DOUBTING,
    ECE,
    EPISTEMIC,
    MISCALIBRATION,
    N_PARAMETERS,
    NLL,
    PLACES,
    RMSCE,
    RMSE,
    SERIES,
    TABLES,
    TOTAL,
    at,
    beats,
    best,
    calibrated,
    covers,
    entrants,
    everywhere,
    grows,
    growth,
    kept,
    low_and_middle,
    mean,
    none_always_best,
    ranking,
    selective_regression,
    sets,
    trend,
)
from batchensemble.study.faster import Faster
from batchensemble.study.limits import Bound
from batchensemble.study.results import ID, SHIFT, Place
from batchensemble.study.statements import ALL, BE, DE, MC, Best, Reading, S, Statement


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    statements: tuple[Statement, ...]


LAYERS = entrants("layers")

CLAIMS: tuple[Claim, ...] = (
    # Headlines
    Claim(
        "C1",
        "BatchEnsemble has under 0.3 of the deep ensemble's parameters on every dataset",
        tuple(
            Bound(
                tuple(Reading(Place(dataset, ID), who, N_PARAMETERS) for who in (BE, DE)),
                "ratio",
                "under",
                0.3,
            )
            for dataset in (*TABLES, *SERIES)
        ),
    ),
    Claim(
        "C2",
        "BatchEnsemble is nowhere worse than MC dropout in NLL, and better on most",
        (
            *(best(place, NLL, BE, among=(BE, MC), rule="in") for place in PLACES),
            Best(tuple((at(place), NLL) for place in PLACES), (BE,), (BE, MC), count="most"),
        ),
    ),
    Claim(
        "C3",
        "BatchEnsemble matches or beats the deep ensemble in NLL everywhere",
        tuple(best(place, NLL, BE, among=(BE, DE), rule="in") for place in PLACES),
    ),
    Claim(
        "C4",
        "BatchEnsemble trains and predicts faster than a deep ensemble trained one by one",
        (
            Faster(BE, "deep_ensemble one by one", DE, (*TABLES, *SERIES)),
            Faster(
                BE, DE, DE, (*TABLES, *SERIES), note=" vectorised (does not count)", counts=False
            ),
        ),
    ),
    # Regression, in distribution
    Claim(
        "C5",
        "RMSE: BatchEnsemble and deep ensemble tie on California, all four on Diabetes",
        sets(RMSE, california=(BE, DE), diabetes=ALL),
    ),
    Claim(
        "C6",
        "NLL: the deep ensemble leads before BatchEnsemble on California; all but single tie on "
        "Diabetes",
        (*ranking("california id", NLL, DE, BE), *sets(NLL, diabetes=(BE, DE, MC))),
    ),
    Claim(
        "C7",
        "Calibration: single is best on California, BatchEnsemble and deep ensemble on Diabetes",
        (*calibrated("california id", S), *calibrated("diabetes id", BE, DE)),
    ),
    Claim(
        "C8",
        "All methods' intervals are too wide on California and too narrow on Diabetes",
        (
            *(covers("california id", who, "above") for who in ALL),
            *(covers("diabetes id", who, "below") for who in ALL),
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
            *sets(RMSE, SHIFT, diabetes=ALL),
            *(grows("diabetes", RMSE, who, "at most", 1.2) for who in ALL),
        ),
    ),
    Claim(
        "C11",
        "NLL under shift: the deep ensemble leads before BatchEnsemble on California; "
        "BatchEnsemble before deep ensemble and MC dropout on Diabetes",
        (*ranking("california shift", NLL, DE, BE), *ranking("diabetes shift", NLL, BE, (DE, MC))),
    ),
    Claim(
        "C12",
        "Calibration under shift: single is best on California; all but single tie on Diabetes",
        (*calibrated("california shift", S), *calibrated("diabetes shift", BE, DE, MC)),
    ),
    # Decomposition, regression
    Claim(
        "C13",
        "In distribution aleatoric uncertainty is alike; on California the ensembles' epistemic "
        "uncertainty is tiny, and below MC dropout's",
        (
            *(
                Bound(
                    tuple(Reading(Place(dataset, ID), who, ALEATORIC) for who in ALL),
                    "spread",
                    "at most",
                    1.5,
                )
                for dataset in ("california", "diabetes")
            ),
            *(mean("california id", EPISTEMIC, who, "at most", 0.005) for who in (BE, DE)),
            *(beats("california id", EPISTEMIC, who, MC, extreme="lowest") for who in (BE, DE)),
        ),
    ),
    Claim(
        "C14",
        "California under shift: epistemic uncertainty grows tenfold and makes most of the growth, "
        "most for the deep ensemble, then MC dropout, then BatchEnsemble",
        (
            *(grows("california", EPISTEMIC, who, "at least", 10) for who in DOUBTING),
            *(growth("california", EPISTEMIC, TOTAL, who) for who in DOUBTING),
            *ranking("california shift", EPISTEMIC, DE, MC, among=DOUBTING, extreme="highest"),
        ),
    ),
    Claim(
        "C15",
        "Diabetes: no uncertainty changes by more than 0.005 under shift",
        tuple(
            mean("diabetes shift - id", quantity, who, "within", 0.005)
            for quantity in (TOTAL, ALEATORIC, EPISTEMIC)
            for who in (DOUBTING if quantity is EPISTEMIC else ALL)
        ),
    ),
    # Selective prediction, regression
    Claim(
        "C16",
        "The ensembles' RMSE rises with coverage and lies below that of one network",
        selective_regression("california id", "diabetes id"),
    ),
    Claim(
        "C17",
        "The deep ensemble has lower RMSE than BatchEnsemble at low coverage on California and "
        "middle coverage on Diabetes, where BatchEnsemble is lowest at the lowest",
        low_and_middle(ID),
    ),
    Claim(
        "C18",
        "The two claims before hold under shift too",
        (
            *selective_regression("california shift", "diabetes shift"),
            *low_and_middle(SHIFT),
        ),
    ),
    # Classification, in distribution
    Claim(
        "C19",
        "Accuracy: BatchEnsemble is best on Adult; all but the deep ensemble tie on Breast_cancer, "
        "all on Phoneme",
        sets(ACCURACY, adult=(BE,), breast_cancer=(BE, MC, S), phoneme=ALL),
    ),
    Claim(
        "C20",
        "NLL: BatchEnsemble is best on Adult; all but single tie on Breast_cancer, all on Phoneme",
        sets(NLL, adult=(BE,), breast_cancer=(BE, DE, MC), phoneme=ALL),
    ),
    Claim(
        "C21",
        "Brier score: BatchEnsemble is best on Adult; all tie on Breast_cancer and Phoneme",
        sets(BRIER, adult=(BE,), breast_cancer=ALL, phoneme=ALL),
    ),
    Claim(
        "C22",
        "ECE: the ensembles tie on Adult; all tie on Breast_cancer and Phoneme",
        sets(ECE, adult=(BE, DE), breast_cancer=ALL, phoneme=ALL),
    ),
    # Classification, shifted
    Claim(
        "C23",
        "Accuracy under shift: BatchEnsemble is best on Adult; all tie on Breast_cancer and "
        "Phoneme",
        sets(ACCURACY, SHIFT, adult=(BE,), breast_cancer=ALL, phoneme=ALL),
    ),
    Claim(
        "C24",
        "Adult under shift: BatchEnsemble, then deep ensemble, then MC dropout in NLL, Brier "
        "score and ECE",
        tuple(
            statement
            for quantity in (NLL, BRIER, ECE)
            for statement in ranking("adult shift", quantity, BE, DE, MC)
        ),
    ),
    Claim(
        "C25",
        "Breast_cancer under shift: BatchEnsemble is best in NLL; all tie in ECE, the ensembles in "
        "Brier score",
        (
            *sets(NLL, SHIFT, breast_cancer=(BE,)),
            *sets(ECE, SHIFT, breast_cancer=ALL),
            *sets(BRIER, SHIFT, breast_cancer=(BE, DE)),
        ),
    ),
    Claim(
        "C26",
        "Phoneme under shift: the ensembles tie in ECE and Brier score",
        (*sets(ECE, SHIFT, phoneme=(BE, DE)), *sets(BRIER, SHIFT, phoneme=(BE, DE))),
    ),
    # Decomposition, classification
    Claim(
        "C27",
        "Under shift epistemic uncertainty hardly changes on Adult and Breast_cancer, and "
        "increases on Phoneme",
        (
            *(
                mean(f"{dataset} shift - id", EPISTEMIC, who, "within", 0.005)
                for dataset in ("adult", "breast_cancer")
                for who in DOUBTING
            ),
            *(mean("phoneme shift - id", EPISTEMIC, who, "at least", 0.01) for who in DOUBTING),
        ),
    ),
    Claim(
        "C28",
        "Epistemic uncertainty under shift: deep ensemble, MC dropout, BatchEnsemble on Adult; "
        "BatchEnsemble highest on Breast_cancer; MC dropout on Phoneme, where BatchEnsemble's "
        "increases most",
        tuple(
            statement
            for place, claimed in (
                ("adult shift", (DE, MC)),
                ("breast_cancer shift", (BE,)),
                ("phoneme shift", (MC,)),
                ("phoneme shift - id", (BE,)),
            )
            for statement in ranking(place, EPISTEMIC, *claimed, among=DOUBTING, extreme="highest")
        ),
    ),
    # Selective prediction, classification
    Claim(
        "C29",
        "At every coverage BatchEnsemble is the most accurate on Adult before the deep ensemble; "
        "all tie on Breast_cancer and Phoneme",
        (
            *ranking("adult id", kept(ACCURACY), BE, DE),
            *sets(kept(ACCURACY), breast_cancer=ALL, phoneme=ALL),
        ),
    ),
    Claim(
        "C30",
        "The same under shift on Adult and Phoneme; on Breast_cancer BatchEnsemble is more "
        "accurate than the deep ensemble at 70 to 85 %",
        (
            *ranking("adult shift", kept(ACCURACY), BE, DE),
            *sets(kept(ACCURACY), SHIFT, phoneme=ALL),
            beats("breast_cancer shift", kept(ACCURACY, 70, 85), BE, DE),
        ),
    ),
    # Series
    Claim(
        "C31",
        "RMSE on both series: BatchEnsemble, then deep ensemble; the others tie for the worst",
        tuple(
            statement
            for place in ("electric id", "temperature id")
            for statement in (
                *ranking(place, RMSE, BE, DE),
                best(place, RMSE, MC, S, extreme="worst"),
            )
        ),
    ),
    Claim(
        "C32",
        "NLL: BatchEnsemble is best on both series; MC dropout is worst on Electric, and better "
        "than single on Temperature",
        (
            *sets(NLL, electric=(BE,), temperature=(BE,)),
            best("electric id", NLL, MC, extreme="worst"),
            beats("temperature id", NLL, MC, S),
        ),
    ),
    Claim(
        "C33",
        "Calibration: on Electric BatchEnsemble is best by area and ties with single in RMSCE, MC "
        "dropout is like the deep ensemble; on Temperature the deep ensemble leads before "
        "BatchEnsemble, MC dropout is like single",
        (
            *sets(MISCALIBRATION, electric=(BE,)),
            *sets(RMSCE, electric=(BE, S)),
            *(best("electric id", quantity, DE, MC, among=(DE, MC)) for quantity in CALIBRATION),
            *(
                statement
                for quantity in CALIBRATION
                for statement in (
                    *ranking("temperature id", quantity, DE, BE),
                    best("temperature id", quantity, MC, S, among=(MC, S)),
                )
            ),
        ),
    ),
    Claim(
        "C34",
        "RMSE rises with coverage on both series, but falls for single on Temperature",
        (
            *(trend(f"{name} id", who) for name in SERIES for who in DOUBTING),
            trend("electric id", S),
            trend("temperature id", S, rises=False),
        ),
    ),
    Claim(
        "C35",
        "Selective RMSE: on Electric BatchEnsemble is lowest from 60 % and ties with the deep "
        "ensemble below, MC dropout is highest; on Temperature BatchEnsemble is lowest, deep "
        "ensemble next",
        (
            *sets(kept(RMSE, 60, 100), electric=(BE,)),
            *sets(kept(RMSE, 30, 55), electric=(BE, DE)),  # 60 % is in the range above
            best("electric id", kept(RMSE), MC, extreme="worst"),
            *ranking("temperature id", kept(RMSE), BE, DE),
        ),
    ),
    # Ablations
    Claim(
        "C36",
        "Neither orthogonal initialisation nor a penalty beats random signs",
        tuple(
            best(str(place), quantity, BE, among=entrants("init"), rule="in")
            for place, quantity in everywhere("init")
        ),
    ),
    Claim(
        "C37",
        "No reduced set of vectors is among the best everywhere",
        none_always_best("adapters"),
    ),
    Claim(
        "C38",
        "No reduced set of gates is among the best everywhere",
        none_always_best("gates"),
    ),
    Claim(
        "C39",
        "Members in all ten layers are best in error and NLL; in fewer than eight they are not",
        tuple(
            statement
            for place, error in (
                ("ackley_regression id", RMSE),
                ("ackley_classification id", ACCURACY),
            )
            for quantity in (error, NLL)
            for statement in (
                best(place, quantity, LAYERS[-1], among=LAYERS),
                best(place, quantity, *LAYERS[:7], among=LAYERS, rule="out"),
            )
        ),
    ),
)
