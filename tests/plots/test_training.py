import numpy as np
import pytest
from fixtures import regression_table

from batchensemble import Regressor
from batchensemble.plots.training import LOSS, SCORE, plot_training

LOSSES = [[3.0, 4.0], [2.0, 3.0], [1.0, 1.0]]
SCORES = [[5.0, 6.0], [4.0, 4.0], [4.5, 7.0]]


def lines(figure, colour, width):
    (axes,) = figure.axes
    return [
        line.get_xydata().tolist()
        for line in axes.lines
        if line.get_color() == colour
        and line.get_linewidth() == width
        and line.get_linestyle() == "-"
    ]


def test_means_of_networks_are_drawn_thick_and_the_kept_epochs_as_dots():
    figure = plot_training([(LOSSES, SCORES, [1, 1])])
    assert lines(figure, LOSS, 2) == [[[1, 3.5], [2, 2.5], [3, 1.0]]]
    assert lines(figure, SCORE, 2) == [[[1, 5.5], [2, 4.0], [3, 5.75]]]
    dots = [line for line in figure.axes[0].lines if line.get_label() == "kept"]
    assert [dot.get_xydata().tolist() for dot in dots] == [[[2, 4.0], [2, 4.0]]]


def test_an_update_follows_after_the_first_training_and_scores_may_be_missing():
    figure = plot_training([(LOSSES, [], []), (LOSSES[:1], SCORES[:1], [0, 0])])
    assert lines(figure, LOSS, 2)[1] == [[4, 3.5]]
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names.count("training loss") == 1


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_a_fitted_model_draws_its_training(preset):
    x, y = regression_table(60)
    model = Regressor(preset=preset, epochs=3, hidden=(8,), n_members=2, random_state=0).fit(x, y)
    figure = model.update(x, y).plot_training()
    assert figure.axes[0].get_xlim()[1] > 4
    drawn = lines(figure, LOSS, 2)
    np.testing.assert_allclose(drawn[0][0][1], np.mean(model.history_[0].losses[0]))
