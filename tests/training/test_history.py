import pytest

from batchensemble.training.history import History

ENDS = [(2, "patience"), (3, "patience"), (1, "patience"), (1, "epochs")]


def history(ended="epochs"):
    losses = [[1.0, 2.0, 3.0, 4.0], [0.5, 1.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    scores = [[loss + 1 for loss in row] for row in losses]
    return History(losses, scores, [0, 1, 0, 0], ended, seconds=8.0)


@pytest.mark.parametrize(
    ("networks", "n_epochs", "ended"),
    [(slice(2), 3, "patience"), (slice(2, 4), 1, "epochs"), (slice(0, 1), 2, "patience")],
)
def test_networks_have_the_epochs_in_which_one_of_them_learned(networks, n_epochs, ended):
    part = history().of(networks, ENDS)
    assert part.losses == [row[networks] for row in history().losses[:n_epochs]]
    assert part.scores == [row[networks] for row in history().scores[:n_epochs]]
    assert part.best_epochs == history().best_epochs[networks]
    assert part.ended == ended
    assert part.seconds == 2.0 * len(part.best_epochs)


@pytest.mark.parametrize("ended", ["time_limit", "interrupt"])
def test_what_was_cut_short_is_kept_whole(ended):
    part = history(ended).of(slice(4), [(0, "patience")] * 4)
    assert part == history(ended)
