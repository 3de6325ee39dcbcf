import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import warnings

import pytest

from batchensemble.cli.serve import _listen
from batchensemble.data.telling import BatchEnsembleWarning

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

START = "from batchensemble.cli.app import app; app()"


def test_a_port_that_is_taken_is_one_line_that_says_so(shell):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = shell("serve", "price.be", "--port", port, code=1).stderr
    assert f"cannot listen on 127.0.0.1:{port}" in done
    assert "choose another --port" in done


def test_without_the_extra_it_says_what_to_install(shell, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'batchensemble[serve]'" in shell("serve", "price.be", code=1).stderr


def test_a_warning_is_one_plain_line_of_the_log_once(shell, monkeypatch):
    text = "column 'area' has numbers far from those of fit; " * 4

    def run(_, sockets):
        sockets[0].close()
        for _ in range(2):
            warnings.warn(text, BatchEnsembleWarning, stacklevel=1)

    monkeypatch.setattr("uvicorn.Server.run", run)
    said = shell("serve", "price.be", "--port", 0).stderr.splitlines()
    assert said[1:] == [f"Warning: {text}"]


def test_help_says_that_it_listens_here_alone(shell):
    text = " ".join(shell("serve", "--help").output.split())
    assert "127.0.0.1" in text


def test_small_answers_are_sent_at_once():
    with _listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on


@pytest.mark.slow
@pytest.mark.parametrize("has_half_a_request", [False, True])
def test_sigterm_ends_a_server_cleanly(shell, has_half_a_request):
    words = [sys.executable, "-c", START, "serve", "price.be", "--port", "0"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=env)
    try:
        place = server.stderr.readline().split(" on ")[1].split()[0]
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{place}/health").read()
                break
            except OSError:
                time.sleep(0.1)
        with socket.create_connection(("127.0.0.1", int(place.split(":")[-1]))) as client:
            if has_half_a_request:
                client.sendall(b"POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n[")
                time.sleep(0.3)
            server.send_signal(signal.SIGTERM)
            _, said = server.communicate(timeout=30)
    finally:
        server.kill()
    assert server.returncode == 0
    assert said.endswith("Stopped.\n")
    assert "Traceback" not in said
    assert has_half_a_request or said == "Stopped.\n"
