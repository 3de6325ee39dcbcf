import torch
from laws import generator, line

from batchensemble.bank import Bank
from batchensemble.losses import GaussianNLL
from batchensemble.networks import MLP
from batchensemble.training import Training, train


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
    shown = capsys.readouterr().out
    assert "3/3" in shown
    assert "loss" in shown
    assert "held-out score" in shown
