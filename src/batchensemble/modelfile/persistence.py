"""A model as one file: safetensors for the arrays, JSON in its metadata for everything else.

A file carries its format, the version that wrote it, a description for people, and a digest of all
its bytes. The digest reveals accidental damage. A malicious file can do no more than fail to load,
because only numbers and texts are read, never code, and because what its header will take in memory
is estimated before it is parsed.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as bytes_of

from batchensemble.modelfile.files import as_path, replacing
from batchensemble.modelfile.version import VERSION

FORMAT = 1
LONGEST_HEADER = 100_000_000  # bytes; safetensors' limit
LONG_HEADER = 1_000_000  # bytes; the digest comes before parsing such a one
MOST_PARSED = 2**25  # bytes of the parsed header, and this times as much as the file:
MOST_PARSED_A_BYTE = 6

KEY = "batchensemble"
BLANK = "0" * 64  # stands for the digest while it is computed
# What comes before the digest in a file: quotes inside the header's texts are escaped.
BEFORE_DIGEST = rb'"batchensemble":"{\"sha256\":\"'

FilePath = str | os.PathLike[str]


class ModelFileError(ValueError):
    """A file that is not a complete model; the message names it and says what to do."""


def write_model(path: FilePath, contents: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write JSON and arrays; an old file stays until the new one is complete."""
    text = _as_json({"sha256": BLANK, "format": FORMAT, "library": VERSION} | contents)
    data = bytearray(bytes_of(arrays, {KEY: text}))
    length = 8 + int.from_bytes(data[:8], "little")
    if length > LONGEST_HEADER:
        raise ValueError(
            f"expected at most {LONGEST_HEADER:,} bytes beside the arrays, got {length:,}; "
            f"{path} was not written; fit a model of fewer series or categories"
        )
    place = _place_of_digest(bytes(data[:length]))
    assert place is not None
    data[place] = hashlib.sha256(data).hexdigest().encode()
    with replacing(as_path(path)) as file:
        file.write(data)


def as_read(contents: dict[str, Any]) -> dict[str, Any]:
    """The JSON as it would be read again."""
    return dict(json.loads(_as_json(contents)))


def _as_json(contents: dict[str, Any]) -> str:
    return json.dumps(contents, separators=(",", ":"), allow_nan=False, default=_number)


def _number(value: Any) -> Any:
    """Python's for one of numpy's, which JSON does not know: n_members=np.int64(4), say."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"expected numbers and texts in a model, got {type(value).__name__}")


def read_model(path: FilePath) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write_model` wrote, checked byte by byte; otherwise a `ModelFileError`."""
    path = as_path(path)
    if "\0" in str(path):
        raise ModelFileError(
            f"expected the path of a model file, got {str(path)!r}; omit the \\0 in it"
        )
    if path.is_dir():
        inside = next((f", such as {name}" for name in sorted(path.glob("*.be"))), "")
        raise ModelFileError(
            f"expected a file saved by batchensemble, got the folder {path}; name a model inside it"
            f"{inside}"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}; check the path")
    if not path.is_file():
        raise ModelFileError(
            f"expected a file saved by batchensemble, got a pipe or device: {path}"
        )
    with path.open("rb") as file:
        start = file.read(8)
        # Of the open file: meanwhile another may have taken its place.
        n_bytes, n_header = os.fstat(file.fileno()).st_size, int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= n_header <= min(LONGEST_HEADER, n_bytes - 8):
            raise _foreign(path, f"a file that begins with {start!r}" if start else "an empty file")
        header = file.read(n_header)
        _check_header(path, file, header, n_bytes)
        parsed = _header(path, header)
        contents = _contents(path, parsed)
        n_written = 8 + n_header + _end_of_arrays(path, parsed)
        if n_bytes != n_written:
            raise _damaged(path, f"it has {n_bytes:,} bytes, and {n_written:,} were written")
        del parsed
        try:
            return contents, _arrays(path, contents, bytearray(start + header + file.read()))
        except MemoryError:
            raise _damaged(path, f"its {n_bytes:,} bytes do not fit into memory") from None


