import io

from rich.console import Console

from batchensemble.cli.evaluation import Curve, Evaluation
from batchensemble.cli.printing import print_evaluation
from batchensemble.plots.sheets import Sheet


def test_a_zero_is_written_and_a_gap_is_not():
    sheet = Sheet("doubtful", "", ("line", "truth", "x"), ((7, 0, None), (8, 1, 0.0)))
    curve = Curve("", "", [], [])
    found = Evaluation("f.csv", "classification", "y", 0.9, 2, 0, {}, curve, curve, sheet)
    out = io.StringIO()
    print_evaluation(Console(file=out, width=80), found)
    assert [line.split() for line in out.getvalue().splitlines()[-2:]] == [
        ["7", "0"],
        ["8", "1", "0"],
    ]
