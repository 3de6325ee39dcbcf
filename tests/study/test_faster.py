from batchensemble.study.faster import Faster
from batchensemble.study.results import ID, Study
from batchensemble.study.spec import Run, Settings
from batchensemble.study.statements import BE, DE
from batchensemble.study.store import Result

FASTER = Faster(BE, "deep_ensemble one by one", DE, ("adult", "phoneme"))


def both(*datasets, settings=None):
    return [
        Result(Run(dataset, ID, method, seed, settings or Settings()), {})
        for dataset in datasets
        for method in (BE, DE)
        for seed in range(5)
    ]


def cost(entrant, train, predict, dataset="adult", device="cpu"):
    return {
        "device": device,
        "dataset": dataset,
        "entrant": entrant,
        "n_parameters": 1,
        "train_seconds": train,
        "predict_seconds": predict,
        "peak_bytes": None,
    }


def test_faster_is_said_of_every_device_and_dataset_for_training_and_predicting():
    costs = [
        cost(BE, 1.0, 2.0),
        cost("deep_ensemble one by one", 1.5, 2.0),
        cost("single", 0.1, 0.1),
        cost(BE, 3.0, 1.0, device="a GPU"),
        cost("deep_ensemble one by one", 2.0, 4.0, device="a GPU"),
        cost(BE, 3.0, 1.0, dataset="seasonal"),
    ]
    study = Study(both("adult"), costs)
    parts = FASTER.parts(study)
    assert [(part.text.split(" batch_ensemble ")[0], part.verdict) for part in parts] == [
        ("adult on cpu:", "holds"),
        ("adult on cpu:", "does not hold"),
        ("adult on a GPU:", "does not hold"),
        ("adult on a GPU:", "holds"),
    ]
    assert parts[0].numbers == {"seconds": {BE: 1.0, "deep_ensemble one by one": 1.5}}
    assert all(part.counts for part in parts)
    assert FASTER.needs(study) == []


def test_without_a_rivals_costs_or_full_runs_seconds_are_shown_unjudged():
    pair = [cost(BE, 1.0, 2.0), cost("deep_ensemble one by one", 3.0, 3.0)]
    for results, costs, missing in (
        (both("adult"), pair[:1], ["costs of"]),
        (both("adult", settings=Settings(epochs=1)), pair, ["full runs of five seeds of"] * 2),
    ):
        study = Study(results, costs)
        parts = FASTER.parts(study)
        assert [part.verdict for part in parts] == [None, None]
        assert parts[0].numbers["seconds"][BE] == 1.0
        assert [need.what for need in FASTER.needs(study)] == missing
    assert FASTER.needs(Study(both("adult"))) == [("measured costs", "", "")]


def test_what_does_not_count_needs_nothing_and_says_so():
    beside = Faster(BE, DE, DE, ("adult",), note=" vectorised (does not count)", counts=False)
    study = Study(both("adult"), [cost(BE, 1.0, 2.0)])
    assert beside.needs(study) == []
    parts = beside.parts(study)
    assert not any(part.counts for part in parts)
    assert parts[0].text.endswith("trains faster than deep_ensemble vectorised (does not count)")
