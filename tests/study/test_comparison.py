from batchensemble.methods import METHODS
from batchensemble.study.comparison import compare


def test_what_trains_alike_is_trained_once_and_every_method_predicts_with_it():
    trained, told = [], []

    def train(method):
        trained.append(type(method).__name__)
        return f"bank {len(trained)}"

    def predict(bank, method):
        return [(bank, type(method).__name__)]

    answers = {
        word: (bank, dists) for word, bank, dists in compare(METHODS, train, predict, told.append)
    }
    assert list(answers) == list(METHODS)
    assert len(trained) == 3
    assert answers["mc_dropout"][0] == answers["single"][0]
    assert answers["mc_dropout"][1][0][1] != answers["single"][1][0][1]
    assert len({bank for bank, _ in answers.values()}) == 3
    assert all(word in line for word, line in zip(METHODS, told, strict=True))


def test_a_method_is_trained_when_its_turn_comes():
    trained = []

    def train(method):
        trained.append(method)

    every = compare(["single", "batch_ensemble"], train, lambda bank, method: [])
    next(every)
    assert len(trained) == 1
