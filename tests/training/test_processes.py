"""Real processes, started by torchrun."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from batchensemble.training.processes import Team

SCRIPT = """
import os, signal, sys
from pathlib import Path
import numpy as np, torch
from batchensemble import Regressor
from batchensemble.training import checkpoint, engines, loop
from batchensemble.training.processes import joined

torch.set_num_threads(1)
engines.STEPS_WORTH_COMPILING["embedded"] = 0  # which computes each network alone
folder = Path(sys.argv[1])
random = np.random.default_rng(0)
X = random.normal(size=(300, 3))
y = X[:, 0] + 0.1 * random.normal(size=300)
tiny = {"hidden": (8,), "random_state": 0, "epochs": 4, "bins": 4, "batch_size": 16, "lr": 0.02}
fits = {
    "folds": {"folds": 3},
    "deep": {"method": "deep_ensemble", "n_members": 3, "folds": 1},
    "rows": {"folds": 1},
    "unweighted_rows": {"method": "single", "validation_fraction": 0.0, "penalty": 0.0},
    "folds_in_torch": {"folds": 3},
}
with joined() as team:
    if sys.argv[2:] == ["kill"]:
        checkpoint.SECONDS = 0.0
        checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
        epochs = loop.State.meet
        done = []
        def meet(self, losses):
            done.append(0)
            is_first_start = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
            if len(done) == 3 and team.rank == 1 and is_first_start:
                os.kill(os.getpid(), signal.SIGKILL)
            return epochs(self, losses)
        loop.State.meet = meet
        model = Regressor(**tiny, folds=3).fit(X, y, checkpoint=folder / "run.ckpt")
        np.save(folder / f"killed_{team.rank}.npy", model.predict(X))
        np.save(folder / f"epochs_{team.rank}.npy", len(done))
    elif sys.argv[2:] == ["different"]:
        Regressor(**tiny).fit(-X if team.rank else X, y)
    else:
        for name, settings in fits.items():
            if name == "folds_in_torch":
                engines.STEPS_WORTH_COMPILING["embedded"] = 10**9
            model = Regressor(**tiny, **settings).fit(X, y)
            np.save(folder / f"{name}_{team.size}_{team.rank}.npy", model.predict(X))
"""


def torchrun(folder, n_processes, *words, restarts=0):
    script = folder / "script.py"
    script.write_text(SCRIPT)
    source = Path(__file__).parents[2] / "src"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    launch += [f"--nproc-per-node={n_processes}", f"--max-restarts={restarts}"]
    return subprocess.run(
        [*launch, str(script), str(folder), *words],
        env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    """Of the same fits in one process and in two."""
    folder = tmp_path_factory.mktemp("processes")
    for n_processes in (1, 2):
        done = torchrun(folder, n_processes)
        assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("folds", 0),
        ("folds_in_torch", 1e-5),
        ("deep", 1e-5),
        ("rows", 1e-4),
        ("unweighted_rows", 1e-4),
    ],
)
def test_two_processes_train_the_networks_of_one(predictions, name, tolerance):
    """The same bits where each network is computed alone; rounding where torch computes several
    together, or rows are split."""
    alone, first, second = (predictions[f"{name}_{who}"] for who in ("1_0", "2_0", "2_1"))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, alone, rtol=tolerance, atol=tolerance)
    assert np.std(alone) > 0.3  # something was learned


@pytest.mark.slow
def test_a_killed_process_is_started_again_and_goes_on_to_the_same_model(tmp_path, predictions):
    done = torchrun(tmp_path, 2, "kill", restarts=1)
    assert done.returncode == 0, done.stderr
    killed = np.load(tmp_path / "killed_0.npy")
    np.testing.assert_array_equal(killed, predictions["folds_1_0"])
    assert np.load(tmp_path / "epochs_0.npy") < 4  # not from the beginning
    assert not (tmp_path / "run.ckpt").exists()


@pytest.mark.slow
def test_what_two_processes_began_one_can_finish(tmp_path, predictions):
    assert torchrun(tmp_path, 2, "kill").returncode != 0
    assert (tmp_path / "run.ckpt").exists()
    done = torchrun(tmp_path, 1, "kill")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "killed_0.npy"), predictions["folds_1_0"])
    assert np.load(tmp_path / "epochs_0.npy") < 4  # not from the beginning


@pytest.mark.slow
def test_processes_with_different_rows_are_refused(tmp_path):
    done = torchrun(tmp_path, 2, "different")
    assert done.returncode != 0
    assert "must fit the same rows with the same settings" in done.stderr


@pytest.mark.parametrize("n_networks", [1, 2, 5, 7])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_every_network_is_trained_by_one_process_or_by_all(n_networks, size):
    shares = [range(n_networks)[Team(rank, size).networks(n_networks)] for rank in range(size)]
    team = Team(0, size)
    if team.splits_rows(n_networks):
        assert all(len(share) == n_networks for share in shares)
    else:
        assert [i for share in shares for i in share] == list(range(n_networks))
        assert min(map(len, shares)) >= 1


def test_a_lone_process_is_a_team_of_one():
    team = Team.here()
    assert team == Team(0, 1)
    tensor = torch.ones(2)
    assert team.summed(tensor) is tensor
    assert team.gathered(tensor, 2, tensor.device) is tensor
    assert team.of_first([1, 2]) == [1, 2]
    assert not team.any(False, tensor.device)
    team.check_same("anything")
