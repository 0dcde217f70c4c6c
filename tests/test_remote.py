"""A server's address holds no credentials, and a call to it ends."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.qdrant_double import QdrantDouble

from workbench.errors import LONGEST, BadParameter, WorkbenchError
from workbench.remote import check_address, shown_url
from workbench.retrieval.custom import EndpointFailed, endpoint
from workbench.sources.base import SourceError
from workbench.sources.readers import open_source
from workbench.stores.load import load
from workbench.stores.points.server import ClientPoints
from workbench.types import Query

SECRETS = ("hunter2", "s3cr3t", "p/w")
HELD = (
    "http://admin:hunter2@host:6333", "http://host:6333?api_key=s3cr3t", "https://admin:p/w@host/x", "http://hunter2@host",
    "http://host:6333/#s3cr3t", "http://host:6333?token=s3cr3t", "http://$NAME:hunter2@host",
)  # fmt: skip


@pytest.mark.parametrize("url", HELD)
def test_an_address_with_credentials_is_refused_and_they_are_not_shown(home: Path, url: str) -> None:
    collection = url.replace("?", "/collections/c?") if "?" in url else f"{url}/collections/c"
    for call in (lambda: load(source_of(chunks_of("tea")), name="c", qdrant=url), lambda: open_source(collection)):
        with pytest.raises(WorkbenchError) as found:
            call()
        assert not [s for s in SECRETS if s in str(found.value)]
    assert not any(s in shown_url(url) for s in SECRETS)


@pytest.mark.parametrize("url", ["", "host:6333", "ftp://host", "http://", "http://[::1", "http://host:99999", "http://host:x", "//host"])
def test_an_address_that_is_none_is_a_named_error(url: str) -> None:
    with pytest.raises(BadParameter, match="URL of a server"):
        check_address(url)


@pytest.mark.parametrize("named", ["?api_key=$SERVER_KEY", ""])
def test_only_the_name_of_the_variable_with_the_key_is_stored(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("SERVER_KEY" if named else "QDRANT_API_KEY", "s3cr3t")
    with QdrantDouble(tmp_path / "server", key="s3cr3t") as double:
        manifest = load(source_of(chunks_of("tea")), name="c", qdrant=double.url + named, progress=False)
        assert manifest.engines["qdrant"]["credentials"] == ("$SERVER_KEY" if named else "$QDRANT_API_KEY")
    kept = b"".join(p.read_bytes() for p in home.rglob("*") if p.is_file())
    assert b"s3cr3t" not in kept


def test_a_key_that_no_header_carries_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "s3cr3t\nx")
    with pytest.raises(BadParameter, match="characters that no header") as found:
        ClientPoints("http://127.0.0.1:1", "c")
    assert "s3cr3t" not in str(found.value)


@contextmanager
def answering(status: int, body: bytes, headers: dict[str, str] | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body) + (10 if headers == {} else 0)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _any

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


REPLIES = [
    (200, b"{}", None), (200, b"null", None), (200, b"[]", None), (200, b"", None), (200, b"<html>", None), (500, b"oh", None),
    (302, b"", {"location": "http://127.0.0.1:1/"}), (200, b'{"result": {"status"', {}), (200, b'{"result": null}', None),
    (200, b'{"result": [], "status": "ok", "time": 0}', None), (200, b'{"result": {"count": "many"}}', None), (404, b"no", None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "headers"), REPLIES)
def test_a_reply_that_is_no_answer_is_one_named_error(home: Path, status: int, body: bytes, headers: dict | None) -> None:
    with answering(status, body, headers) as url:
        for call in (
            lambda: ClientPoints(url, "c"), lambda: list(open_source(f"{url}/collections/c").chunks()),
            lambda: load(source_of(chunks_of("tea")), name="c", qdrant=url, progress=False),
        ):  # fmt: skip
            with pytest.raises(WorkbenchError) as found:
                call()
            assert url in str(found.value) and len(str(found.value)) < 2 * LONGEST


def test_a_clean_up_that_fails_does_not_hide_the_first_error(home: Path, tmp_path: Path) -> None:
    with QdrantDouble(tmp_path / "server") as double:
        answer = double.answer

        def failing(method: str, asked: str, body, key: str):
            double.broken = {"PUT": (500, "the first fault"), "DELETE": (500, "the second")}.get(method)
            try:
                return answer(method, asked, body, key)
            finally:
                double.broken = None

        double.answer = failing
        with pytest.raises(WorkbenchError, match="the first fault"):
            load(source_of(chunks_of("tea")), name="c", qdrant=double.url, progress=False)


@contextmanager
def dribbling(head: bytes) -> Iterator[str]:
    """A server that sends a byte now and then and never ends."""
    ended = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not ended.is_set():
            try:
                peer, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=send, args=(peer,), daemon=True).start()

    def send(peer: socket.socket) -> None:
        with peer:
            try:
                peer.sendall(head)
                while not ended.wait(0.05):
                    peer.sendall(b"x")
            except OSError:
                pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        ended.set()
        server.close()


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nx-slow: ", b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"])
def test_an_answer_that_comes_a_byte_at_a_time_ends(head: bytes) -> None:
    from workbench.retrieval.context import Context

    with dribbling(head) as url:
        began = time.monotonic()
        with pytest.raises(EndpointFailed, match="within 0.5 s"):
            endpoint(url=url, timeout=0.5)(Query("tea"), Context(None))  # type: ignore[arg-type]
        with pytest.raises(WorkbenchError, match="did not end within 2 s"):
            ClientPoints(url, "c", timeout=1)
        assert time.monotonic() - began < 10


def test_a_long_value_is_shortened_in_a_message() -> None:
    said = str(BadParameter("x" * 10_000, where="y" * 10_000))
    assert len(said) < 3 * LONGEST and "9,400 characters" in said


def test_what_a_source_names_is_a_source_error() -> None:
    with pytest.raises(SourceError, match="holds a password or a key"):
        open_source("http://u:hunter2@host:6333/collections/c")
    assert json.dumps(shown_url("http://u:a@b@host/c")) == '"http://host/c"'
