import pytest
from scipy import sparse

from batchensemble.data.sparse_matrices import dense


def test_a_matrix_that_would_fill_the_memory_is_refused_with_what_it_would_take():
    wide = sparse.csr_array((1_000_000, 100_000))
    with pytest.raises(
        ValueError, match=r"1,000,000 x 100,000 would take 745\.1 GiB.*at most 2 are"
    ):
        dense(wide)
    assert dense(sparse.csr_array((3, 4))).shape == (3, 4)
