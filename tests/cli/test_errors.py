import errno
import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import typer
from sample_files import QUICK, houses, sales
from typer.testing import CliRunner

from batchensemble import load
from batchensemble.cli.app import app
from batchensemble.cli.errors import about_file, one_line_errors
from batchensemble.training.loop import TrainingDiverged


def test_a_reader_who_has_read_enough_is_no_error(shell):
    rows = shell.read("new.csv", dtype=str)
    pd.concat([rows] * 500).to_csv(shell.folder / "many.csv", index=False)
    program = f"{sys.executable} -c 'from batchensemble.cli.app import app; app()'"
    for command, reader in (
        ("predict price.be many.csv", "head -n 1"),
        ("inspect price.be", "true"),
    ):
        line = f"{program} {command} | {reader}; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1:] == ["141"]
        assert done.stderr == ""


def test_a_reader_who_has_read_enough_costs_no_model(shell):
    program = f"{sys.executable} -c 'from batchensemble.cli.app import app; app()'"
    fit = "fit houses.csv --target price --epochs 1 --preset fast -o 'kept for later.be'"
    line = f"{program} {fit} | head -n 0; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["141"], "")
    assert load(shell.folder / "kept for later.be").epochs == 1


def test_the_next_command_is_one_that_a_shell_can_read(shell):
    fit = ["fit", "houses.csv", "--target", "price", "--epochs", "1", "-o", "a model.be"]
    assert "Next: batchensemble predict 'a model.be' new.csv" in CliRunner().invoke(app, fit).output


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit none.csv -t y", "there is no file none.csv"),
        (
            "fit houses.ods -t y",
            "expected a .csv, .csv.gz, .tsv, .txt, .xlsx, .parquet or .feather file",
        ),
        ("fit houses.csv -t prise", "got 'prise'; did you mean 'price'?"),
        ("fit houses.csv -t price --drop are", "did you mean 'area'?"),
        ("fit houses.csv -t town --task regression", ", got words such as"),
        ("fit houses.csv -t id", "id has 120 distinct text values in 120 rows; choose another"),
        ("fit houses.csv -t country", "expected 'country' to vary"),
        (
            "fit houses.csv -t price -o none/m.be",
            "expected a folder for none/m.be, got none at none; make it first",
        ),
        (
            "fit houses.csv -t price -o houses.csv",
            "such as m.be, got the name of a table: houses.csv",
        ),
        ("fit houses.csv -t price -o other.parquet", "got the name of a table: other.parquet"),
        ("fit empty.csv -t price", "empty.csv is empty"),
        ("fit heads.csv -t price", "got no rows"),
        ("fit twice.csv -t a", "got more than once: 'a'"),
        ("fit lone.csv -t a", "expected a column besides the target 'a'"),
        ("fit bytes.csv -t a", "got the byte 0x81 in line 2; add --encoding, or save it as UTF-8"),
        ("predict sales.be odd.csv", "resample to one frequency, or fit with another --freq"),
        ("fit sales.csv -t sales --time moth", "did you mean 'month'?"),
        (
            "fit sales.csv -t sales --time store",
            "expected dates such as 2026-01-31 or whole num",
        ),
        (
            "fit sales.csv -t sales --time month",
            "sales.csv: expected one row for each series and time, got more than one for",
        ),
        ("fit sales.csv -t sales --time month", "or name the column that tells series apart"),
        (
            "fit gappy.csv -t sales --time month --series store --preset paper",
            "gappy.csv: series 'north': expect",
        ),
        (
            "predict sales.be zoned.csv",
            "zoned.csv, line 2, column 'month': expected a time without",
        ),
        ("evaluate sales.be zoned.csv", "got 2018-01-01T00:00Z; write all times alike"),
        ("fit houses.csv -t price --device tpu9", "expected device"),
        ("predict none.be new.csv", "none.be"),
        ("predict houses.csv new.csv", "houses.csv is not a batchensemble model"),
        ("predict price.be", "name a file with rows to predict"),
        ("predict price.be none.csv", "there is no file none.csv"),
        ("predict price.be sales.csv", "missing columns that the model learned from"),
        ("predict price.be renamed.csv", "learned from: 'rooms' (did you mean 'Rooms'?)"),
        ("predict price.be wrong.csv", "wrong.csv, line 4, column 'rooms': expected a finite num"),
        ("predict price.be heads.csv", "missing columns that the model learned from"),
        ("predict price.be new.csv -o out.txt", "got out.txt"),
        (
            "predict price.be new.csv -o none/out.csv",
            "expected a folder for none/out.csv, got none at none",
        ),
        ("predict price.be new.csv --keep idd", "did you mean 'id'?"),
        (
            "predict price.be named.csv --keep mean",
            "a column with the name of a prediction: 'mean'",
        ),
        ("predict price.be new.csv --horizon 3", "this model predicts a table"),
        ("predict sales.be --keep store", "--keep is for tables, and this model is a forecaster"),
        ("fit houses.csv -t price -o -", "the model needs a file name"),
        (
            "evaluate price.be new.csv",
            "missing the target: 'price'",
        ),
        ("evaluate price.be test.csv -o report.pdf", "expected the name of an .html file"),
        ("evaluate town.be moved.csv", "expected a class that the model knows"),
        ("evaluate sales.be sales.csv", "expected at least 4 new steps of a series"),
        ("inspect houses.csv", "houses.csv is not a batchensemble model"),
        ("export price.be model.pb", "expected a file name that ends in .onnx"),
    ],
)
def test_a_mistake_is_answered_in_one_line_that_names_it(shell, command, words):
    new = shell.read("new.csv", dtype=str)
    (shell.folder / "empty.csv").write_text("")
    (shell.folder / "heads.csv").write_text("a,price\n")
    (shell.folder / "twice.csv").write_text("a,a\n1,2\n")
    (shell.folder / "lone.csv").write_text("a\n1\n2\n")
    (shell.folder / "bytes.csv").write_bytes(b"a,b\nK\x81ln,1\n")
    new.rename(columns={"rooms": "Rooms"}).to_csv("renamed.csv", index=False)
    new.assign(rooms=["1", "2", "many", *["3"] * 27]).to_csv("wrong.csv", index=False)
    new.assign(mean=1).to_csv("named.csv", index=False)
    houses(20).assign(town="Köln").to_csv("moved.csv", index=False)
    sales().drop(7).to_csv("gappy.csv", index=False)
    days = pd.date_range("2022-01-01", periods=60, freq="15D").strftime("%Y-%m-%d")
    sales()[:60].assign(month=days).to_csv("odd.csv", index=False)
    sales().assign(month=lambda f: f["month"] + "T00:00Z").to_csv("zoned.csv", index=False)
    before = {path.name: path.read_bytes() for path in shell.folder.iterdir()}
    done = shell(*command.split(), code=1)
    assert done.stdout == "" or command.startswith("fit")
    assert words in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in shell.folder.iterdir()} == before


