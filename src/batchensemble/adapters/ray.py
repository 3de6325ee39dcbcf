"""Work for a Ray cluster: files by a pool of actors, or calls as tasks; Ray schedules and retries.

All machines of the cluster must see the same folders under the same paths, and have this package.
"""

import logging
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            f"a cluster needs ray, and importing it failed ({error}); pip install "
            "batchensemble[ray]"
        ) from error
    return ray


@contextmanager
def connected(address: str) -> Iterator[None]:
    """A cluster by its address; "local" starts one on this machine, "auto" finds a running one."""
    ray = _ray()
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise ConnectionError(
            f"no Ray cluster at {address!r} ({first}); start one with `ray start --head`, "
            "or use --ray local"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise at once if nobody listens there: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def map_by_actors(
    worker: type, arguments: Mapping[str, Any], items: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """What an actor of that class, made once for each worker, answers to each item.

    An item may be done twice if its machine is lost in between. An error of the worker ends all,
    and loses its type on the way: what is expected to happen belongs into the answer.
    """
    ray = _ray()
    from ray import data

    data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    n_actors = max(1, min(len(items), int(ray.cluster_resources().get("CPU", 1))))
    blocks = data.from_items(list(items), override_num_blocks=len(items))
    done = blocks.map_batches(
        worker,
        fn_constructor_kwargs=dict(arguments),
        batch_size=1,
        compute=data.ActorPoolStrategy(min_size=1, max_size=n_actors),
        num_cpus=1,
    )
    yield from done.iter_rows()


def map_by_tasks(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """The results of calls as they are finished; a task whose machine is lost is run again."""
    ray = _ray()
    from ray.exceptions import RayTaskError

    remote = ray.remote(num_cpus=1, max_retries=-1)(function)
    waiting = [remote.remote(*arguments) for arguments in calls]
    while waiting:
        finished, waiting = ray.wait(waiting, num_returns=1)
        try:
            yield ray.get(finished[0])
        except RayTaskError as error:
            raise error.cause from None  # as it was raised elsewhere
