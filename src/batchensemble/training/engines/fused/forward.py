"""Predictions for a few rows, in loops that take less time than the calls of a framework.

A sum adds products in the order of the inputs, each product and sum rounded once, then the bias:
as matrix products of BLAS do, however many rows there are (OpenBLAS up to some hundreds of inputs,
then it adds in parts). Nothing is reordered, so a row gets the same bits alone and among others.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from batchensemble.training.engines.fused.compiling import Ints, compiled

Floats = NDArray[np.float64]

in_order = partial(compiled, fastmath={"contract"})


@in_order
def dense(x: Floats, weight: Floats, bias: Floats, is_last: bool) -> Floats:
    """(members, rows, inputs) -> (members, rows, outputs); a ReLU unless it `is_last`.

    Several members in a row may share their inputs: x then has so many times fewer.
    """
    n_members, n_in, n_out = weight.shape
    n_rows, n_sharing = x.shape[1], n_members // len(x)
    fours = n_rows - n_rows % 4
    out = np.zeros((n_members, n_rows, n_out))
    for m in range(n_members):
        w, b, xs, ys = weight[m], bias[m], x[m // n_sharing], out[m]
        for r in range(0, fours, 4):  # four rows read each weight once
            x0, x1, x2, x3 = xs[r], xs[r + 1], xs[r + 2], xs[r + 3]
            y0, y1, y2, y3 = ys[r], ys[r + 1], ys[r + 2], ys[r + 3]
            for k in range(0, n_in - 3, 4):
                a0, a1, a2, a3 = x0[k], x0[k + 1], x0[k + 2], x0[k + 3]
                b0, b1, b2, b3 = x1[k], x1[k + 1], x1[k + 2], x1[k + 3]
                c0, c1, c2, c3 = x2[k], x2[k + 1], x2[k + 2], x2[k + 3]
                d0, d1, d2, d3 = x3[k], x3[k + 1], x3[k + 2], x3[k + 3]
                w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
                for j in range(n_out):
                    v0, v1, v2, v3 = w0[j], w1[j], w2[j], w3[j]
                    y0[j] = y0[j] + a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
                    y1[j] = y1[j] + b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3
                    y2[j] = y2[j] + c0 * v0 + c1 * v1 + c2 * v2 + c3 * v3
                    y3[j] = y3[j] + d0 * v0 + d1 * v1 + d2 * v2 + d3 * v3
        for r in range(fours, n_rows):
            x0, y0 = xs[r], ys[r]
            for k in range(0, n_in - 3, 4):
                a0, a1, a2, a3 = x0[k], x0[k + 1], x0[k + 2], x0[k + 3]
                w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
                for j in range(n_out):
                    y0[j] = y0[j] + a0 * w0[j] + a1 * w1[j] + a2 * w2[j] + a3 * w3[j]
        for r in range(n_rows):
            y = ys[r]
            for k in range(n_in - n_in % 4, n_in):
                a, v = xs[r, k], w[k]
                for j in range(n_out):
                    y[j] = y[j] + a * v[j]
            for j in range(n_out):
                z = y[j] + b[j]
                y[j] = z if is_last or not z < 0 else 0.0
    return out


@in_order
def embed(x: Floats, n_plain: int, curves: Floats, vectors: Floats, starts: Ints) -> Floats:
    """(rows, inputs) -> (networks, rows, outputs), as `FoldedEmbeddings` does.

    curves (networks, columns, bins + 1, width) and vectors (networks, categories, width)
    """
    n_networks, n_columns, n_knots, width = curves.shape
    n_coded, n_vectors, code_width = len(starts), vectors.shape[1], vectors.shape[2]
    end = n_plain + n_columns * width
    out = np.empty((n_networks, len(x), end + n_coded * code_width))
    for n in range(n_networks):
        for r in range(len(x)):
            for i in range(n_plain):
                out[n, r, i] = x[r, i]
            for c in range(n_columns):
                position = x[r, n_plain + c]
                place = max(min(int(position), n_knots - 2), 0)
                share = position - place
                is_low = share < 0.5  # as torch.lerp: from the nearer end
                for j in range(width):
                    low, high = curves[n, c, place, j], curves[n, c, place + 1, j]
                    near, far = (low, share) if is_low else (high, share - 1)
                    out[n, r, n_plain + c * width + j] = near + far * (high - low)
            for c in range(n_coded):
                place = starts[c] + int(x[r, n_plain + n_columns + c])
                place = max(min(place, n_vectors - 1), 0)
                for j in range(code_width):
                    out[n, r, end + c * code_width + j] = vectors[n, place, j]
    return out
