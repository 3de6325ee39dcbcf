"""Where a training stands, in one file, from which a killed training goes on."""

import io
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from batchensemble.modelfile.files import check_writable, replacing

SECONDS = 30.0  # between two writes
DIGEST = 32  # bytes, before the content: torch does not see a bit that changed


class Checkpoint:
    """A file that is replaced from time to time; `run` says which training it belongs to."""

    def __init__(self, path: Path, run: str, seconds: float = SECONDS) -> None:
        self.path, self.run, self.seconds = path, run, seconds
        self.written = time.monotonic()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self.written >= self.seconds

    def read(self) -> dict[str, Any] | None:
        """What was written last, by this run; None if nothing was.

        Training would find out late that the file cannot be written, and would wait for a pipe.
        """
        check_writable(self.path)
        if not self.path.exists():
            return None
        content = self.path.read_bytes()
        digest, content = content[:DIGEST], content[DIGEST:]
        if sha256(content).digest() != digest:
            raise ValueError(
                f"{self.path} exists, but is not a checkpoint, or is damaged; choose another path"
            )
        state: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True)
        run = state.pop("run")
        if run != self.run:
            raise ValueError(
                f"the checkpoint {self.path} is from another fit (other rows, settings or "
                "seed); delete it, or choose another path"
            )
        return state

    def write(self, state: dict[str, Any]) -> None:
        content = io.BytesIO()  # torch itself would not say that the disk is full
        torch.save(state | {"run": self.run}, content)
        with replacing(self.path) as file:
            file.write(sha256(content.getbuffer()).digest())
            file.write(content.getbuffer())
        self.written = time.monotonic()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
