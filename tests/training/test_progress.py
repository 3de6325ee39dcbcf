import pytest
import torch
from fixtures import generator, line

from batchensemble.training.bank import Bank
from batchensemble.training.loop import Training, train
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP
from batchensemble.training.progress import track


def run(verbose):
    bank = Bank([MLP(3, (1, 1), hidden=(4,), generator=generator())])
    rows = [torch.arange(100)]
    train(
        bank,
        GaussianNLL(),
        line(),
        Training(epochs=3, verbose=verbose, patience=5),
        rows=rows,
        generators=[generator()],
        held_out=[torch.arange(100, 200)],
    )


def test_training_is_silent_unless_asked(capsys):
    run(verbose=False)
    assert capsys.readouterr() == ("", "")
    run(verbose=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "loss" in shown
    assert "held-out score" in shown


@pytest.mark.parametrize("verbose", [False, True])
def test_parts_are_handed_on_as_they_are_one_at_a_time(verbose, capsys):
    made = []

    def parts():
        for size in (3, 1, 2):
            made.append(size)
            yield [0] * size

    handed = track(parts(), 6, "window", verbose=verbose)
    assert made == []
    assert next(handed) == [0, 0, 0]
    assert made == [3]
    assert list(handed) == [[0], [0, 0]]


def test_how_far_it_is_counts_things_not_parts_and_only_if_asked(capsys):
    list(track([[1, 2], [3]], 3, "window", verbose=False))
    assert capsys.readouterr() == ("", "")
    list(track([[1, 2], [3]], 3, "window", verbose=True))
    shown = capsys.readouterr().err
    assert "window" in shown
    assert "3/3" in shown


def test_an_error_in_the_middle_ends_the_bar_and_is_handed_on(capsys):
    def parts():
        yield [1]
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        list(track(parts(), 3, "window", verbose=True))
    assert "1/3" in capsys.readouterr().err
