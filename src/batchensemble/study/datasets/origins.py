"""Where a dataset is downloaded from: each origin writes its table to a file as CSV."""

import http.client
import socket
import time
import urllib.request
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError, URLError

import sklearn.datasets

TIMEOUT = 10.0  # seconds to wait for a connection, and for each piece of an answer
RETRIES: dict[str, Any] = {"n_retries": 1, "delay": 0.1}  # the fewest scikit-learn takes


@dataclass(frozen=True)
class Web:
    """A CSV file at an address."""

    name: str
    url: str
    timeout: float = TIMEOUT
    longest: float = 300.0  # seconds for the whole file: a trickle is never a timeout
    limit: int = 20_000_000  # bytes

    def __str__(self) -> str:
        return f"{self.name} ({self.url})"

    def fetch(self, path: Path) -> None:
        """Write the table to `path` or raise; after an error the file is of no use."""
        request = urllib.request.Request(self.url, headers={"User-Agent": "batchensemble"})
        start, size = time.monotonic(), 0
        with urllib.request.urlopen(request, timeout=self.timeout) as answer, path.open("wb") as f:
            promised = int(answer.headers.get("Content-Length") or 0)
            while piece := answer.read1(65536):
                size += f.write(piece)
                if max(size, promised) > self.limit:
                    raise ValueError(f"the file is larger than {self.limit:,} bytes")
                if time.monotonic() - start > self.longest:
                    raise TimeoutError
        if size < promised:
            raise ValueError(f"the answer was cut off after {size:,} of {promised:,} bytes")


@dataclass(frozen=True)
class Fetcher:
    """A function of scikit-learn that takes a folder for its files and returns a Bunch."""

    name: str
    call: Callable[[str], Any]
    host: str | None = None  # asked first, once: some fetchers try a dead one several times
    timeout: float = TIMEOUT

    def __str__(self) -> str:
        return self.name

    def fetch(self, path: Path) -> None:
        """As for `Web`."""
        if self.host is not None:
            _knock(self.host, self.timeout)
        before = socket.getdefaulttimeout()
        socket.setdefaulttimeout(self.timeout)  # scikit-learn connects without a timeout
        try:
            with TemporaryDirectory(dir=path.parent) as home, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it tries a second time
                frame = self.call(home).frame
        finally:
            socket.setdefaulttimeout(before)
        # OpenML's Adult has gaps where the original has question marks.
        frame.to_csv(path, index=False, na_rep="?")


Origin = Web | Fetcher


def openml(data_id: int) -> Fetcher:
    def call(home: str) -> Any:
        return sklearn.datasets.fetch_openml(data_id=data_id, as_frame=True, cache=False, **RETRIES)

    return Fetcher(f"OpenML (id {data_id})", call, host="https://www.openml.org")


def california_housing() -> Fetcher:
    fetch = partial(sklearn.datasets.fetch_california_housing, as_frame=True, **RETRIES)
    return Fetcher("the StatLib mirror of scikit-learn", lambda home: fetch(data_home=home))


def reason(error: Exception) -> str:
    """What went wrong, in one short line."""
    if isinstance(error, HTTPError):
        error.close()
        return f"the server answered {error.code} {error.reason}"
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(error, URLError):
        return f"no connection ({cause})"
    if isinstance(error, http.client.HTTPException):
        return f"the answer was cut off or is not HTTP ({type(error).__name__})"
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__


def _knock(url: str, timeout: float) -> None:
    """Raise a URLError unless the host answers, whatever the answer."""
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=timeout).close()
    except HTTPError as error:
        error.close()
