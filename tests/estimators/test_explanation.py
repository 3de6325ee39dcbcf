import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from batchensemble import Classifier, Regressor
from batchensemble.data.frames import read_columns
from batchensemble.estimators.explanation import BACKGROUND_ROWS, explained

SMALL = {"epochs": 3, "hidden": (8,), "n_members": 2, "folds": 1, "random_state": 0}


def table(n=60, n_numbers=2):
    random = np.random.default_rng(0)
    numbers = {f"x{j}": random.normal(size=n) for j in range(n_numbers)}
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D")
    return pd.DataFrame(numbers | {"city": random.choice(["a", "b", None], n), "day": days})


def target(x):
    return x["x0"] + x["x1"] ** 2


@pytest.mark.parametrize("n_numbers", [2, 12])  # exact, and from random orders
def test_contributions_add_up_to_every_part_of_the_prediction(n_numbers):
    x = table(n_numbers=n_numbers)
    model = Regressor(**SMALL).fit(x, target(x))
    found = model.explain(x[:3], x)
    dist = model.predict_dist(x[:3])
    parts = np.column_stack([dist.mean, dist.aleatoric, dist.epistemic])
    assert found.parts == ["mean", "aleatoric", "epistemic"]
    np.testing.assert_allclose(found.totals, parts, rtol=1e-9)
    frame = found.to_frame().groupby(["row", "part"])["contribution"].sum().unstack()
    np.testing.assert_allclose(frame[found.parts] + found.base, parts, rtol=1e-9)


def test_permutations_find_the_column_that_matters_whatever_its_kind():
    x = table(200).assign(city=lambda f: f["city"].fillna("c"))
    y = 3.0 * (x["city"] == "a") + 0.1 * x["x0"]
    model = Regressor(**SMALL | {"epochs": 30, "lr": 0.05}).fit(x, y)
    found = permutation_importance(model, x, y, n_repeats=2, random_state=0).importances_mean
    assert found.argmax() == list(x).index("city")
    assert found.max() > 10 * np.delete(found, found.argmax()).max()


def test_without_other_rows_each_is_explained_beside_the_rest():
    x = table(8)
    model = Regressor(**SMALL).fit(x, target(x))
    np.testing.assert_array_equal(model.explain(x).values, model.explain(x, x).values)
    with pytest.raises(
        ValueError, match="one row can only be explained relative to others; pass back"
    ):
        model.explain(x[:1])


def test_classes_are_explained_by_their_probabilities():
    x = table()
    model = Classifier(**SMALL).fit(x, np.where(target(x) > 0, "high", "low"))
    found = model.explain(x[:2], x)
    assert found.parts[:2] == ["probability of high", "probability of low"]
    np.testing.assert_allclose(found.totals[:, :2], model.predict_proba(x[:2]), rtol=1e-9)
    titles = [axes.get_title(loc="left") for axes in found.plot(1).axes]
    likeliest = f"probability of {model.predict(x[1:2])[0]}"
    assert [title.split(":")[0] for title in titles] == [likeliest, "aleatoric", "epistemic"]


def test_of_a_sum_each_column_contributes_its_distance_from_the_mean():
    x = read_columns(np.random.default_rng(0).normal(size=(20, 3)))

    def weighted(columns):
        return sum(w * c.values for w, c in zip((1.0, -2.0, 0.0), columns, strict=True))[:, None]

    found = explained(x.take(slice(4)), x, ["sum"], weighted)
    values = np.column_stack([column.values for column in x])
    expected = (values[:4] - values.mean(axis=0)) * (1.0, -2.0, 0.0)
    np.testing.assert_allclose(found.values[..., 0], expected, atol=1e-12)


def test_a_product_is_shared_between_its_columns():
    def product(columns):
        return (columns[0].values * columns[1].values)[:, None]

    usual, row = read_columns(np.zeros((5, 2))), read_columns(np.array([[2.0, 3.0]]))
    found = explained(row, usual, ["product"], product)
    np.testing.assert_allclose(found.values[0, :, 0], [3.0, 3.0])


def test_of_many_background_rows_some_are_taken():
    seen = []

    def counted(columns):
        seen.append(columns.n_rows)
        return columns[0].values[:, None]

    explained(read_columns([[1.0]]), read_columns(np.zeros((5000, 1))), ["x"], counted)
    assert max(seen) <= 2 * BACKGROUND_ROWS


def test_background_rows_are_read_as_those_of_fit():
    x = table()
    model = Regressor(**SMALL).fit(x, target(x))
    with pytest.raises(ValueError, match="feature names"):
        model.explain(x[:2], x.drop(columns="city"))


def test_rows_are_explained_as_they_are_predicted():
    x = table()
    model = Regressor(**SMALL).fit(x, target(x))
    numbers = x[:2].assign(city=3)  # a prediction reads them as categories
    found = model.explain(numbers, x)
    np.testing.assert_allclose(found.totals[:, 0], model.predict(numbers), rtol=1e-9)
    with pytest.raises(ValueError, match="'day': expected a date column as in fit, got a category"):
        model.explain(x[:2].assign(day="soon"), x)
    as_texts = x.assign(day=x["day"].dt.strftime("%Y-%m-%d"))
    found = model.explain(as_texts[:2], as_texts)
    np.testing.assert_array_equal(found.totals, model.explain(x[:2], x).totals)
    found = Regressor(**SMALL).fit(as_texts, target(x)).explain(as_texts[:2], as_texts)
    np.testing.assert_allclose(found.totals, model.explain(x[:2], x).totals, rtol=1e-9)


def test_a_row_that_is_not_there_is_refused():
    x = table()
    found = Regressor(**SMALL).fit(x, target(x)).explain(x[:2], x)
    for row in (2, -1, 0.5, "a", True):
        with pytest.raises(IndexError, match=f"expected a row from 0 to 1, got {row!r}"):
            found.plot(row)


def test_a_row_is_explained_alike_whatever_rows_are_beside_it_and_nobodys_numbers_change():
    x = table(n_numbers=8)  # more columns than are explained exactly
    model = Regressor(**SMALL).fit(x, target(x))
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    found = model.explain(x[:4], x)
    for a, b in zip(before, np.random.get_state(), strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(model.explain(x[3:4], x).values, found.values[3:])
    np.testing.assert_array_equal(model.explain(x[:4][::-1], x).values, found.values[::-1])
