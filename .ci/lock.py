"""Write requirements.lock: every version of constraints.txt with the hashes of its files.

`python .ci/lock.py URL`, with the address of a package index (its "simple" pages), after a change
of constraints.txt. torch is left out: its builds for a CPU or a GPU come from their own index,
and it is installed by constraints.txt.
"""

import re
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
EXCEPTED = {"torch"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes(index: str, name: str, version: str) -> list[str]:
    """SHA-256 of the wheels and the source of one version."""
    with urllib.request.urlopen(f"{index}/{normal(name)}/", timeout=60) as answer:
        page = answer.read().decode()
    found = set()
    for file, digest in re.findall(r"/([^/\"#]+)#sha256=([0-9a-f]{64})", page):
        stem = file.removesuffix(".tar.gz").removesuffix(".zip")
        its_name, its_version = (
            file.split("-")[:2] if file.endswith(".whl") else stem.rsplit("-", 1)
        )
        if normal(its_name) == normal(name) and its_version == version:
            found.add(digest)
    return sorted(found)


def main(index: str) -> None:
    lines = []
    for line in (HERE.parent / "constraints.txt").read_text().splitlines():
        name, _, version = line.partition("==")
        if not version or normal(name) in EXCEPTED:
            continue
        digests = hashes(index, name, version)
        if not digests:
            raise SystemExit(f"no files of {name} {version} were found; check constraints.txt")
        lines.append(" \\\n".join([line, *(f"    --hash=sha256:{digest}" for digest in digests)]))
    (HERE / "requirements.lock").write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} packages")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
