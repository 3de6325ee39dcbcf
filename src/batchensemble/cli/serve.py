"""`batchensemble serve`: a model behind HTTP."""

import socket
from pathlib import Path
from typing import Annotated

import typer

from batchensemble.cli.errors import Terminal, plain_warnings
from batchensemble.cli.options import DeviceOption, ModelArgument, option

GRACE = 5  # seconds for open requests, once it is told to stop


def serve(
    model: ModelArgument,
    host: Annotated[
        str, option("Address to listen on; 0.0.0.0 is reachable from other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, option("Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8000,
    max_rows: Annotated[int, option("Maximum number of rows in a request.", min=1)] = 10_000,
    max_mb: Annotated[float, option("Maximum megabytes in a request.", min=0.001)] = 10.0,
    max_steps: Annotated[
        int,
        option(
            "Maximum steps beyond the model's horizon in a request, all series and paths together.",
            min=0,
        ),
    ] = 500_000,
    device: DeviceOption = "auto",
) -> None:
    """Answer requests for predictions over HTTP, until Ctrl-C or SIGTERM.

    `POST /predict` takes rows as JSON or CSV and answers with the columns of `predict`, and with
    `shift`, how unusual a row is (above 1: more so than 95 % of the training rows). A forecaster
    takes the series to continue. `GET /openapi.json` describes the columns; `GET /health` and
    `GET /version` are for the platform around it.

    There are no passwords and no encryption: if others can reach the address, put a proxy that has
    both in front of it.

    `batchensemble serve houses.be`

    `curl localhost:8000/predict -H 'Content-Type: text/csv' --data-binary @new.csv`
    """
    try:
        import uvicorn

        from batchensemble.cli.request_bodies import Limits
        from batchensemble.cli.serving import make_app
    except ImportError as error:
        raise ImportError(
            f"serve needs the package {error.name}: pip install 'batchensemble[serve]'"
        ) from error
    from batchensemble.estimators.joint import JointRegressor
    from batchensemble.estimators.loading import load

    fitted = load(model, device=device)
    if isinstance(fitted, JointRegressor):
        raise ValueError(
            f"{model} predicts several targets, and serve answers for one; fit one for each target"
        )
    app = make_app(fitted, Limits(max_rows, max_mb, max_steps))
    listening = _listen(host, port)
    place = f"http://{_shown(host)}:{listening.getsockname()[1]}"
    typer.echo(f"Serving {Path(model).name} on {place} (Ctrl-C stops)", err=True)
    try:
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE)
        with plain_warnings(Terminal(stderr=True, highlight=False, soft_wrap=True)):
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # also of SIGTERM, after open requests were answered
        typer.echo("Stopped.", err=True)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small answers at once; else they wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise ValueError(
            f"cannot listen on {_shown(host)}:{port} ({error.strerror or error}); choose another "
            "--port or --host, or stop what listens there"
        ) from error
    return listening


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
