"""Values <-> JSON and arrays, without pickle: only kinds in a closed table can be stored.

None, booleans, integers, finite floats, texts and lists are stored as they are. Everything else is
an object with one entry: a word of the table, and the simpler values it is made of. Nothing is
ever imported or called because a file names it.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

DEEPEST = 50  # levels of nesting
MOST_TEXT = 2**24  # bytes of all arrays of texts; in one, all take the room of the longest


class NotKept(TypeError):
    """A value that cannot be stored in a file."""


@dataclass(frozen=True)
class Form:
    """How values of one kind are stored: taken apart into simpler values, and made from them again.

    If not `exact`, subclasses of the kind are stored this way, too.
    """

    word: str
    kind: type
    taken: Callable[[Any], Any]
    made: Callable[[Any], Any]
    exact: bool = True


class Codec:
    """Turns values into JSON and arrays, and back.

    `forms` say how classes of other libraries are stored; objects of our own `classes` are stored
    field by field, under the name of their class.
    """

    def __init__(self, forms: Iterable[Form] = (), classes: Iterable[type] = ()) -> None:
        self._forms = {form.word: form for form in (*PLAIN, *forms)}
        self._classes = {kind.__name__: kind for kind in classes}

    def encode(self, value: Any, where: str, arrays: Arrays, depth: int = 0) -> Any:
        """JSON; arrays are added to `arrays`. `where` names the value in errors, and arrays."""
        if depth > DEEPEST:
            raise NotKept(f"{where:.200} is nested too deeply (limit {DEEPEST})")
        if value is None or type(value) in (bool, int, str) or _is_finite(value):
            return value
        if type(value) is list:
            return [
                self.encode(each, f"{where}[{i}]", arrays, depth + 1)
                for i, each in enumerate(value)
            ]
        if type(value) is np.ndarray and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            arrays[where] = np.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
            return {"array": where}
        if self._classes.get(type(value).__name__) is type(value):
            fields = {
                name: self.encode(each, f"{where}.{name}", arrays, depth + 1)
                for name, each in fields_of(value).items()
            }
            return {type(value).__name__: fields}
        form = self._form_of(value)
        try:
            if form is None:
                raise NotKept("this type cannot be stored in a file")
            parts = form.taken(value)
        except NotKept as error:
            raise NotKept(
                f"expected {where} to be of plain values (numbers, texts, dates, arrays), got "
                f"{type(value).__name__} {value!r:.80}: {error}; convert it and fit again, or save "
                "the model with joblib"
            ) from None
        return {form.word: self.encode(parts, where, arrays, depth + 1)}

    def decode(self, tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The value that was encoded; it raises for anything that `encode` does not write.

        Every array is used once, as `encode` writes it: many uses would make much out of little.
        """
        return _Decoding(self._forms, self._classes, dict(arrays)).value(tree, 0)

    def _form_of(self, value: Any) -> Form | None:
        for form in self._forms.values():
            if type(value) is form.kind or (not form.exact and isinstance(value, form.kind)):
                return form
        return None


class _Decoding:
    """One use of `Codec.decode`: what is left of the arrays, and of the room for texts."""

    def __init__(self, forms: dict[str, Form], classes: dict[str, type], arrays: Arrays) -> None:
        self.forms, self.classes, self.arrays, self.room = forms, classes, arrays, MOST_TEXT

    def value(self, tree: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"its values are nested too deeply (limit {DEEPEST})")
        if isinstance(tree, list):
            return [self.value(each, depth + 1) for each in tree]
        if not isinstance(tree, dict):
            return tree
        ((word, parts),) = tree.items()
        if word == "array":
            return self.arrays.pop(parts)
        if word in self.classes:
            fields = {name: self.value(each, depth + 1) for name, each in dict(parts).items()}
            return with_fields(self.classes[word], fields)
        if word not in self.forms:
            raise ValueError(f"expected a known kind of value, got {word!r:.80}")
        made = self.forms[word].made(self.value(parts, depth + 1))
        if isinstance(made, np.ndarray) and made.dtype.kind in "US":
            self.room -= made.nbytes
            if self.room < 0:
                raise ValueError(f"its texts take more than {MOST_TEXT:,} bytes")
        return made


def fields_of(value: Any) -> dict[str, Any]:
    """An object's fields by name."""
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(vars(value))


def with_fields(kind: type, fields: Mapping[str, Any]) -> Any:
    """An object of one of our classes; names that the class itself defines are refused."""
    if issubclass(kind, tuple) or dataclasses.is_dataclass(kind):
        return kind(**fields)
    made = object.__new__(kind)
    set_fields(made, fields)
    return made


def set_fields(target: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if hasattr(type(target), name):
            raise ValueError(f"expected fields of {type(target).__name__}, got {name!r:.80}")
        vars(target)[name] = value


def _is_finite(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _pairs_of(items: dict[Any, Any]) -> list[list[Any]]:
    for key in items:
        _check_key(key)
    return [list(pair) for pair in items.items()]


def _dict_of(pairs: list[Any]) -> dict[Any, Any]:
    for key, _ in pairs:
        _check_key(key)
    return dict(pairs)


def _check_key(key: Any) -> None:
    """Long integers may all share one hash, and a dictionary of many takes forever to build."""
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, tuple) or (type(part) is int and not -(2**63) <= part < 2**64):
            raise NotKept("a key of a dictionary must be at most 64 bits long and not nested")


def _parts_of(array: NDArray[Any]) -> list[Any]:
    """Dates and durations as integers; texts and objects as a list."""
    kind, word = array.dtype.kind, array.dtype.newbyteorder("<").str
    if kind in "mM":
        return ["moments", word, array.astype(np.int64)]
    if kind in "OUS":
        _check_text(array.dtype, array.size)
        return ["objects", word, list(array.shape), array.ravel().tolist()]
    raise NotKept(f"arrays of {array.dtype} cannot be stored")


def _array_of(parts: list[Any]) -> NDArray[Any]:
    what, word, *rest = parts
    dtype = np.dtype(str(word))
    if what == "moments" and dtype.kind in "mM":
        (ticks,) = rest
        if ticks.dtype != np.int64:
            raise ValueError(f"expected dates as int64, got {ticks.dtype}")
        return np.asarray(ticks.view(dtype))
    shape, items = rest
    if what != "objects" or dtype.kind not in "OUS":
        raise ValueError(f"expected an array of dates, texts or objects, got {dtype}")
    _check_text(dtype, len(items))
    array = np.empty(len(items), dtype)
    for i, item in enumerate(items):  # one by one: numpy would look into lists
        array[i] = item
    return array.reshape(shape)


def _check_text(dtype: np.dtype[Any], count: int) -> None:
    if dtype.kind != "O" and dtype.itemsize * count > MOST_TEXT:
        raise NotKept(f"an array of texts must be at most {MOST_TEXT:,} bytes long")


PLAIN = (
    Form("float", float, repr, {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}.__getitem__),
    Form("tuple", tuple, list, tuple),
    Form("dict", dict, _pairs_of, _dict_of),
    Form("bytes", bytes, bytes.hex, bytes.fromhex),
    Form("ndarray", np.ndarray, _parts_of, _array_of),
    Form("scalar", np.generic, np.asarray, lambda array: array[()], exact=False),
)
