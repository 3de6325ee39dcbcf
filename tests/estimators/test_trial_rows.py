"""Rows that encoders of altered files are tried on."""

import json

import pytest
from fixtures import resigned
from fuzz.model_files import parts, saved
from safetensors.numpy import save as bytes_of

import batchensemble
from batchensemble.modelfile.persistence import ModelFileError


@pytest.mark.parametrize("array", ["exponents_", "numbers_.fill"])
def test_a_row_of_numbers_that_became_a_column_does_not_load(tmp_path, array):
    contents, arrays = parts(saved("regressor"))
    name = f"encoder_.{array}"
    # As many as there are rows in the trial, so that numpy would take them for one of each row.
    assert arrays[name].shape == (3,)
    arrays[name] = arrays[name][:, None]
    text = json.dumps(contents, separators=(",", ":"))
    (tmp_path / "m.be").write_bytes(resigned(bytes_of(arrays, {"batchensemble": text})))
    with pytest.raises(ModelFileError, match=r"m\.be cannot be built .* fit and save the model ag"):
        batchensemble.load(tmp_path / "m.be")