def _check_header(path: Path, file: BinaryIO, header: bytes, n_bytes: int) -> None:
    """Whether a header is safe to parse: small as objects of Python, and undamaged if it is long.

    A list or a dictionary takes about 100 bytes, and what is between two commas 60.
    """
    n_parsed = 100 * (header.count(b"[") + header.count(b"{")) + 60 * header.count(b",")
    if n_parsed > MOST_PARSED + MOST_PARSED_A_BYTE * n_bytes:
        raise _damaged(path, f"its header of {len(header):,} bytes has too many values")
    place = _place_of_digest(header)
    if place is None or len(header) < LONG_HEADER:
        return
    digest = hashlib.sha256(len(header).to_bytes(8, "little") + header[: place.start])
    digest.update(BLANK.encode() + header[place.stop :])
    while part := file.read(2**20):
        digest.update(part)
    if digest.hexdigest().encode() != header[place]:
        raise _damaged(path, "its bytes are not those that were written")
    file.seek(8 + len(header))


def _arrays(path: Path, contents: dict[str, Any], data: bytearray) -> dict[str, NDArray[Any]]:
    """The arrays in a file's bytes, if the digest is right."""
    n_header = int.from_bytes(data[:8], "little")
    place = _place_of_digest(bytes(data[: 8 + n_header]))
    digest = contents.pop("sha256", None)
    if place is not None:
        data[place] = BLANK.encode()
    if place is None or hashlib.sha256(data).hexdigest() != digest:
        raise _damaged(path, "its bytes are not those that were written")
    try:
        return arrays_of(bytes(data))
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise _damaged(path, _brief(error, 300)) from None


def describe(path: FilePath) -> dict[str, Any]:
    """What a model's file holds; the file is checked, but the model is not built.

    The kind of estimator and its task, method and settings, its columns and target, the number of
    parameters, when it was fitted, and the file's format, size and library version.
    """
    contents, _ = read_model(path)
    about = contents.get("about")
    if not isinstance(about, dict):
        raise _damaged(path, "it has no description")
    file = {key: contents[key] for key in ("format", "library")}
    return about | file | {"bytes": Path(path).stat().st_size}


def unusable(path: FilePath, library: object, error: BaseException) -> ModelFileError:
    """The error for an undamaged file from which no model can be built."""
    return ModelFileError(
        f"the model in {path} cannot be built ({type(error).__name__}: {_brief(error, 300)}); it "
        f"was written by batchensemble {_brief(library, 80)}, and this is {VERSION}: use that "
        "version, or fit and save the model again"
    )


def _brief(value: object, most: int) -> str:
    """The first line: a file may hold text of several, and torch's errors list its own calls."""
    return next(iter(str(value).strip().splitlines()), "")[:most]


def _header(path: Path, header: bytes) -> dict[str, Any]:
    """A header that is of our format."""
    try:
        parsed = _parsed(header)
        parsed["__metadata__"][KEY]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _foreign(path, f"a file whose header begins with {header[:40]!r}") from None
    return parsed  # type: ignore[no-any-return]


def _contents(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """The JSON in a file's header."""
    try:
        contents = _parsed(header["__metadata__"][KEY])
        form = contents["format"]
        library = contents["library"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _damaged(path, f"its description cannot be read: {_brief(error, 200)}") from None
    if type(form) is not int or not 1 <= form <= FORMAT:
        raise ModelFileError(
            f"expected a file of format 1 to {FORMAT} in {path}, got format {form!r:.80}, written "
            f"by batchensemble {_brief(library, 80)}; update batchensemble (this is {VERSION})"
        )
    return contents  # type: ignore[no-any-return]


def _end_of_arrays(path: Path, header: dict[str, Any]) -> int:
    """Where the last array ends, according to the header."""
    parts = {name: part for name, part in header.items() if name != "__metadata__"}
    try:
        return max((int(part["data_offsets"][1]) for part in parts.values()), default=0)
    except (ValueError, LookupError, TypeError, OverflowError):
        raise _damaged(path, "its header does not say where the arrays are") from None


def _parsed(text: str | bytes) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise ValueError(f"expected finite numbers, got {word}")


def _place_of_digest(header: bytes) -> slice | None:
    at = header.find(BEFORE_DIGEST)
    first = at + len(BEFORE_DIGEST)
    return None if at < 0 or first + len(BLANK) > len(header) else slice(first, first + len(BLANK))


def _foreign(path: Path, got: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a batchensemble model, but {got}; check the path: only files written by "
        "`batchensemble fit` or model.save(path) can be loaded"
    )


def _damaged(path: FilePath, reason: str) -> ModelFileError:
    return ModelFileError(
        f"the model file {path} is damaged: {reason}; copy it again from where it was saved, or "
        "fit and save the model again"
    )
