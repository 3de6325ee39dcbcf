"""Predictions for many files: one file of predictions for each, here or on a cluster.

A file of predictions appears when it is complete, so a run that was stopped goes on with the others
when it is started again; two runs at once write the same files twice, with the same rows.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from batchensemble.cli.errors import if_stopped
from batchensemble.cli.format import counted
from batchensemble.cli.model_folder import load_models, read_index
from batchensemble.cli.predictions import in_commas, predict_file
from batchensemble.data.file_lists import is_pattern, list_files
from batchensemble.data.file_options import FileOptions
from batchensemble.data.reading import EXCEL, PIPE, is_table
from batchensemble.data.table_files import has_rows
from batchensemble.modelfile.files import locked, make_folder, replacing
from batchensemble.modelfile.persistence import describe

ABOUT = ".predictions.json"  # in the folder: of which model they are, how and which were made
COARSEST_TIME = 0.02  # in seconds, of common file systems
Progress = Callable[[int, float | None], None]


def is_many(data: Path | None) -> bool:
    """Whether a folder or a pattern is to be predicted."""
    return data is not None and (data.is_dir() or is_pattern(data))


class Predictor:
    """A loaded model that predicts files; one for each worker of a cluster."""

    def __init__(self, model: Path, device: str, how: dict[str, Any]) -> None:
        self.model, self.how = load_models(model, device), how

    def predict(self, source: Path, out: Path) -> int:
        """How many rows were predicted; of none there is no file, or no longer."""
        out.parent.mkdir(parents=True, exist_ok=True)
        if not has_rows(source, self.how["options"]):
            out.unlink(missing_ok=True)
            return 0
        read = source.stat()
        n_rows = int(predict_file(self.model, source, out, **self.how)["n_rows"])
        os.utime(out, ns=(read.st_atime_ns, read.st_mtime_ns))
        return n_rows

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The same for a batch of Ray's, which is one file."""
        source, out = (Path(str(batch[name][0])) for name in ("source", "out"))
        try:
            return {"n_rows": [self.predict(source, out)], "error": [""]}
        except (ValueError, OSError) as error:
            return {"n_rows": [0], "error": [str(error)]}


def predict_folder(
    model: Path,
    data: Path,
    out: Path,
    *,
    device: str,
    coverage: float,
    keep: Sequence[str],
    options: FileOptions,
    ray: str | None = None,
    progress: Progress = lambda n_rows, share: None,
) -> dict[str, Any]:
    """Predict every file whose predictions are not there yet; what was done, and what before."""
    if out == PIPE or out.is_file() or (is_table(out) and not out.is_dir()):
        got = "" if out == PIPE else f", got the file {out}"
        raise ValueError(f"many files are predicted into a folder{got}: add -o FOLDER")
    if model.is_file() and describe(model).get("task") == "forecast":
        raise ValueError("a folder is for tables, and this model is a forecaster; name a file")
    outputs = _outputs(_inputs(data, out), _fixed_part(data), out)
    how = {"coverage": coverage, "keep": list(keep), "options": options}
    about = _about(model, how)
    make_folder(out)
    wanted = {_name(file, out): _place(source, out) for source, file in outputs.items()}
    _claim(out, about, wanted)
    waiting = {source: file for source, file in outputs.items() if not _is_done(source, file)}
    n_rows, arguments = 0, {"model": model, "device": device, "how": how}
    done = _on_ray(ray, arguments, waiting) if ray else _here(arguments, waiting)

    def left() -> str:
        n = sum(_is_done(*pair) for pair in outputs.items())
        return (
            f"Stopped. {out} has predictions of {n:,} of {counted(len(outputs), 'file')}; run the "
            "same command again to predict the others."
        )

    try:
        with if_stopped(left):
            for i, n in enumerate(done, 1):
                n_rows += n
                progress(n_rows, i / len(waiting))
    finally:
        _keep_record(out, about, wanted)
    missing = [str(s) for s, file in outputs.items() if not file.exists() and has_rows(s, options)]
    if missing:
        raise ValueError(
            f"the predictions of {counted(len(missing), 'file')} were removed during the run, "
            f"such as those of {missing[0]}; run the same command again"
        )
    if not any(file.exists() for file in outputs.values()):
        raise ValueError(
            f"{data}: expected rows to predict, got none in {counted(len(outputs), 'file')}"
        )
    n_before = len(outputs) - len(waiting)
    return {"folder": str(out), "n_rows": n_rows, "n_files": len(waiting), "n_before": n_before}


def _here(arguments: dict[str, Any], waiting: dict[Path, Path]) -> Iterator[int]:
    if waiting:
        predictor = Predictor(**arguments)
        yield from (predictor.predict(*pair) for pair in waiting.items())


