import pytest
from fixtures import regression_table

from batchensemble import Regressor
from batchensemble.estimators import size_limits


def test_an_ensemble_that_would_fill_the_memory_is_refused_at_once():
    x, y = regression_table(40)
    for method in ("batch_ensemble", "deep_ensemble"):
        with pytest.raises(ValueError, match=r"0,000,000 members of .* GiB in training, and at"):
            Regressor(method, n_members=10**7).fit(x, y)


def test_masks_that_a_file_could_not_hold_are_refused_when_it_is_written(tmp_path, monkeypatch):
    x, y = regression_table(40)
    quick = {"epochs": 1, "hidden": (8,), "n_passes": 7, "random_state": 0}
    model = Regressor("mc_dropout", **quick).fit(x, y)
    model.save(tmp_path / "m.be")
    monkeypatch.setattr(size_limits, "MOST_MASK_UNITS", 10)
    with pytest.raises(ValueError, match=r"at most 10; fit with a smaller n_passes"):
        model.save(tmp_path / "m.be")


def test_a_batch_larger_than_the_table_is_the_table():
    x, y = regression_table(40)
    quick = {"epochs": 1, "hidden": (8,), "random_state": 0}
    large, whole = (Regressor(batch_size=n, **quick).fit(x, y).predict(x) for n in (10**8, 40))
    assert (large == whole).all()
