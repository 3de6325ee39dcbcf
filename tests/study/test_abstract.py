import numpy as np
import pytest

from batchensemble.study.abstract import abstract_sheet, judge_abstract, tally, told
from batchensemble.study.results import Place, Study
from batchensemble.study.spec import Run, Settings
from batchensemble.study.store import Result
from batchensemble.training.methods import METHODS

BE, DE, MC, S = "batch_ensemble", "deep_ensemble", "mc_dropout", "single"
SIZES = {BE: 25, DE: 100, MC: 10, S: 10}
TASKS = {"diabetes": "regression", "adult": "classification", "electric": "forecasting"}


def results(nll, settings=Settings(), error=None):  # noqa: B008
    """Five seeds that differ by little; nll by dataset and method, by default 1."""
    spread = 0.01 * np.array([-1, 0, 1, 2, -2])
    return [
        Result(
            Run(dataset, "id", method, seed, settings),
            {
                "nll": nll.get((dataset, method), 1.0) + spread[seed],
                "rmse": (error or {}).get((dataset, method), 1.0) + spread[seed],
                "accuracy": 0.5,
                "ece": 0.1,
                "miscalibration_area": 0.1,
            },
            about={"task": task, "n_parameters": SIZES[method]},
        )
        for dataset, task in TASKS.items()
        for method in METHODS
        for seed in range(5)
    ]


def cost(entrant, train, predict, dataset="adult", device="cpu"):
    seconds = {"train_seconds": train, "predict_seconds": predict}
    return {"device": device, "dataset": dataset, "entrant": entrant, **seconds}


def verdicts(study):
    return [told(one) for one in judge_abstract(study)]


def sentence(study, words):
    (one,) = [one for one in judge_abstract(study) if words in one.quote]
    return one


def test_nothing_is_said_about_the_abstract_by_less_than_a_full_study():
    assert judge_abstract(Study(results({}, Settings(epochs=2)))) == []
    assert abstract_sheet(Study([])).rows == ()


def test_equal_methods_match_the_deep_ensemble_but_do_not_outperform_mc_dropout():
    study = Study(results({}))
    assert sentence(study, "matches the uncertainty").verdict == "holds"
    assert sentence(study, "clearly outperforms").verdict == "partly"
    assert sentence(study, "GRUBE achieves similar or better").verdict == "holds"
    assert sentence(study, "fewer parameters").verdict == "holds"
    assert sentence(study, "training and inference time").verdict is None
    assert verdicts(study)[:2] == ["not tested", "not tested"]
    assert verdicts(study)[-1] == "not judged"


@pytest.mark.parametrize(
    ("rival", "words"), [(DE, "matches the uncertainty"), (MC, "clearly outperforms")]
)
def test_a_test_set_that_is_lost_is_counted_and_named(rival, words):
    found = sentence(Study(results({("adult", rival): 0.5, ("electric", rival): 2.0})), words)
    assert found.verdict == "partly"
    assert "better on 1 of 3 test sets, no clear difference on 1, worse on 1 (Adult)" in found.found
    lost = sentence(Study(results({(name, rival): 0.5 for name in TASKS})), words)
    assert lost.verdict == "does not hold"


def test_clearly_outperforming_means_better_everywhere():
    study = Study(results({(name, MC): 2.0 for name in TASKS}))
    assert sentence(study, "clearly outperforms").verdict == "holds"


def test_an_error_larger_than_that_of_a_rival_on_a_series_counts_against_grube():
    study = Study(results({}, error={("electric", MC): 0.5}))
    found = sentence(study, "GRUBE achieves")
    assert found.verdict == "partly"
    assert found.found.startswith("5 of 6 comparisons")
    assert "Electric, RMSE: like the deep ensemble, worse than MC dropout" in found.found


def test_a_higher_accuracy_is_better():
    own = results({})
    for result in own:
        if result.run.method == BE:
            result.metrics["accuracy"] = 0.9
    places = [Place("adult", "id")]
    for paired in (False, True):
        assert tally(Study(own), DE, "accuracy", places, paired=paired).better == ("Adult",)


def test_paired_differences_decide_what_overlapping_intervals_do_not():
    """The seeds differ far more than the methods do on one seed."""
    own = results({("adult", DE): 1.005})
    places = [Place("adult", "id")]
    assert tally(Study(own), DE, "nll", places, paired=False).same == ("Adult",)
    assert tally(Study(own), DE, "nll", places, paired=True).better == ("Adult",)


def test_times_are_those_of_the_ensemble_one_by_one_and_exceptions_are_named():
    costs = [
        cost(BE, 1.0, 1.0),
        cost("deep_ensemble one by one", 5.0, 0.9),
        cost(DE, 0.5, 1.1),
    ]
    found = sentence(Study(results({}), costs), "training and inference time")
    assert found.verdict == "partly"
    assert "faster than ten networks one by one in 1 of 2 measurements" in found.found
    assert "(not for predicting Adult on one CPU thread)" in found.found
    assert "take 5.0 to 5.0 times as long to train" in found.found
    faster = [*costs[:1], cost("deep_ensemble one by one", 5.0, 2.0), costs[2]]
    study = Study(results({}), faster)
    assert sentence(study, "training and inference time").verdict == "holds"


def test_the_table_has_a_row_for_each_sentence():
    study = Study(results({}))
    rows = abstract_sheet(study).rows
    assert [row[1] for row in rows] == verdicts(study)
    assert len(rows) == 7
