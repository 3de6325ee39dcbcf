import os
import signal

import numpy as np
import pytest
import torch

from batchensemble import Regressor
from batchensemble.training import loop
from batchensemble.training.checkpoint import Checkpoint

TINY = {"hidden": (8,), "folds": 2, "bins": 4, "batch_size": 32, "epochs": 8, "random_state": 0}


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    return X, X[:, 0] + 0.1 * random.normal(size=200)


@pytest.fixture
def often(monkeypatch):
    """Written after every epoch."""
    monkeypatch.setattr(Checkpoint.__init__, "__defaults__", (0.0,))


def killed_in_epoch(number, monkeypatch):
    meet, epochs = loop.State.meet, []

    def meet_or_die(self, losses):
        epochs.append(0)
        if len(epochs) == number:
            raise MemoryError("killed")
        return meet(self, losses)

    monkeypatch.setattr(loop.State, "meet", meet_or_die)
    return epochs


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble"])
def test_a_fit_that_was_killed_goes_on_to_the_same_model(
    rows, tmp_path, often, monkeypatch, method
):
    file, settings = tmp_path / "run.ckpt", TINY | {"method": method}
    whole = Regressor(**settings).fit(*rows)
    with monkeypatch.context() as patch:
        killed_in_epoch(6, patch)
        with pytest.raises(MemoryError):
            Regressor(**settings).fit(*rows, checkpoint=file)
    assert file.exists()
    epochs = killed_in_epoch(100, monkeypatch)
    resumed = Regressor(**settings).fit(*rows, checkpoint=file)
    assert len(epochs) == 3
    np.testing.assert_array_equal(resumed.predict(rows[0]), whole.predict(rows[0]))
    assert resumed.history_[0].losses == whole.history_[0].losses
    assert resumed.history_[0].best_epochs == whole.history_[0].best_epochs
    assert not file.exists()


OTHERS = [{"lr": 0.1}, {"random_state": 1}, {"loss": "nll"}, {"log_variance_bounds": (-2.0, 2.0)}]


@pytest.mark.parametrize("other", [*OTHERS, "rows"])
def test_the_checkpoint_of_another_fit_is_refused(rows, tmp_path, often, monkeypatch, other):
    file = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        killed_in_epoch(3, patch)
        with pytest.raises(MemoryError):
            Regressor(**TINY).fit(*rows, checkpoint=file)
    X, y = rows
    settings = TINY if other == "rows" else TINY | other
    with pytest.raises(ValueError, match="is from another fit"):
        Regressor(**settings).fit(-X if other == "rows" else X, y, checkpoint=file)
    assert file.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"{}"])
def test_a_damaged_file_is_named(tmp_path, content):
    file = tmp_path / "run.ckpt"
    file.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"run\.ckpt exists, but is not a checkpoint, or is damaged; choose"
    ):
        Checkpoint(file, "run").read()


def test_a_checkpoint_is_read_without_running_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("code",)

    torch.save({"run": "run", "evil": Evil()}, tmp_path / "run.ckpt")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        Checkpoint(tmp_path / "run.ckpt", "run").read()


def test_it_is_due_after_so_many_seconds(tmp_path):
    assert not Checkpoint(tmp_path / "a", "run", seconds=100).is_due
    assert Checkpoint(tmp_path / "a", "run", seconds=0).is_due
    assert Checkpoint(tmp_path / "a", "run").read() is None


def test_a_full_disk_is_named_and_the_last_checkpoint_stays(tmp_path):
    resource = pytest.importorskip("resource")
    checkpoint = Checkpoint(tmp_path / "run.ckpt", "run")
    checkpoint.write({"epoch": 1})
    before, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.RLIMIT_FSIZE
    most = resource.getrlimit(limits)
    resource.setrlimit(limits, (10_000, most[1]))
    try:
        with pytest.raises(OSError, match=r"run\.ckpt was not written"):
            checkpoint.write({"epoch": 2, "theta": torch.zeros(100_000)})
    finally:
        resource.setrlimit(limits, most)
        signal.signal(signal.SIGXFSZ, before)
    assert checkpoint.read() == {"epoch": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_a_duplicate_start_that_ends_first_does_not_change_the_model(
    rows, tmp_path, often, monkeypatch
):
    file, meet, epochs = tmp_path / "run.ckpt", loop.State.meet, []

    def meet_beside_another(self, losses):
        epochs.append(0)
        if len(epochs) == 4:  # the other goes on from our checkpoint, and deletes it in the end
            Regressor(**TINY).fit(*rows, checkpoint=file)
            assert not file.exists()
        return meet(self, losses)

    whole = Regressor(**TINY).fit(*rows)
    monkeypatch.setattr(loop.State, "meet", meet_beside_another)
    first = Regressor(**TINY).fit(*rows, checkpoint=file)
    assert len(epochs) == 8 + 5
    np.testing.assert_array_equal(first.predict(rows[0]), whole.predict(rows[0]))


@pytest.mark.parametrize("where", ["folder", "pipe", "nowhere"])
def test_a_path_that_cannot_be_written_is_refused_before_training(tmp_path, rows, where):
    path = {"folder": tmp_path, "pipe": tmp_path / "pipe", "nowhere": tmp_path / "no" / "a"}[where]
    if where == "pipe":
        os.mkfifo(path)  # reading it would wait for a writer
    with pytest.raises(OSError, match=r"^expected a (file|folder)"):
        Regressor(**TINY).fit(*rows, checkpoint=path)


def random_bytes(path):
    path.write_bytes(np.random.default_rng(0).bytes(300))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"junk"),
        lambda path: path.write_text("x,y\n1,2\n"),
        random_bytes,
        lambda path: torch.save([1, 2], path),
        lambda path: torch.save({"run": "this"}, path) or path.write_bytes(path.read_bytes()[:-9]),
        lambda path: np.ones(3).tofile(path),
    ],
)
def test_a_file_that_is_no_checkpoint_is_refused_in_words(tmp_path, write):
    path = tmp_path / "run.ckpt"
    write(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="exists, but is not a checkpoint, or is damaged; choose"):
        Checkpoint(path, "this").read()
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", [0, 40, -40])
def test_a_checkpoint_of_which_a_bit_changed_is_refused(rows, tmp_path, often, monkeypatch, place):
    file = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        killed_in_epoch(4, patch)
        with pytest.raises(MemoryError):
            Regressor(**TINY).fit(*rows, checkpoint=file)
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is not a checkpoint, or is damaged"):
        Regressor(**TINY).fit(*rows, checkpoint=file)
    assert file.read_bytes() == content
