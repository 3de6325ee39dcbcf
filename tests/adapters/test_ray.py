"""A real cluster of two nodes on this machine, one of which is killed in the middle."""

import numpy as np
import pandas as pd
import pytest

ray = pytest.importorskip("ray", reason="ray is not installed: see `make test-scale`")

from ray.cluster_utils import Cluster  # noqa: E402

from batchensemble import Regressor, load  # noqa: E402
from batchensemble.adapters.ray import connected, map_by_tasks  # noqa: E402
from batchensemble.cli.folders import predict_folder  # noqa: E402
from batchensemble.data.file_options import AS_FOUND  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # ray's own
HOW = {"device": "cpu", "coverage": 0.9, "keep": ["id"], "options": AS_FOUND}


@pytest.fixture
def cluster():
    """A head without processors, and two nodes that work."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes.workers = [nodes.add_node(num_cpus=1) for _ in range(2)]
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture
def folder(tmp_path):
    """A model, and twelve files to predict."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(200, 3)), columns=list("abc"))
    model = Regressor(hidden=(8,), folds=1, epochs=3, random_state=0).fit(X, X["a"] + X["b"] ** 2)
    model.save(tmp_path / "m.be")
    (tmp_path / "in").mkdir()
    for i in range(12):
        rows = pd.DataFrame(random.normal(size=(30_000, 3)), columns=list("abc"))
        rows.assign(id=np.arange(30_000 * i, 30_000 * (i + 1))).to_parquet(
            tmp_path / "in" / f"{i:02}.parquet"
        )
    return tmp_path


def killer(cluster):
    """A listener that ends one of the working nodes at the first sign of life."""
    killed = []

    def listen(*_):
        if not killed:
            killed.append(cluster.workers[0])
            cluster.remove_node(cluster.workers[0], allow_graceful=False)

    return listen, killed


def test_files_are_predicted_as_here_though_a_node_is_killed(cluster, folder):
    listen, killed = killer(cluster)
    where = folder / "m.be", folder / "in"
    here = predict_folder(*where, folder / "here", **HOW)
    there = predict_folder(*where, folder / "there", **HOW, ray=cluster.address, progress=listen)
    assert killed
    assert {**there, "folder": ""} == {**here, "folder": ""}
    assert there["n_rows"] == 360_000
    files = sorted(path.name for path in (folder / "here").glob("*.parquet"))
    assert files == sorted(
        path.name for path in (folder / "there").iterdir() if path.suffix == ".parquet"
    )
    for name in files:
        pd.testing.assert_frame_equal(
            pd.read_parquet(folder / "there" / name), pd.read_parquet(folder / "here" / name)
        )
    ids = pd.read_parquet(folder / "there")["id"]
    assert ids.is_unique
    assert len(ids) == 360_000


def test_models_by_group_are_those_fitted_here_though_a_node_is_killed(cluster, tmp_path):
    from batchensemble.cli.per_group import fit_groups
    from batchensemble.cli.training_data import read_training_table

    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(720, 3)), columns=list("abc"))
    rows = rows.assign(y=rows["a"] + rows["b"] ** 2, town=[f"town {i % 12:02}" for i in range(720)])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    data = read_training_table(tmp_path / "rows.csv", "y", task=None, drop=(), by="town")
    settings = {"epochs": 20, "n_members": 3, "device": "cpu"}
    listen, killed = killer(cluster)
    how = {"holdout": 0.2, "seed": 0, "calibrate": True}
    here = fit_groups(data, "town", tmp_path / "here", settings, **how)
    there = fit_groups(
        data, "town", tmp_path / "there", settings, ray=cluster.address, progress=listen, **how
    )
    assert killed
    assert there == here
    assert [here[name] for name in ("n_groups", "n_fitted", "n_kept")] == [12, 12, 0]
    index = (tmp_path / "here" / "index.json").read_text()
    assert (tmp_path / "there" / "index.json").read_text() == index
    files = sorted(path.name for path in (tmp_path / "here").glob("*.be"))
    assert files == sorted(path.name for path in (tmp_path / "there").glob("*.be"))
    for name in files:
        one, two = (load(tmp_path / folder / name) for folder in ("here", "there"))
        assert np.array_equal(
            one.predict_interval(rows[[*"abc"]]), two.predict_interval(rows[[*"abc"]])
        )
    again = fit_groups(data, "town", tmp_path / "there", settings, ray="127.0.0.1:1", **how)
    assert again["n_kept"] == 12  # nothing to do: nobody is asked


def square(x):
    return x, x**2


def test_tasks_of_a_killed_node_are_done_by_the_others(cluster):
    listen, killed = killer(cluster)
    results = {}
    with connected(cluster.address):
        for x, squared in map_by_tasks(square, [(x,) for x in range(50)]):
            results[x] = squared
            listen()
    assert killed
    assert results == {x: x**2 for x in range(50)}


def refuse(x):
    raise ValueError(f"expected anything but {x}")


def test_an_error_elsewhere_is_the_error_here(folder):
    with connected("local"), pytest.raises(ValueError, match="expected anything but 5"):
        list(map_by_tasks(refuse, [(5,)]))
    pd.DataFrame({"a": [1.0], "b": ["word"], "c": [2.0], "id": [1]}).to_parquet(
        folder / "in" / "99.parquet"
    )
    with pytest.raises(ValueError, match=r"99\.parquet.*column 'b': expected a finite number"):
        predict_folder(folder / "m.be", folder / "in", folder / "out", **HOW, ray="local")
    assert not (folder / "out" / "99.parquet").exists()


def test_a_cluster_that_is_not_there_is_named():
    with (
        pytest.raises(ConnectionError, match=r"no Ray cluster at '127\.0\.0\.1:1'"),
        connected("127.0.0.1:1"),
    ):
        pass


def test_units_of_the_study_end_in_the_same_store(tmp_path):
    import torch

    from batchensemble.study.plans import PROFILES, Profile, plan
    from batchensemble.study.runner import run_units
    from batchensemble.study.spec import Settings
    from batchensemble.study.store import Store

    profile = Profile(2, Settings(epochs=2, most_rows=100, most_windows=20), 1, "QUICK")
    assert profile.n_seeds < PROFILES["full"].n_seeds
    units = plan("seasonal", profile, ("single", "batch_ensemble"), ("main",))[:2]
    stores = {name: Store(tmp_path / name) for name in ("here", "there")}
    for store in stores.values():
        store.check(profile.settings, {})
    run_units(units, stores["here"], device=torch.device("cpu"))
    with connected("local"):
        run_units(units, stores["there"], device=torch.device("cpu"), elsewhere=map_by_tasks)
    here, there = ({r.run.name: r.metrics for r in store} for store in stores.values())
    assert here
    assert here.keys() == there.keys()
    for name, metrics in here.items():
        assert there[name] == pytest.approx(metrics, rel=1e-6, nan_ok=True)
