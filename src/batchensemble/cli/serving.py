"""A fitted model behind HTTP: rows or series in, what `predict` writes out."""

import asyncio
import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, lookup
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.message import Message
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from batchensemble.cli.request_bodies import (
    CSV,
    JSON,
    Limits,
    SeriesRequests,
    TableRequests,
    TooMuch,
)
from batchensemble.cli.request_values import REQUEST
from batchensemble.data.reading import WINDOWS
from batchensemble.data.telling import tell
from batchensemble.data.writing import csv_text
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor
from batchensemble.modelfile.version import VERSION

COVERAGE = 0.9
CSVS = CSV, "application/csv"
MARKS = BOM_UTF16_LE, BOM_UTF16_BE
CHARSETS = re.compile(  # some others, such as punycode, take minutes
    r"utf-8|utf-16(-le|-be)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-[a-z]+"
    r"|shift_jis|euc_(jp|kr)|gb2312|gbk|gb18030|big5"
)


def make_app(model: Regressor | Classifier | Forecaster, limits: Limits) -> FastAPI:
    """`POST /predict`, `GET /health`, `GET /version`, and the schema at `/openapi.json`."""
    is_series = isinstance(model, Forecaster)
    service: Any = (SeriesRequests if is_series else TableRequests)(model, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.prepare)
        yield

    # The pages of documentation would load scripts from elsewhere.
    app = FastAPI(
        title="batchensemble", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None
    )

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/version")
    async def about() -> dict[str, Any]:
        fitted = {"estimator": type(model).__name__, "fitted_at": model.fitted_at_}
        return {"batchensemble": VERSION, **fitted}

    @app.post("/predict", openapi_extra={"requestBody": {"content": service.schema()}})
    async def predict(request: Request) -> Response:
        with _as_responses():
            kind, charset = _content_type(request.headers.get("content-type", ""))
            is_csv = kind in CSVS
            body = _in_utf8(await _read(request, limits), charset, is_csv=is_csv)
            coverage = _coverage(request.query_params.multi_items(), is_csv=is_csv)
            frame, notes = await service.answer(body, is_csv, coverage)
            if is_csv:
                return Response(csv_text(frame), media_type=CSV)
            return Response(_as_json(frame, notes), media_type=JSON)

    return app


async def _read(request: Request, limits: Limits) -> bytes:
    """The body, as long as it is within the limits."""
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > limits.megabytes * 1e6:
            raise TooMuch(f"expected at most {limits.megabytes:g} MB, got more; send fewer rows")
    return b"".join(parts)


def _content_type(header: str) -> tuple[str, str | None]:
    """The type of a body, in small letters, and its charset."""
    message = Message()
    message["content-type"] = header
    return message.get_content_type(), message.get_content_charset()


def _in_utf8(body: bytes, charset: str | None, *, is_csv: bool) -> bytes:
    """As `reading` and JSON take it; without a charset they know UTF-8 and guess others."""
    if not charset:
        if is_csv and not body.startswith(MARKS) and not _is_utf8(body):
            tell(
                f"{REQUEST} is not UTF-8: read as {WINDOWS}; if letters look wrong, name the "
                "charset in its Content-Type",
                1,
            )
        return body
    try:
        if not CHARSETS.fullmatch(lookup(charset).name):
            raise LookupError(charset)
        return body.decode(charset).encode()
    except LookupError:
        raise ValueError(
            "expected a charset such as utf-8 or iso-8859-2 in the Content-Type, got "
            f"{charset!r:.80}; name the one that the body has"
        ) from None
    except UnicodeError as error:
        raise ValueError(
            f"expected a body in {charset}, as its Content-Type says, got other bytes "
            f"({error!s:.200}); name the one that the body has"
        ) from None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _as_responses() -> Iterator[None]:
    """Errors of a request as 422, or as 413 where it is too large."""
    try:
        yield
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        is_long = any(each["type"] == "too_long" for each in wrong)
        words = "; ".join(map(_in_words, wrong[:5]))
        more = f"; and {len(wrong) - 5:,} more errors" if len(wrong) > 5 else ""
        raise HTTPException(413 if is_long else 422, words + more) from None
    except ClientDisconnect:  # nobody reads the answer, and the log is no place for it
        raise HTTPException(400, "the request ended before its body was complete") from None
    except asyncio.CancelledError:
        raise HTTPException(503, "the server has stopped") from None
    except TooMuch as error:
        raise HTTPException(413, str(error)) from None
    except ValueError as error:
        raise HTTPException(422, str(error)) from None


def _in_words(error: Any) -> str:
    """One error of a JSON request: the row, from 1, and the column, as in those of files."""
    place = list(error["loc"])
    got = (
        ""
        if error["type"] in ("missing", "too_long", "json_invalid")
        else f", got {error['input']!r:.80}"
    )
    if len(place) > 2 and isinstance(place[1], int):
        where = f"{place[0]}, row {place[1] + 1}, column {str(place[2])!r}"
    else:
        where = ", ".join(map(str, place)) or REQUEST
    return f"{where}: {error['msg']}{got}"


def _coverage(parameters: list[tuple[str, str]], *, is_csv: bool) -> float:
    """The one parameter that an address may have, and only that of a CSV, which has no fields."""
    if not parameters:
        return COVERAGE
    name, word = parameters[-1]
    if len(parameters) > 1 or name != "coverage" or not is_csv:
        expected = "only the parameter coverage, once," if is_csv else "no parameter for JSON"
        cure = "" if is_csv else "; write it as a field of the body"
        raise ValueError(f"expected {expected} in the address, got {name!r:.80}{cure}")
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not 0.01 <= value <= 0.999:
        raise ValueError(f"expected a coverage between 0.01 and 0.999, got {word!r:.80}")
    return value


def _as_json(frame: pd.DataFrame, notes: tuple[str, ...]) -> str:
    """Rows as objects, and notes if there are any; what is not finite is null, dates are texts."""
    names = list(frame)
    columns = [frame[name].tolist() for name in names]
    rows = [
        {
            n: None if isinstance(v, float) and not isfinite(v) else v
            for n, v in zip(names, row, strict=True)
        }
        for row in zip(*columns, strict=True)
    ]
    noted = {"notes": notes} if notes else {}
    return json.dumps({"predictions": rows, **noted}, allow_nan=False, default=str)
