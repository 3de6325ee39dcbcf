import copy
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

import batchensemble
from batchensemble import BatchEnsembleWarning, CategoricalPredictive, Classifier
from batchensemble.metrics import categorical_nll, summarise_classification

QUICK = {"epochs": 40, "hidden": (16,), "n_members": 3, "lr": 0.02, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    x, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return Classifier(**QUICK).fit(x, names), x, names


def test_all_answers_come_from_one_distribution(iris):
    model, x, y = iris
    dist = model.predict_dist(x)
    assert isinstance(dist, CategoricalPredictive)
    assert dist.probabilities.shape == (150, 5 * 3, 3)  # three members in each of five folds
    assert np.array_equal(model.predict_proba(x), dist.mean)
    assert np.allclose(model.predict_proba(x).sum(1), 1)
    assert np.allclose(np.exp(model.predict_log_proba(x)), dist.mean)
    assert np.array_equal(model.predict(x), model.classes_[dist.mean.argmax(1)])
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert (model.predict(x) == y).mean() > 0.9


def test_uncertainty_is_in_nats_and_adds_up(iris):
    model, x, _ = iris
    parts = model.uncertainty(x)
    assert np.allclose(parts.total, parts.aleatoric + parts.epistemic)
    assert (parts.epistemic >= 0).all()
    assert (parts.total <= np.log(3) + 1e-9).all()


def test_the_distribution_speaks_the_users_labels(iris):
    model, x, y = iris
    dist = model.predict_dist(x)
    expected = np.log(model.predict_proba(x)[np.arange(150), np.searchsorted(model.classes_, y)])
    assert np.allclose(dist.log_prob(y), expected)
    assert np.array_equal(dist.mode, model.predict(x))
    assert set(dist.sample(50, 0).ravel()) == set(model.classes_)
    assert np.allclose(dist[3:5].log_prob(y[3:5]), expected[3:5])
    assert summarise_classification(y, dist)["accuracy"] == (model.predict(x) == y).mean()
    with pytest.raises(ValueError, match="labels out of"):
        dist.log_prob(["rose"] * 150)


@pytest.mark.parametrize(
    "labels", [[0, 1], [True, False], ["no", "yes"], [-1, 1], [1.0, 2.0], [10**12, 3]]
)
def test_labels_of_any_kind_come_back_as_they_were(labels):
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = np.array(labels)[(x[:, 0] > 0).astype(int)]
    predicted = Classifier(**QUICK).fit(x, y).predict(x)
    assert predicted.dtype == y.dtype
    assert (predicted == y).mean() > 0.8


def test_pandas_categories_are_labels():
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = pd.Series(np.where(x[:, 0] > 0, "up", "down")).astype("category")
    assert set(Classifier(**QUICK).fit(x, y).predict(x)) == {"up", "down"}


def test_a_class_with_one_row_and_classes_of_very_unequal_size_fit():
    x = np.random.default_rng(0).normal(size=(100, 2))
    y = np.array([0] * 97 + [1, 1, 2])
    with pytest.warns(BatchEnsembleWarning, match=r"fewer than 10 rows: 1 \(2\), 2 \(1\)"):
        model = Classifier(**QUICK).fit(x, y)
    assert model.predict_proba(x).shape == (100, 3)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(60), "at least 2 classes in y, got one class"),
        (np.random.default_rng(0).normal(size=60), "continuous"),
        (np.full(60, np.nan), "NaN"),
        (["a"] * 59 + [None], "missing value .* in row 59"),
        (["a"] * 59 + [float("nan")], "missing value .* in row 59"),
        (["a"] * 59 + [1], "labels of one kind, got \\['int', 'str'\\]"),
        (np.array(["2020-01-01", "2021-01-01"] * 30, "M8[D]"), r"texts, .* as 2020-01-01; convert"),
        (np.array([1, 2] * 30, "m8[D]"), "got timedelta64"),
        (np.zeros((60, 2)), "1d array"),
        (np.arange(7), "as many targets as rows"),
    ],
)
def test_targets_that_make_no_sense_are_refused_with_words(y, words):
    x = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=words):
        Classifier(**QUICK).fit(x, y)


def test_predicting_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        Classifier().predict([[1.0]])


