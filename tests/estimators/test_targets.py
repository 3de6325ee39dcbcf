import numpy as np
import pytest

from batchensemble.estimators.targets import read_target


def test_masked_targets_are_missing():
    y = np.ma.masked_array([1.0, 1e6, 2.0], mask=[False, True, False])
    with pytest.raises(ValueError, match=r"missing value \(NaN or None\) in row 1 and 0 more"):
        read_target(y, 3)
    assert read_target(y[[0, 2]], 2).tolist() == [1.0, 2.0]
    assert read_target(np.ma.masked_array(["a", "b"]), 2).tolist() == ["a", "b"]


@pytest.mark.parametrize("y", [[2**53 + 1, 1.0, 2**53], [2**63 + 1, -1, 3]])
def test_numbers_that_would_become_others_are_refused(y):
    with pytest.raises(ValueError, match=r"the targets mix types: \d+ would become"):
        read_target(y, 3)


@pytest.mark.parametrize("y", [[2**53 + 1, 1, 2**53], [1, 2.5, True], ["a", "bc", "d"]])
def test_lists_keep_their_values(y):
    assert read_target(y, 3).tolist() == y
