"""Secrets of recorded calls: in no form, place, stream or name do they reach a library's file or a message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.matching import cassette, chat, chat_answer, said, sse

from workbench.matching.cascade import ask
from workbench.matching.cassettes import load
from workbench.matching.library import Library
from workbench.matching.request import Answer, Message, Part, RecordedRequest, Tool, plain
from workbench.matching.rules import redaction

HEX32, HEX40 = "0123456789abcdef" * 2, "9f8e7d6c5b" * 4
KEY = "sk-proj-a1b2c3d4e5f6g7h8i9"
AWS = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00"

# (text, what must be gone): one line or more for each detector that detect-secrets has, entropy and IP addresses aside.
DETECTORS = {
    "artifactory": (f"art = AKCp5{HEX32}", f"AKCp5{HEX32}"),
    "aws": (f"aws_key='{AWS}'", AWS),
    "aws id": ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    "azure storage": (f"AccountName=x;AccountKey={AWS}AbCd==;EndpointSuffix=y", AWS),
    "azure sig": ("https://x.blob.core.windows.net/c?sv=2022&sig=aB3%2FdEfGhIjK%3D&se=1", "aB3%2FdEfGhIjK%3D"),
    "basic auth": ("https://ann:pa55word@example.org/x", "pa55word"),
    "cloudant": ('cloudant_password = "plainwordshere"', "plainwordshere"),
    "discord": ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "ZnCjm1XVW7vRze4b7Cq4se7kKWs"),
    "github": ("ghp_" + "a1B2" * 9, "a1B2" * 9),
    "gitlab": ("glpat-" + "a1B2" * 5, "a1B2" * 5),
    "ibm iam": ("ibm_cloud_iam_api_key: 'abcdefgHIJ'", "abcdefgHIJ"),
    "ibm cos": (f'"cos_hmac_secret_access_key": "{HEX40}"', HEX40),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dGVzdA", "eyJzdWIiOiIxMjM0In0"),
    "keyword": ("db_pass = 'correct horse'", "correct horse"),
    "mailchimp": (f"{HEX32}-us12", HEX32),
    "npm": ("//registry.npmjs.org/:_authToken=npm_" + "a1B2" * 9, "a1B2" * 9),
    "openai": ("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", "T3BlbkFJ"),
    "private key": ("-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", "MHcCAQEE"),
    "pgp": ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQVYBF\n-----END PGP PRIVATE KEY BLOCK-----", "lQVYBF"),
    "putty": ("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nAAAAgQ\nPrivate-MAC: 0a1b", "AAAAgQ"),
    "pypi": ("pypi-AgEIcHlwaS5vcmc" + "a1B2" * 20, "a1B2" * 20),
    "sendgrid": ("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", "TwL2iGABf9DHoTf"),
    "slack": ("xoxb-1234567890-abcdefABCDEF", "abcdefABCDEF"),
    "slack hook": ("https://hooks.slack.com/services/T0/B0/XyZ12345678", "XyZ12345678"),
    "softlayer": (f"http://api.softlayer.com/soap/v3/{HEX32}", HEX32),
    "square": ("sq0csp-" + "a1B_" * 11, "a1B_" * 11),
    "stripe": ("rk_live_0123456789abcdefghijklmn", "0123456789abcdefghijklmn"),
    "telegram": ("110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawX", "AAHdqTcvCH1vGWJ"),
    "twilio": ("SK" + HEX32, HEX32),
}
# What text carries beside keys with a prefix.
TEXTS = {
    "amz token": ("https://b.s3.amazonaws.com/k?X-Amz-Security-Token=FwoGZXIvYXdz&X-Amz-Date=2", "FwoGZXIvYXdz"),
    "amz signature": ("X-Amz-Signature: 0a1b2c3d4e5f", "0a1b2c3d4e5f"),
    "basic": ("send Basic dXNlcjpwYXNz with it", "dXNlcjpwYXNz"),
    "cookie": ("Cookie: theme=dark; session=opensesame", "opensesame"),
    "set-cookie": ("Set-Cookie: sid=opensesame; Path=/", "opensesame"),
    "percent mail": ("to=ann%40example.org&x=1", "ann%40example"),
    "percent login": ("postgres%3A%2F%2Fann%3Apa55w%40db.example.org", "pa55w"),
    "underscore": (f"KEY_{KEY}", KEY),
    "cyrillic": (f"ключ{KEY}", KEY),
    "escape": (f"line\\n{KEY}", KEY),
    "user alone": (f"https://{HEX32}@git.example.org/x", HEX32),
    "said": ("my password is hunter2x", "hunter2x"),
    "url name": ("https://x.org/?access_token=opensesame&page=2", "opensesame"),
}
NAMES = ["accessToken", "clientSecret", "SecretAccessKey", "x-goog-api-key", "openai_api_key", "db_password", "token",
         "Password2", "API KEY", "Proxy-Authorization", "refresh_token", "DB_PASS", "contraseña"]  # fmt: skip
SPARED_NAMES = ["max_tokens", "prompt_tokens", "next_page_token", "tokenizer", "key", "primary_key", "author", "passenger",
                "compass", "secretary", "signature_algorithm", "keyword"]  # fmt: skip
VALUES = ["plain", ["opensesame", 7], 483920, {"deep": {"x": "opensesame"}}, 'quo"te\\', "it's [open"]


@pytest.mark.parametrize("name", [*DETECTORS, *TEXTS])
def test_a_secret_in_text_is_gone_and_only_it(name):
    text, secret = (DETECTORS | TEXTS)[name]
    clean = redaction().text(f"before {text}\nafter")
    assert secret not in clean
    assert clean.startswith("before ") and clean.endswith("\nafter")
    assert redaction().text(clean) == clean


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_under_a_secret_name_is_gone(name, value):
    held = {"x": {name: value}, "n": 5}
    assert redaction().value(held) == {"x": {name: "<secret>"}, "n": 5}
    text = json.dumps(held, ensure_ascii=False)
    for level in range(4):
        clean = redaction().text(f"They sent {text} to us. The end.")
        gone = ["opensesame", "483920", "plain", "quo", "te\\", "it's", "open]"]
        assert not [g for g in gone if g in clean], (level, clean)
        assert clean.startswith("They sent {") and clean.endswith("} to us. The end.")
        text = json.dumps(text, ensure_ascii=False)[1:-1]


@pytest.mark.parametrize("name", SPARED_NAMES)
def test_a_value_under_another_name_stays(name):
    held = {name: "opensesame7"}
    assert redaction().value(held) == held
    assert redaction().text(f"see {json.dumps(held)}") == f"see {json.dumps(held)}"


def test_what_is_no_value_stays_under_a_secret_name():
    held = {"password": None, "token": True, "secret": "", "logprobs": [{"token": "Hello", "logprob": -1}]}
    assert redaction().value(held) == held
    schema = {"properties": {"password": {"type": "string", "description": "the user's", "default": "opensesame"}}}
    clean = redaction().value(schema)["properties"]["password"]
    assert clean == {"type": "string", "description": "the user's", "default": "<secret>"}


def test_a_pair_of_name_and_value_is_one():
    held = [{"name": "X-Api-Key", "value": "opensesame"}, {"name": "Accept", "value": "json"}]
    assert redaction().value(held) == [{"name": "X-Api-Key", "value": "<secret>"}, held[1]]


def test_an_address_keeps_what_is_behind_its_secret():
    clean = redaction().text("https://x.org/?api_key=opensesame&q=rome")
    assert clean == "https://x.org/?api_key=<secret>&q=rome"


def deltas(text: str, cut: int, wrap):
    return [wrap(text[i : i + cut]) for i in range(0, len(text), cut)]


def openai_delta(text: str):
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


def openai_call(text: str):
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "", "arguments": text}}]}}]}


def anthropic_delta(text: str):
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def anthropic_call(text: str):
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}


def responses_delta(text: str):
    return {"type": "response.output_text.delta", "item_id": "item_0", "output_index": 0, "delta": text}


def gemini_delta(text: str):
    return {"candidates": [{"content": {"parts": [{"text": text}]}}]}


def bedrock_delta(text: str):
    return {"contentBlockIndex": 0, "delta": {"text": text}}


WRAPS = [openai_delta, openai_call, anthropic_delta, anthropic_call, responses_delta, gemini_delta, bedrock_delta]


def spelt(value) -> list[str]:
    """Every text of a value, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [t for v in inner for t in spelt(v)]