@pytest.mark.slow
def test_held_out_rows_get_better_probabilities_than_the_class_shares_and_the_control_does_not():
    x, y = load_breast_cancer(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0)

    def nll(model):
        return categorical_nll(y_test, probabilities=model.predict_proba(x_test))

    shares = nll(DummyClassifier(strategy="prior").fit(x_train, y_train))
    assert nll(Classifier(random_state=0).fit(x_train, y_train)) < 0.3 * shares
    nonsense = np.random.default_rng(0).permutation(y_train)
    assert nll(Classifier(random_state=0).fit(x_train, nonsense)) > 0.9 * shares


def rare(n=600, seed=0):
    """One row in ten is of the class "yes", and not easy to see."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.1, "yes", "no")
    X = random.normal(size=(n, 2)) + 0.9 * (y == "yes")[:, None]
    return X, y


RARE = {"epochs": 30, "hidden": (8,), "n_members": 2, "folds": 1, "lr": 0.02, "random_state": 0}


@pytest.mark.parametrize("words", [["0", "1"], ["01", "1"]])
def test_class_weights_of_digits_are_those_of_other_words(words):
    X, y = rare()
    for plain, weights in (
        ("balanced", "balanced"),
        ({"no": 1.0, "yes": 5.0}, {words[0]: 1.0, words[1]: 5.0}),
    ):
        answers = [
            Classifier(**RARE, class_weight=how).fit(X, labels).predict_proba(X)
            for how, labels in ((plain, y), (weights, np.where(y == "yes", *words[::-1])))
        ]
        np.testing.assert_array_equal(*answers)


def test_class_weights_are_sample_weights():
    X, y = rare()
    by_class = np.where(y == "yes", 300 / (y == "yes").sum(), 300 / (y == "no").sum())
    named = {"yes": float(by_class[y == "yes"][0]), "no": float(by_class[y == "no"][0])}
    balanced, given, weighted, plain = (
        Classifier(**RARE, class_weight=words).fit(X, y, sample_weight=w).predict_proba(X)
        for words, w in (("balanced", None), (named, None), (None, by_class), (None, None))
    )
    np.testing.assert_allclose(balanced, weighted, atol=1e-6)
    np.testing.assert_allclose(given, weighted, atol=1e-6)
    assert balanced[:, 1].mean() > 2 * plain[:, 1].mean()  # negative control
    with pytest.raises(ValueError, match=r"classes out of \['no', 'yes'\], got \['maybe'\]"):
        Classifier(**RARE, class_weight={"maybe": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="did you mean 'balanced'"):
        Classifier(**RARE, class_weight="balance").fit(X, y)
    for weight in (-1.0, math.nan, math.inf, "2"):
        with pytest.raises(ValueError, match="class_weight: expected finite numbers of at least 0"):
            Classifier(**RARE, class_weight={y[0]: weight}).fit(X, y)


def test_weights_of_classes_that_some_rows_lack_are_kept_for_others():
    X, y = rare()
    weights, no = {"yes": 5.0, "no": 1.0}, y == "no"
    model = Classifier(**RARE, class_weight=weights).fit(X, y)
    plain = copy.deepcopy(model).set_params(class_weight={"yes": 5.0}).update(X[no], y[no])
    model.update(X[no], y[no])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    three = np.where(X[:, 0] > 1, "maybe", y)
    fewer = Classifier(**RARE, class_weight=weights | {"maybe": 2.0, "never": 9.0})
    assert set(fewer.fit(X, three).classes_) == {"yes", "no", "maybe"}  # as a fold may be
    with pytest.raises(ValueError, match=r"out of .*'maybe'.* got \['never'\]"):
        Classifier(**RARE, class_weight={"yes": 5.0, "never": 9.0}).fit(X, three)


def test_rows_of_weight_0_are_ignored_when_classes_are_counted():
    X, y = rare()
    more, labels = np.concatenate([X, X[:300]]), np.append(y, ["yes"] * 300)
    weight = np.repeat([1.0, 0.0], [600, 300])
    without, ignored, counted = (
        Classifier(**RARE, class_weight="balanced").fit(X, y, sample_weight=w).predict_proba(more)
        for X, y, w in ((X, y, None), (more, labels, weight), (more, labels, None))
    )
    np.testing.assert_allclose(ignored, without, atol=1e-6)
    assert np.abs(counted - without).max() > 0.1  # negative control
    np.testing.assert_array_equal(weight, np.repeat([1.0, 0.0], [600, 300]))


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 2.0}])
def test_labels_of_two_kinds_are_refused_with_class_weights_as_without(class_weight):
    y = np.array([1, "a"] * 20, dtype=object)
    with pytest.raises(ValueError, match=r"expected labels of one kind, got \['int', 'str'\]"):
        Classifier(**RARE, class_weight=class_weight).fit(np.eye(40), y)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (["1"] * 300, r"numbers, one for each of 300 rows, got <U1 values such as \['1'\]"),
        (np.ones(300, complex), r"got complex128 values such as \[\(1\+0j\)\]; convert them$"),
        (np.ones(299), r"sample_weight.shape == \(299,\), expected \(300,\)"),
        (np.ones((300, 1)), "1D array"),
        ([None] * 300, "contains NaN"),
    ],
)
def test_weights_that_make_no_sense_are_refused_with_class_weights_as_without(
    class_weight, weight, words
):
    X, y = rare(300)
    with pytest.raises(ValueError, match=words):
        Classifier(**RARE, class_weight=class_weight).fit(X, y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore:the 90 % sets contain")
def test_sets_by_class_hold_a_rare_class_and_plain_ones_do_not(tmp_path):
    X, y = rare(3000)
    model = Classifier(**RARE).fit(X[:1000], y[:1000])
    shares = {}
    for per_class in (False, True):
        model.calibrate(X[1000:2000], y[1000:2000], per_class=per_class)
        held = model.predict_set(X[2000:])[:, 1]
        shares[per_class] = held[y[2000:] == "yes"].mean()
    assert shares[True] > 0.8
    assert shares[False] < 0.6
    model.save(tmp_path / "model.be")
    twin = batchensemble.load(tmp_path / "model.be")
    assert np.array_equal(twin.predict_set(X[2000:]), model.predict_set(X[2000:]))
    assert model.calibration_report().loc[0.9, "coverage_after"] > 0.87


@pytest.mark.filterwarnings("ignore:the 90 % sets contain")
def test_sets_by_group_want_the_groups_of_new_rows():
    X, y = rare(1000)
    group = np.arange(1000) % 2
    model = Classifier(**RARE).fit(X[:500], y[:500])
    model.calibrate(X[500:], y[500:], groups=group[500:])
    sets = model.predict_set(X, groups=group)
    alone = model.calibrate(X[500:], y[500:]).predict_set(X)
    assert sets.shape == alone.shape == (1000, 2)
    with pytest.raises(ValueError, match="got both"):
        model.calibrate(X[500:], y[500:], groups=group[500:], per_class=True)


@pytest.mark.filterwarnings("ignore:the 90 % sets contain")
def test_whether_sets_are_by_class_is_said_by_true_or_false_so_that_a_file_can_keep_it(tmp_path):
    X, y = rare(400)
    model = Classifier(**RARE | {"epochs": 2}).fit(X, y)
    for word in ("no", None, 1):
        with pytest.raises(ValueError, match=f"per_class to be True or False, got {word!r}"):
            model.calibrate(X, y, per_class=word)
    model.calibrate(X, y, per_class=np.True_).save(tmp_path / "model.be")
    assert batchensemble.load(tmp_path / "model.be").calibration_.per_class


def test_a_class_with_too_few_calibration_rows_is_refused_when_sets_are_asked_for():
    X, y = rare(400)
    model = Classifier(**RARE).fit(X[:300], y[:300]).calibrate(X[350:], y[350:], per_class=True)
    with pytest.raises(ValueError, match=r"every class for a coverage of 0\.9, got fewer of 'yes'"):
        model.predict_set(X)
    before, none = model.calibration_, y == "no"
    with pytest.raises(ValueError, match=r"every class for a coverage of 0\.5, got fewer of 'yes'"):
        model.calibrate(X[none], y[none], per_class=True)  # sets of 'yes' could never be
    assert model.calibration_ is before
