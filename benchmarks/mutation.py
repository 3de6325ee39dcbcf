"""How many small faults in the code do the tests notice? A random sample, scored per room.

    python -m venv build/cosmic && build/cosmic/bin/pip install cosmic-ray==8.7.0
    build/cosmic/bin/python benchmarks/mutation.py

A fault is one change by an operator of cosmic-ray (`<` to `<=`, `+` to `-`, a number plus one, a
decorator removed, ...). Places in the code are drawn at random, each with one of its changes: so a
`+`, which can be replaced in a dozen ways, counts once. Type annotations are left out. Each fault
runs, in a copy of the code, against the tests that mirror its file; a run over its time limit has
noticed it. Results are kept in build/mutation, so that a stopped run goes on; `--again` runs the
survivors once more, after tests were added.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOMS = ("predictive", "conformal", "modelfile", "training")
KERNELS = {"fused", "cuda"}
ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/batchensemble")
OUT = ROOT / "build" / "mutation"


class Mutant(NamedTuple):
    file: str
    line: int
    operator: str
    occurrence: int
    source: str  # a digest: a result belongs to one version of the file

    @property
    def room(self) -> str:
        return Path(self.file).relative_to(PACKAGE).parts[0]


def annotations(code: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """From where to where the type annotations go."""
    spans = []
    for node in ast.walk(ast.parse(code)):
        for each in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(each, ast.expr):
                start, end = (each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset)
                spans.append((start, end))
    return spans


def places(file: Path) -> list[list[Mutant]]:
    """The mutants of a file, those of one place together."""
    code = (ROOT / file).read_text()
    digest, skipped = hashlib.sha256(code.encode()).hexdigest()[:12], annotations(code)
    found = defaultdict(list)
    tree = get_ast(code)
    for name in sorted(operator_names()):
        if get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        spans = (span for node in ast_nodes(tree) for span in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(spans):
            if not any(first <= start and end <= last for first, last in skipped):
                mutant = Mutant(str(file), start[0], name, occurrence, digest)
                found[start, end].append(mutant)
    return [found[place] for place in sorted(found)]


def sample(size: int, seed: int) -> tuple[list[Mutant], dict[str, int]]:
    """Mutants from the rooms in proportion to their places; the number of places of each room."""
    draw, rooms = random.Random(seed), {}
    for room in ROOMS:
        files = sorted((ROOT / PACKAGE / room).rglob("*.py"))
        kept = [file.relative_to(ROOT) for file in files if not KERNELS & set(file.parts)]
        rooms[room] = [place for file in kept for place in places(file)]
    total = sum(map(len, rooms.values()))
    chosen = []
    for found in rooms.values():
        for place in draw.sample(found, round(size * len(found) / total)):
            chosen.append(draw.choice(place))
    return chosen, {room: len(found) for room, found in rooms.items()}


def mirrored(file: str) -> list[str]:
    """The tests of a file: `test_` and its name, or else those of its folder."""
    path = Path(file).relative_to(PACKAGE)
    tests = ROOT / "tests" / path.parent
    own = tests / f"test_{path.name}"
    return [str(own)] if own.exists() else [str(test) for test in sorted(tests.glob("test_*.py"))]


def passes(tests: list[str], python: str, limit: float) -> bool | None:
    """Whether they pass; None if they took too long. Without the slow ones."""
    paths = os.pathsep.join(map(str, (OUT / "src", ROOT / "tests")))
    command = [python, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    settings = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        ["nice", "-n", "10", *command, *tests],
        cwd=ROOT,
        env=settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        try:
            return run.wait(limit) == 0
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 9)
            return None


def judge(mutant: Mutant, python: str, usual: dict[str, float]) -> str:
    """Run the mirrored tests against the mutant, and put the file right again."""
    tests, copy = mirrored(mutant.file), OUT / mutant.file
    code = copy.read_text()
    if mutant.file not in usual:
        start = time.monotonic()
        if not passes(tests, python, 600):
            raise SystemExit(f"the tests of {mutant.file} fail before any change; mend them first")
        usual[mutant.file] = time.monotonic() - start
    copy.write_text(mutate_code(code, get_operator(mutant.operator)(), mutant.occurrence))
    try:
        passed = passes(tests, python, 30 + 4 * usual[mutant.file])
    finally:
        copy.write_text(code)
    return {True: "survived", False: "killed", None: "timeout"}[passed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="run the survivors once more")
    parser.add_argument("--python", default=str(ROOT / ".venv" / "bin" / "python"))
    options = parser.parse_args()

    mutants, sizes = sample(options.size, options.seed)
    shutil.copytree(ROOT / "src", OUT / "src", dirs_exist_ok=True)
    kept = OUT / "results.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    results = {Mutant(*mutant): outcome for mutant, outcome in map(json.loads, lines)}
    usual: dict[str, float] = {}
    with suppress(KeyboardInterrupt):  # then, the score so far
        for count, mutant in enumerate(mutants, 1):
            old = results.get(mutant)
            if old is None or (old == "survived" and options.again):
                results[mutant] = judge(mutant, options.python, usual)
                with kept.open("a") as file:
                    file.write(json.dumps([mutant, results[mutant]]) + "\n")
            if results[mutant] == "survived" or results[mutant] != old:
                text = f"{mutant.file}:{mutant.line} {mutant.operator} {mutant.occurrence}"
                print(f"{count:4d} {results[mutant]:8s} {text}", flush=True)

    print(f"\n{'room':12s}{'places':>8s}{'tried':>8s}{'noticed':>9s}{'score':>8s}")
    for name in (*ROOMS, "all"):
        tried = [one for one in mutants if one in results and name in (one.room, "all")]
        noticed = sum(results[one] != "survived" for one in tried)
        size = sum(sizes.values()) if name == "all" else sizes[name]
        score = f"{noticed / len(tried):.0%}" if tried else "-"
        print(f"{name:12s}{size:8d}{len(tried):8d}{noticed:9d}{score:>8s}")


if __name__ == "__main__":
    main()