@pytest.mark.parametrize("wrap", WRAPS, ids=lambda w: w.__name__)
@pytest.mark.parametrize("cut", [1, 3, 11])
def test_no_concatenation_of_a_stream_gives_a_secret_back(wrap, cut):
    text = f'{{"a": "use {KEY} of ann@example.org", "password": "opensesame", "b": 1}}'
    events = deltas(text, cut, wrap)
    clean = redaction().answer(Answer("", events=json.dumps([["", e] for e in events])))
    after = [data for _, data in json.loads(clean.events)]
    assert len(after) == len(events)
    kept = [t for b, a in zip(events, after, strict=True) for t, u in zip(spelt(a), spelt(b), strict=True) if t != u or u in text]
    for joined in ("".join(kept), "".join(spelt(after))):
        for secret in (KEY, KEY[8:], "ann@example.org", "ann@", "opensesame", "sesame"):
            assert secret not in joined
    assert '"b":1' in "".join(kept).replace(" ", "") and "<secret>" in "".join(kept)


def test_a_secret_cut_over_two_parts_or_blocks_is_gone():
    body = {"content": [{"type": "text", "text": f"use {KEY[:12]}"}, {"type": "text", "text": KEY[12:]}]}
    clean = json.loads(redaction().answer(Answer("", body=json.dumps(body))).body)
    assert [b["text"] for b in clean["content"]] == ["use <secret>", ""]
    turn = Message("user", (Part("text", f"use {KEY[:12]}"), Part("text", KEY[12:])))
    assert [p.text for p in redaction().request(RecordedRequest((turn,))).messages[0].parts] == ["use <secret>", ""]


