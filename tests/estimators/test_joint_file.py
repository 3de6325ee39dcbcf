from fixtures import regression_table

from batchensemble import JointRegressor
from batchensemble.estimators.joint_file import stored_jointly


def test_each_target_has_its_part_and_its_arrays_and_the_description_names_them_all():
    x, y = regression_table(60)
    quick = {"epochs": 1, "hidden": (8,), "n_members": 2, "bins": 0, "random_state": 0}
    kinds = {"y0": "real"}
    model = JointRegressor(**quick, target=kinds).fit(x, [[v, 2 * v] for v in y])
    contents, arrays = stored_jointly(model)
    assert [part["about"]["target"]["name"] for part in contents["targets"]] == ["y0", "y1"]
    assert contents["about"]["target"] == {"name": "y0, y1"}
    assert contents["about"]["n_parameters"] == model.n_parameters_
    assert "regressors_" not in contents["learned"]
    for i, one in enumerate(model.regressors_.values()):
        _, alone = one.stored()
        assert {name for name in arrays if name.startswith(f"target {i}: ")} == {
            f"target {i}: {name}" for name in alone
        }
    assert model.target is kinds  # writing changes nothing
