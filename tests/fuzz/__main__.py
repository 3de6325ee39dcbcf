"""Many cases, in processes of their own: `python -m fuzz --cases 10000 --seed 0`.

Progress is kept in build/fuzz/SEED.json, so that a run that was stopped goes on. Every failure is
made smaller and written to build/fuzz/failures; once it is mended, move its file to
tests/fuzz/corpus, which `make test` replays.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from fuzz.cases import KINDS, minimal, planned, prepare, result_of
from fuzz.outcomes import MOST_SECONDS, REFUSED, is_failure

BLOCK = 50
PATIENCE = MOST_SECONDS + 90  # seconds, with the start of a process
COMPILATION = 900  # seconds until the first case
ALIKE = 30  # letters, in which a smaller case fails like the one found
OUT = Path("build/fuzz")


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind")
    parser.add_argument("--worker", nargs=3, metavar=("KIND", "START", "STOP"))
    parser.add_argument("--replay", type=Path, help="one case from a file")
    asked = parser.parse_args()
    if asked.worker:
        return work(asked.worker[0], asked.seed, *map(int, asked.worker[1:]))
    if asked.replay:
        case = json.loads(asked.replay.read_text())
        print(result := result_of(case["kind"], case["plan"]))
        return int(is_failure(result))
    return attack(asked.cases, asked.seed, asked.kind or KINDS, asked.jobs)


def work(kind: str, seed: int, start: int, stop: int) -> int:
    """In a process of its own: a line before each case, and one after it."""
    import torch

    torch.set_num_threads(1)
    prepare(kind)
    for number in range(start, stop):
        print(json.dumps([number, None]), flush=True)
        print(json.dumps([number, result_of(kind, planned(kind, seed, number))]), flush=True)
    return 0


def attack(n_cases: int, seed: int, kinds: Any, n_jobs: int) -> int:
    path = OUT / f"{seed}.json"
    state: dict[str, Any] = {"done": {}, "counts": {}, "failures": []}
    if path.is_file():
        state = json.loads(path.read_text())
    started = time.monotonic()
    each = -(-n_cases // len(kinds))
    with ThreadPoolExecutor(n_jobs) as pool:
        running = {}
        for first in range(0, each, BLOCK):
            for kind in kinds:
                start = state["done"].get(f"{kind} {first}", first)
                stop = min(first + BLOCK, each)
                if start < stop:
                    block = pool.submit(run_block, kind, seed, start, stop)
                    running[block] = kind, first, stop
        try:
            for block in as_completed(running):
                kind, first, stop = running[block]
                for name, value in block.result():
                    if name == "failure":
                        state["failures"].append(value)
                    state["counts"][name] = state["counts"].get(name, 0) + 1
                state["done"][f"{kind} {first}"] = stop
                OUT.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(state, indent=1))
                took = time.monotonic() - started
                print(f"{took:6.0f} s  {kind}: {first} to {stop} of {each}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    counts, failures = state["counts"], state["failures"]
    print(f"seed {seed}: {sum(counts.values()):,} cases, {counts}, {len(failures)} failures")
    for failure in failures:
        print(f"{failure['kind']} {failure['number']}: {failure['result']}")
    return int(bool(failures))


def run_block(kind: str, seed: int, start: int, stop: int) -> list[tuple[str, Any]]:
    """Cases in one process, or, where one ends it, in several: results, and files of failures."""
    results: list[tuple[str, Any]] = []
    while start < stop:
        words = ["--seed", str(seed), "--worker", kind, str(start), str(stop)]
        process = subprocess.Popen(
            [sys.executable, "-m", "fuzz", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for number, result in answers(process):
            if result == REFUSED or not is_failure(result):
                results.append((result, None))
            else:
                results.append(("failure", written(kind, seed, number, result)))
            start = number + 1
        if not results:
            command = " ".join(process.args[1:])
            raise ChildProcessError(f"no answer from `python {command}`; run it to see why")
    return results


def answers(process: Any) -> Any:
    """(number, result) of each case; one that ends the process, or never ends, is a failure."""
    current, buffer = None, None
    while True:
        patience = PATIENCE if buffer is not None else COMPILATION
        ready, _, _ = select.select([process.stdout], [], [], patience)
        chunk = os.read(process.stdout.fileno(), 65536) if ready else b""
        if not chunk:
            process.kill()
            code = process.wait()
            if current is not None:
                yield current, "hangs" if not ready else f"ends the process with {code}"
            return
        buffer = (buffer or b"") + chunk
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            number, result = json.loads(line)
            current = number if result is None else None
            if result is not None:
                yield number, result


def written(kind: str, seed: int, number: int, result: str) -> dict[str, Any]:
    """A failure as a file, as small as it gets."""
    (OUT / "failures").mkdir(parents=True, exist_ok=True)
    path = OUT / "failures" / f"{kind}-{seed}-{number}.json"

    def write(plan: Any) -> None:
        case = {"kind": kind, "plan": plan, "result": result, "number": number}
        path.write_text(json.dumps(case, indent=1) + "\n")

    def fails(plan: Any) -> bool:
        write(plan)
        words = [sys.executable, "-m", "fuzz", "--replay", str(path)]
        done = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)
        return done.returncode != 0 and result[:ALIKE].encode() in done.stdout

    plan = planned(kind, seed, number)
    if ":" in result:  # an exception; what ends a process or hangs is kept as it is
        plan = minimal(plan, fails)
    write(plan)
    return {"kind": kind, "number": number, "result": result, "file": str(path)}


if __name__ == "__main__":
    sys.exit(main())
