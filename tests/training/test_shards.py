import numpy as np
import pytest
import torch

from batchensemble.estimators.base import run_digest
from batchensemble.training.engines import Data
from batchensemble.training.loop import Training
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import make_method
from batchensemble.training.models import Rows, fit_models, maker
from batchensemble.training.networks import MLP
from batchensemble.training.shards import Shards, read_shard, write_rows

N, FEATURES, SHARDS = 900, 3, 4


@pytest.fixture
def shards(tmp_path):
    """Rows sorted by their first feature, which is their number, in three parts."""
    random = np.random.default_rng(0)
    x = random.normal(size=(N, FEATURES)).astype(np.float32)
    x[:, 0] = np.arange(N)
    y = x[:, 1] + 0.1 * random.normal(size=N)
    for rows in np.array_split(np.arange(N), 7):
        write_rows(tmp_path, SHARDS, x[rows], y[rows], rows % 3, random)
    watched = Data(torch.from_numpy(x[:50]), torch.from_numpy(y[:50]).float())
    return Shards(tmp_path, SHARDS, watched, seed=1)


def numbers(data):
    return data.x[:, 0].long().tolist()


def test_a_pass_reads_every_row_once_with_its_target_and_part(shards):
    read = list(shards.epoch(0, is_pass=True))
    rows = [number for data, _ in read for number in numbers(data)]
    assert sorted(rows) == list(range(N))
    for data, parts in read:
        assert (data.x[:, 0] % 3 == parts).all()
        assert torch.corrcoef(torch.stack([data.x[:, 1], data.y]))[0, 1] > 0.98


def test_shards_take_turns_and_their_order_changes(shards):
    rounds = [
        [numbers(next(shards.epoch(4 * turn + i, is_pass=False))[0]) for i in range(SHARDS)]
        for turn in range(3)
    ]
    for each in rounds:
        assert sorted(number for shard in each for number in shard) == list(range(N))
    assert any(each != rounds[0] for each in rounds)


def test_every_shard_is_a_sample_of_all_rows_however_they_were_sorted(shards):
    for shard in range(SHARDS):
        x, _, _ = read_shard(shards.folder, shard, FEATURES)
        assert abs(x[:, 0].mean() - N / 2) < 4 * N / np.sqrt(12 * len(x))
        assert x[:, 0].max() - x[:, 0].min() > 0.9 * N


@pytest.mark.parametrize("epoch_steps", [None, 5])
def test_training_from_shards_learns_what_training_from_memory_learns(shards, epoch_steps):
    make = maker(MLP, FEATURES, heads=(1, 1), hidden=(8,), dropout=0.0, init="random_sign")
    parts = list(shards.epoch(0, is_pass=True))
    x, y, own = (
        torch.cat([data.x for data, _ in parts]),
        torch.cat([data.y for data, _ in parts]),
        torch.cat([part for _, part in parts]),
    )
    x = torch.cat([x[:, :1] / N, x[:, 1:]], 1)
    for shard in range(SHARDS):  # the same scale on disk
        path = shards.folder / f"{shard}.rows"
        rows = np.fromfile(path, np.float32).reshape(-1, FEATURES + 2)
        rows[:, 0] /= N
        rows.tofile(path)
    training = Training(epochs=20 if epoch_steps is None else 60, epoch_steps=epoch_steps)
    method, scores = make_method("batch_ensemble", n_members=2), {}
    for name, data, train in (
        ("disk", shards, torch.tensor([1, 2])),
        ("memory", Data(x, y), (own != 0).argwhere()[:, 0]),
    ):
        bank, _ = fit_models(method, make, GaussianNLL(), data, training, rows=[Rows(0, train)])
        bank.module.eval()
        held_out = x[own == 0].view(1, -1, 1, FEATURES).expand(1, -1, 2, FEATURES)
        errors = bank(held_out)[0, ..., 0].detach().mean(1) - y[own == 0]
        scores[name] = float(errors.square().mean().sqrt())
    assert scores["disk"] < 0.25 * float(y.std())
    assert scores["disk"] == pytest.approx(scores["memory"], rel=0.25)


def test_a_network_never_learns_from_the_part_it_is_judged_by(shards, monkeypatch):
    from batchensemble.training import feed

    seen = []

    class Plan(feed.Plan):
        def __init__(self, bank, data, rows, generators, **more):
            seen.append([{*data.x[own, 0].long().tolist()} for own in rows])
            super().__init__(bank, data, rows, generators, **more)

    monkeypatch.setattr(feed, "Plan", Plan)
    make = maker(MLP, FEATURES, heads=(1, 1), hidden=(4,), dropout=0.0, init="random_sign")
    rows = [Rows(k, torch.tensor([j for j in range(3) if j != k])) for k in range(3)]
    fit_models(make_method("single"), make, GaussianNLL(), shards, Training(epochs=1), rows=rows)
    for k in range(3):
        learned = set().union(*(each[k] for each in seen))
        assert learned == {i for i in range(N) if i % 3 != k}


def test_a_run_is_told_from_one_with_another_value_in_a_row_that_is_not_watched(shards, tmp_path):
    before = run_digest(shards, "settings")
    assert run_digest(shards, "settings") == before
    rows = np.fromfile(tmp_path / "3.rows", np.float32)
    rows[-3] += 1
    rows.tofile(tmp_path / "3.rows")
    assert run_digest(shards, "settings") != before
