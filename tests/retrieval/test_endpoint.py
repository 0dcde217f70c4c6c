"""An endpoint as a channel: what it is asked, and every answer that is none refused by name, in time and in size."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from workbench.errors import BadParameter
from workbench.retrieval.custom import BadAnswer, EndpointFailed
from workbench.retrieval.variant import variant
from workbench.types import Query


class Double(ThreadingHTTPServer):
    """Answers every POST by `answer(handler, request)`, keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict] = []
        self.answer = results([])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/search"

    def handle_error(self, *_) -> None:
        """A client that hangs up early is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append({"body": json.loads(body), "headers": dict(self.headers)})
        self.server.answer(self)

    def log_message(self, *_) -> None:
        pass


def sent(data: bytes, status: int = 200, **headers: str):
    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def results(pairs):
    return sent(json.dumps({"results": [{"id": i, "score": s} for i, s in pairs]}).encode())


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    double = Double()
    thread = threading.Thread(target=double.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield double
    double.shutdown()
    double.server_close()


def ask(collection, server, params="", query=None):
    spec = f"adr_0172+endpoint(url={server.url},name=theirs{params})"
    return collection.search(query or Query("alpha"), variant(spec))


def test_it_is_asked_for_text_filters_and_limit_and_its_list_is_fused(collection, server):
    server.answer = results([(2, 0.1), (4, 0.9)])
    result = ask(collection, server, ",limit=7", Query("alpha \ud800?", {"project": "even"}))
    assert server.asked[0]["body"] == {"query": "alpha \ud800?", "filters": {"project": "even"}, "limit": 7}
    assert server.asked[0]["headers"]["Accept-Encoding"] == "identity"
    theirs = next(r for r in result.lists if r.name == "theirs")
    assert theirs.ids == (4, 2) and result.evidence["fused"].contributions[4]["theirs"] == 1 / 61
    (call,) = result.calls("own", "http")
    assert call.rows == 2 and call.bytes == len(b'{"results": [{"id": 2, "score": 0.1}, {"id": 4, "score": 0.9}]}')


def test_a_bare_list_is_an_answer_and_more_than_the_limit_is_cut(collection, server):
    server.answer = sent(b'[{"id": 1, "score": 3}, {"id": 2, "score": 2}, {"id": 3, "score": 1}]')
    result = ask(collection, server, ",limit=2")
    assert next(r for r in result.lists if r.name == "theirs").ids == (1, 2)


def test_two_endpoints_are_two_lists(collection, server):
    server.answer = results([(1, 1.0)])
    spec = f"adr_0172+endpoint(url={server.url},name=a)+endpoint(url={server.url},name=b)"
    assert {"a", "b"} <= {r.name for r in collection.search("alpha", spec).lists}


def test_a_token_crosses_from_the_environment_and_stands_in_no_plan(collection, server, monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", "secret-word")
    server.answer = results([(1, 1.0)])
    result = ask(collection, server, ",token_env=OUR_TOKEN")
    assert server.asked[0]["headers"]["Authorization"] == "Bearer secret-word"
    assert "secret-word" not in result.evidence["variant"].plan() + str(result)
    monkeypatch.delenv("OUR_TOKEN")
    with pytest.raises(BadParameter, match="OUR_TOKEN is not set"):
        ask(collection, server, ",token_env=OUR_TOKEN")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (sent(b"[]", 500), "answered 500"),
        (sent(b"[]", 302, location="http://127.0.0.1:1/"), "answered 302"),
        (sent(b"<html>"), "not JSON"),
        (sent(b'[{"id": 1, "score": NaN}]'), "NaN is no number"),
        (sent(b'[{"id": 1, "score": -Infinity}]'), "-Infinity is no number"),
        (sent(b"\xff\xfe"), "not JSON"),
        (sent(b"[" * 100_000), "not JSON"),
        (sent(b'{"hits": []}'), "no list of results"),
        (sent(b"null"), "no list of results"),
        (sent(b"x", content_encoding="gzip"), "answered in gzip"),
        (sent(b"[" + b" " * 4_100_000 + b"]"), "above 4,000,000 bytes"),
    ],
)
def test_what_is_no_answer_is_refused_by_name(collection, server, answer, said):
    server.answer = answer
    with pytest.raises(EndpointFailed, match=f"{said}.*127.0.0.1"):
        ask(collection, server)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (sent(b"[1, 2]"), "without id and score"),
        (sent(b'[{"id": 1}]'), "without id and score.*row 1"),
        (sent(b'[{"id": 1, "score": "0.5"}]'), "the score '0.5'"),
        (sent(b'[{"id": 1, "score": 1e999}]'), "the score inf"),
        (sent(b'[{"id": [1], "score": 1}]'), "the id .1."),
        (results([(1, 1.0), (1, 0.5)]), "twice"),
        (results([(10**30, 1.0)]), "no point"),
    ],
)
def test_an_answer_that_is_no_ranking_is_refused_by_name(collection, server, answer, said):
    server.answer = answer
    with pytest.raises(BadAnswer, match=said):
        ask(collection, server)


def slow(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


@pytest.mark.parametrize("answer", [slow, lambda handler: time.sleep(1)])
def test_one_that_does_not_end_is_left(collection, server, answer):
    server.answer = answer
    start = time.monotonic()
    with pytest.raises(EndpointFailed, match="within 0.2 s"):
        ask(collection, server, ",timeout=0.2")
    assert time.monotonic() - start < 0.9


def test_nobody_there_is_an_error_by_name(collection):
    with pytest.raises(EndpointFailed, match="cannot be asked.*127.0.0.1:9/"):
        collection.search("alpha", "adr_0172+endpoint(url=http://127.0.0.1:9/)")


@pytest.mark.parametrize(
    ("params", "said"),
    [("url=ftp://x", "no http or https"), ("url=http://u:p@x/", "holds a password"), ("url=http://x,name=lexical", "a list of ours"),
     ("url=http://x,ids=rows", "ids are points or documents"), ("url=http://x,limit=0", "limit cannot be 0"), ("url=http://x,timeout=0", "above 0"), ("name=x", "needs the parameter 'url'")],
)  # fmt: skip
def test_a_bad_parameter_is_refused_before_anything_is_asked(collection, params, said):
    with pytest.raises(BadParameter, match=said):
        collection.search("alpha", f"adr_0172+endpoint({params})")
