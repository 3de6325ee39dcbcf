"""Every test has an empty cache and no network, but may ask for a server on this machine."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from batchensemble.study.datasets import sources


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("BATCHENSEMBLE_CACHE", str(folder))
    monkeypatch.setenv("BATCHENSEMBLE_OFFLINE", "1")
    monkeypatch.setattr(sources, "_failed", {})
    return folder


class Server:
    """Answers every request with `body`, in the way its other attributes say."""

    def __init__(self):
        self.body, self.status, self.promise_more, self.pause, self.hits = b"", 200, 0, 0.0, 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.hits += 1
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(outer.body) + outer.promise_more))
                self.end_headers()
                try:
                    for start in range(0, len(outer.body), 1000):
                        time.sleep(outer.pause)
                        self.wfile.write(outer.body[start : start + 1000])
                        self.wfile.flush()
                except OSError:
                    pass  # the client gave up

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/toy.csv"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_OFFLINE")
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    it = Server()
    yield it
    it.close()