@pytest.mark.parametrize("command", ["inspect models", "serve models", "export models m.onnx"])
def test_a_folder_of_models_is_answered_with_one_of_them(shell, command):
    (shell.folder / "models").mkdir()
    (shell.folder / "models" / "a.be").write_text("")
    said = shell(*command.split(), code=1).stderr
    assert "got the folder models; name a model inside it, such as models/a.be" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "fit houses.csv",
        "fit houses.csv -t price --method batch",
        "fit houses.csv -t price --task forecast",
        "fit houses.csv -t price --horizon 3",
        "fit sales.csv -t sales --time month --task regression",
        "predict price.be new.csv --coverage 90",
        "fitt houses.csv",
    ],
)
def test_a_command_that_is_not_understood_ends_with_2(shell, command):
    shell(*command.split(), code=2)


def test_an_interruption_is_130_and_writes_nothing(shell, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("batchensemble.cli.predictions.prediction_columns", stop)
    done = shell("predict", "price.be", "new.csv", "-o", "out.csv", code=130)
    assert done.stderr == "Stopped. Nothing was written.\n"
    assert not [path for path in shell.folder.iterdir() if "out" in path.name]
    monkeypatch.setattr("batchensemble.cli.holdout.hold_out", stop)
    shell("fit", "houses.csv", "-t", "price", code=130)
    assert not (shell.folder / "houses.be").exists()
    words = ("fit", "houses.csv", "-t", "price", "--checkpoint", "half.ckpt")
    assert "continue from half.ckpt" in shell(*words, code=130).stderr


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_under_the_final_name(shell):
    big = pd.concat([shell.read("new.csv", dtype=str)] * 8000)
    big.to_csv("big.csv", index=False)
    code = "from batchensemble.cli.app import app; app()"
    words = ["predict", "price.be", "big.csv", "-o", "out.csv"]
    process = subprocess.Popen([sys.executable, "-c", code, *words])
    deadline = time.monotonic() + 120
    while not list(shell.folder.glob(".?*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (shell.folder / "out.csv").exists()


@pytest.mark.parametrize("words", ["series 'a': expected more rows", "expected more rows"])
def test_a_file_is_named_by_what_was_done_with_it_and_not_by_the_words_of_the_error(words):
    with pytest.raises(ValueError, match=rf"^f\.csv: {words}$"), about_file("f.csv"):
        raise ValueError(words)
    with pytest.raises(ValueError, match=rf"^{words}$"), about_file(None):
        raise ValueError(words)


def test_a_device_that_is_not_here_is_no_fault_of_the_file(shell):
    words = ("-t", "sales", "--time", "month", "--series", "store", "--device", "tpu9")
    assert shell("fit", "sales.csv", *words, code=1).stderr.startswith("Error: expected device")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("odd\nlines"), "this is a bug: RuntimeError: odd lines; please"),
        (KeyError("key"), "this is a bug: KeyError: 'key'; please report it"),
        (MemoryError(), "out of memory; use fewer rows"),
        (RuntimeError("can't allocate memory: 9 bytes"), "out of memory; use fewer"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device: out.csv was"),
        (OSError(errno.EIO, "Input/output error", "some.csv"), "Input/output error: some.csv"),
        (ValueError("two\nlines"), "Error: two lines"),
        (TrainingDiverged("try a smaller lr"), "Error: try a smaller lr"),
    ],
)
def test_every_exception_ends_in_one_line_and_a_code(shell, monkeypatch, error, words):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("batchensemble.cli.predictions.prediction_columns", fail)
    done = shell("predict", "price.be", "new.csv", "-o", "out.csv", code=1)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (shell.folder / "out.csv").exists()


def test_a_traceback_is_shown_to_who_asks_for_it(shell, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("odd")

    monkeypatch.setattr("batchensemble.cli.predictions.prediction_columns", fail)
    done = CliRunner(env={"BATCHENSEMBLE_TRACEBACK": "1"}).invoke(
        app, ["predict", "price.be", "new.csv"]
    )
    assert isinstance(done.exception, RuntimeError)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit houses.csv -t price --device meta", "expected device to be 'auto' or a device of"),
        ("fit houses.csv -t price --members 100000000", "00,000,000 members of"),
        ("fit houses.csv -t price --method deep_ensemble --members 100000000", "GiB in training"),
        ("fit sales.csv -t sales --time month --series store --members 100000000", "GiB in train"),
        ("inspect pipe", "got a pipe or device: pipe"),
        ("predict pipe new.csv", "got a pipe or device: pipe"),
        ("predict sales.be --horizon 90000", "paths of 90,000 steps do not fit into memory"),
    ],
)
def test_what_would_hang_or_fill_the_memory_is_refused(shell, command, words):
    os.mkfifo("pipe")
    done = shell(*command.split(), code=1)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_terminated_process_cleans_up(shell):
    big = pd.concat([shell.read("new.csv", dtype=str)] * 4000)
    big.to_csv("big.csv", index=False)
    code = "from batchensemble.cli.app import app; app()"
    words = ["predict", "price.be", "big.csv", "-o", "out.csv"]
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(shell.folder.glob(".out*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (143, b"Stopped. Nothing was written.\n")
    assert not [path.name for path in shell.folder.iterdir() if "out" in path.name]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_counts_even_where_python_makes_another_error_of_it(number, code):
    class Stops:
        def __set_name__(self, owner, name):
            signal.raise_signal(number)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers ignore it
    try:
        with pytest.raises(typer.Exit) as ended, one_line_errors():
            type("Imported", (), {"part": Stops()})
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.exit_code == code


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["predict price.be new.csv", "fit --help", "--help", ""])
def test_a_full_standard_output_is_named(shell, command):
    code = "from batchensemble.cli.app import app; app()"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert done.stderr == b"Error: No space left on device: standard output\n"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("predict price.be new.csv -o out.csv <&-", 0, "30 rows: out.csv"),
        ("predict price.be - <&-", 1, "Error: standard input is closed"),
        ("predict price.be new.csv >&-", 1, "Error: standard output is closed; write to a file"),
    ],
)
def test_a_closed_stream_is_missed_by_who_needs_it_alone(shell, command, code, words):
    program = f"{sys.executable} -c 'from batchensemble.cli.app import app; app()'"
    line = ["bash", "-c", f"{program} {command}"]
    done = subprocess.run(line, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert done.stderr.startswith(words)


def test_letters_that_an_output_does_not_know_cost_no_model(shell):
    houses().rename(columns={"area": "größe 🏠"}).to_csv("letters.csv", index=False)
    program = [sys.executable, "-c", "from batchensemble.cli.app import app; app()"]
    env = os.environ | {"PYTHONIOENCODING": "cp1252"}

    def run(*words):
        done = subprocess.run([*program, *words], capture_output=True, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = run("fit", "letters.csv", "-t", "price", "-o", "letters.be", "--epochs", "1")
    assert "größe ?" in told.decode("cp1252")
    assert any(
        "🏠" in column["name"]
        for column in json.loads(run("inspect", "letters.be", "--json"))["columns"]
    )
    rows = run("predict", "letters.be", "letters.csv", "-o", "-", "--keep", "größe 🏠")
    assert rows.decode("utf-8").startswith("größe 🏠,mean")  # as in a file


def test_names_from_files_cannot_command_the_terminal(shell):
    odd = "ar\x1b]0;title\x07ea\x9b31m"
    shell.read("houses.csv").rename(columns={"area": odd}).to_csv("odd.csv", index=False)
    said = [shell("fit", "odd.csv", "-t", "price", "-o", "odd.be", *QUICK)]
    said += [shell("inspect", "odd.be"), shell("fit", "odd.csv", "-t", odd + "x", code=1)]
    for done in said:
        assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr)
        assert "ar\\x1b]0;title\\x07ea\\x9b31m" in done.stdout + done.stderr


def test_a_width_of_zero_is_one_that_is_not_known(shell):
    code = "from batchensemble.cli.app import app; app()"
    for words in (["inspect", "price.be"], ["fit", "--help"]):
        said = []
        for columns in ("0", "80"):
            environment = {**os.environ, "COLUMNS": columns}
            done = subprocess.run(
                [sys.executable, "-c", code, *words],
                capture_output=True,
                text=True,
                env=environment,
            )
            said.append(done.stdout)
        assert said[0].split() == said[1].split() != []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_counts_even_where_python_drops_what_it_raises(number, code):
    class Stops:
        def __del__(self):
            signal.raise_signal(number)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers ignore it
    hook = sys.unraisablehook
    try:
        with pytest.raises(typer.Exit) as ended, one_line_errors():
            time.sleep(60 if Stops() else 0)  # by then it is gone
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ended.value.exit_code, sys.unraisablehook) == (code, hook)


def test_a_link_to_itself_is_answered_in_one_line(shell):
    os.symlink("loop.csv", "loop.csv")
    said = shell("predict", "price.be", "new.csv", "-o", "loop.csv", code=1).stderr
    assert said.count("\n") == 1
    assert "loop" in said
    assert "bug" not in said


def test_an_index_that_is_nested_too_deep_is_not_read(towns):
    towns("fit", "towns.csv", "-t", "price", *QUICK, "--by", "town", "-o", "models")
    (towns.folder / "models" / "index.json").write_text("[" * 100_000)
    assert "cannot be read" in towns("predict", "models", "new.csv", code=1).stderr