def _on_ray(address: str, arguments: dict[str, Any], waiting: dict[Path, Path]) -> Iterator[int]:
    from batchensemble.adapters.ray import connected, map_by_actors

    # Workers may be elsewhere, in other folders.
    items = [
        {"source": str(source.resolve()), "out": str(file.resolve())}
        for source, file in waiting.items()
    ]
    if items:
        arguments = arguments | {"model": arguments["model"].resolve()}
        with connected(address):
            for row in map_by_actors(Predictor, arguments, items):
                if row["error"]:
                    raise ValueError(row["error"])
                yield int(row["n_rows"])


def _fixed_part(data: Path) -> Path:
    """The folder, or that of a pattern: it stays, whatever files come and go."""
    return next(folder for folder in (data, *data.parents) if folder.is_dir())


def _inputs(data: Path, out: Path) -> list[Path]:
    """The files to predict: none in the folder of predictions, unless all of them lie there."""
    sources, place = list_files(data), out.resolve()
    if _fixed_part(data).resolve().is_relative_to(place):
        return sources
    others = [s for s in sources if not s.parent.resolve().is_relative_to(place)]
    if not others:
        raise ValueError(
            f"all files of {data} are in the output folder {out}; name other files, or "
            "another folder with -o"
        )
    return others


def _outputs(sources: Sequence[Path], folder: Path, out: Path) -> dict[Path, Path]:
    """Where the predictions of each file go: as it lies in its folder, so in the other one."""
    outputs, taken = dict[Path, Path](), set[Path]()
    for source in sources:
        file = out / source.relative_to(folder)
        if file.name.lower().endswith((*EXCEL, ".txt")):
            file = file.with_suffix(".csv")
        if file.exists() and file.samefile(source):
            raise ValueError(
                f"the predictions would overwrite the input {source}; choose another folder"
            )
        if file in taken:
            raise ValueError(
                f"{source} and another file would both be predicted into {file}; rename one of "
                "them, or predict them into different folders"
            )
        outputs[source] = file
        taken.add(file)
    return outputs


def _is_done(source: Path, file: Path) -> bool:
    """Whether there are predictions of these rows: they have the time of the file they are of."""
    return file.exists() and abs(file.stat().st_mtime - source.stat().st_mtime) < COARSEST_TIME


def _about(model: Path, how: dict[str, Any]) -> dict[str, Any]:
    """What all predictions of a folder have in common, as its record has it."""
    if model.is_dir():  # the index knows of what rows and settings its models are
        digest = hashlib.sha256(json.dumps(read_index(model), sort_keys=True).encode()).hexdigest()
    else:
        with model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    kept = [name for words in how["keep"] for name in in_commas(words)]
    about = {"model": digest, **how, "keep": kept, "options": asdict(how["options"])}
    return dict(json.loads(json.dumps(about)))


def _claim(out: Path, about: dict[str, Any], wanted: dict[str, str]) -> None:
    """Note the files that are to be made, and of which; refuse those of others.

    They are noted before, so that a run that is killed knows them again.
    """
    with locked(out):
        noted, made = _record(out)
        if made and noted != about:
            raise ValueError(
                f"{out} holds predictions of another model or with other options; choose "
                "another folder, or delete it"
            )
        for name, source in wanted.items():
            if not (out / name).exists():
                continue
            if name not in made:
                why = "exists, and was not written by predict"
            elif made[name] in ("", source):
                continue
            else:
                why = f"has the predictions of {os.path.normpath(out / made[name])}"
            raise ValueError(f"{out / name} {why}; choose another folder, or delete it")
        _write_record(out, about, made | wanted)


def _keep_record(out: Path, about: dict[str, Any], wanted: dict[str, str]) -> None:
    """Forget those of the files that were not made after all: others may come to lie there.

    A run that made none, as with an option that is wrong, leaves the folder to any other.
    """
    with locked(out):
        made = {
            name: source
            for name, source in (_record(out)[1] | wanted).items()
            if name not in wanted or (out / name).exists()
        }
        if made:
            _write_record(out, about, made)
        else:
            (out / ABOUT).unlink(missing_ok=True)


def _record(out: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """How the predictions in a folder were made, nothing if there are none, and of which files."""
    path = out / ABOUT
    if not path.exists():
        return {}, {}
    try:
        about = dict(json.loads(path.read_text()))
        made = about.pop("made", None)
        if made is not None:
            return about, {str(name): str(source) for name, source in made.items()}
    except (ValueError, TypeError, AttributeError):
        about = {"model": "unknown"}
    # versions before did not say: all tables that are there
    return about, {_name(file, out): "" for file in out.rglob("*") if is_table(file)}


def _write_record(out: Path, about: dict[str, Any], made: dict[str, str]) -> None:
    with replacing(out / ABOUT) as file:
        file.write(json.dumps(about | {"made": made}, indent=1, sort_keys=True).encode())


def _place(source: Path, out: Path) -> str:
    """Seen from the other folder, so that both may be moved together."""
    try:
        return Path(os.path.relpath(source.resolve(), out.resolve())).as_posix()
    except ValueError:  # on another drive
        return source.resolve().as_posix()


def _name(file: Path, out: Path) -> str:
    return file.relative_to(out).as_posix()