def test_two_blocks_of_a_stream_do_not_spell_a_secret():
    events = [anthropic_delta(KEY[:12]), {**anthropic_delta(KEY[12:]), "index": 1}]
    clean = redaction().answer(Answer("", events=json.dumps([["", e] for e in events])))
    assert KEY not in "".join(spelt(json.loads(clean.events)))


def test_log_probabilities_that_spell_a_secret_are_dropped():
    content = [{"token": c, "logprob": -1, "bytes": [ord(c)]} for c in KEY]
    body = {"choices": [{"message": {"content": KEY}, "logprobs": {"content": content}}]}
    assert json.loads(redaction().answer(Answer("", body=json.dumps(body))).body)["choices"][0]["logprobs"] is None


def test_names_and_ids_are_redacted_and_ids_stay_apart():
    one, two = KEY, KEY.replace("a1", "z9")
    calls = (Part("call", "{}", f"f_{KEY}", one), Part("call", "{}", "f", two))
    results = (Part("result", "ok", "", two), Part("result", "no", "", one))
    asked = RecordedRequest((Message("assistant", calls), Message("tool", results)), "", (Tool(f"f_{KEY}"),), {KEY: 1})
    clean = redaction().request(asked)
    assert "sk-proj" not in clean.as_json()
    (a, b), (c, d) = (tuple(p.id for p in m.parts) for m in clean.messages)
    assert a != b and (c, d) == (b, a)
    assert "sk-proj" not in str(redaction().answer(Answer("", ((f"f_{KEY}", "{}"),))))


@pytest.mark.parametrize("name", [*DETECTORS, *TEXTS])
def test_the_same_request_with_another_secret_still_matches(name):
    text, secret = (DETECTORS | TEXTS)[name]
    other = secret.translate(str.maketrans("123456789abcd", "987654321dcba"))
    with Library() as library:
        library.record(plain(f"use {text} now"), said("yes"))
        found = ask(library, plain(f"use {text.replace(secret, other)} now"))
        if not redaction().text(text).count("<email-") and name != "jwt":
            assert found.tier == "exact"


def test_no_secret_of_a_cassette_reaches_file_report_or_reason(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    args = f'{{"login": {{"apiKey": ["{KEY}", "opensesame"]}}}}'
    stream = sse(*deltas(f"{args} ", 4, openai_delta), {"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")
    good = cassette((chat(f"say {args}"), stream), (chat("two"), chat_answer(f"Basic dXNlcjpwYXNz {KEY}")))
    bad = cassette((chat("x"), chat_answer("y")), uri=f"https://api.example.org/bot/{KEY}/chat")
    wrong = cassette(({"messages": [{"role": f"wizard {KEY}", "content": "x"}]}, chat_answer("y")))
    error = cassette((chat("x"), sse({"error": {"message": f"bad key {KEY}"}})))
    for name, held in {KEY: good, "b": bad, "c": wrong, "d": error}.items():
        (folder / f"{name}.yaml").write_text(json.dumps(held))
    with Library(tmp_path / "l.sqlite") as library:
        report = load(library, folder)
        assert (report.recordings, len(report.skipped)) == (2, 3)
        ask(library, plain(f"never recorded {KEY}"))
        assert KEY not in str(report) and KEY[8:] not in str(report)
        library.counts()
    held = b"".join(p.read_bytes() for p in tmp_path.iterdir() if p.is_file())
    for secret in (KEY, KEY[8:], "opensesame", "dXNlcjpwYXNz"):
        assert secret.encode() not in held, secret
