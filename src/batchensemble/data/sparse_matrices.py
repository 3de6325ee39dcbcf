"""Sparse matrices, as dense ones that fit into memory."""

from typing import Any

from numpy.typing import NDArray

MOST_BYTES = 2**31


def dense(X: Any) -> NDArray[Any]:
    """The same numbers with their zeros; what would be too large is refused."""
    n_bytes = 8
    for length in X.shape:
        n_bytes *= int(length)
    if n_bytes > MOST_BYTES:
        size = " x ".join(f"{length:,}" for length in X.shape)
        raise ValueError(
            f"networks read dense rows, and this sparse matrix of {size} would take "
            f"{n_bytes / 2**30:,.1f} GiB, of which at most {MOST_BYTES / 2**30:g} are allowed; "
            "make fewer columns of it (TruncatedSVD or SelectKBest of scikit-learn), or pass fewer "
            "rows at a time"
        )
    matrix: NDArray[Any] = X.toarray()
    return matrix
