"""Each wire format: what its request and answers mean, whole and streamed; what it does not explain is refused."""

from __future__ import annotations

import json

import pytest
from helpers.matching import aws_frame, chat, chat_answer, sse

from workbench.matching.formats import format_of, read_answer, read_request
from workbench.matching.formats.wire import (
    NotUnderstood,
    TruncatedStream,
    Wire,
    aws_frames,
    server_sent,
)
from workbench.matching.request import Part, RecordedRequest

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
URIS = {
    "openai-chat": "https://api.groq.com/openai/v1/chat/completions",
    "openai-responses": "https://api.openai.com/v1/responses",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.0-flash:generateContent",
    "bedrock": "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse",
}
# One conversation in five wire forms: system, question, a call, its result.
BODIES = {
    "openai-chat": {
        "model": "m", "max_completion_tokens": 9, "stream": False, "messages": [
            {"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Weather in Rome?"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"}],
        "tools": [{"type": "function", "function": {"name": "weather", "description": "Look.", "parameters": SCHEMA}}],
    },
    "openai-responses": {
        "model": "m", "max_output_tokens": 9, "instructions": "Be brief.", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Weather in Rome?"}]},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Rome"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"}],
        "tools": [{"type": "function", "name": "weather", "description": "Look.", "parameters": SCHEMA}],
    },
    "anthropic": {
        "model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}], "messages": [
            {"role": "user", "content": "Weather in Rome?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]}],
        "tools": [{"name": "weather", "description": "Look.", "input_schema": SCHEMA}],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]}, "generationConfig": {"maxOutputTokens": 9}, "contents": [
            {"role": "user", "parts": [{"text": "Weather in Rome?"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Rome"}},
                                         "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "weather", "response": "sunny"}}]}],
        "tools": [{"functionDeclarations": [{"name": "weather", "description": "Look.", "parameters": SCHEMA}]}],
    },
    "bedrock": {
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}], "inferenceConfig": {"maxTokens": 9}, "messages": [
            {"role": "user", "content": [{"text": "Weather in Rome?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Rome"}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "sunny"}], "status": "success"}}]}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "weather", "description": "Look.", "inputSchema": {"json": SCHEMA}}}]},
    },
}  # fmt: skip


def wire(name: str, body=None, **more) -> Wire:
    return Wire("POST", more.pop("uri", URIS[name]), BODIES[name] if body is None else body, **more)


def read(name: str, body=None, **more) -> RecordedRequest:
    asked = wire(name, body, **more)
    form = format_of(asked)
    assert form is not None and form.name == name
    return read_request(form, asked)


def answer_in(name: str, held=None, events=None):
    asked = Wire("POST", URIS[name], BODIES[name], body=held, events=events)
    return read_answer(format_of(asked), asked)


@pytest.mark.parametrize("name", BODIES)
def test_one_conversation_means_the_same_in_every_format(name):
    found = read(name)
    assert found.system == "Be brief."
    assert [m.role for m in found.messages] == ["user", "assistant", "tool"]
    assert found.messages[0].parts == (Part("text", "Weather in Rome?"),)
    assert found.messages[1].parts == (Part("call", '{"city":"Rome"}', "weather", "c1"),)
    result = found.messages[2].parts[0]
    assert (result.kind, result.text.strip('"'), result.id) == ("result", "sunny", "c1")
    assert [(t.name, t.description) for t in found.tools] == [("weather", "Look.")]
    assert '"city"' in found.tools[0].schema
    assert found.params["api"] == name and found.params["max_tokens"] == 9
    assert "stream" not in found.params


def test_the_model_is_read_from_the_address_where_the_body_has_none():
    assert read("gemini").params["model"] == "gemini-2.0-flash"
    assert read("bedrock").params["model"] == "us.amazon.nova-lite-v1:0"
    azure = "https://x.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=1"
    assert (
        read("openai-chat", {"messages": [{"role": "user", "content": "Hi"}]}, uri=azure).params["model"]
        == "gpt-4o"
    )
    invoke = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude/invoke"
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": [{"role": "user", "content": "Hi"}]}
    assert read("anthropic", body, uri=invoke).params["model"] == "us.anthropic.claude"


CALL = {"name": "weather", "arguments": '{"city": "Rome"}'}
WHOLE = {
    "openai-chat": {"created": 5, "choices": [{"finish_reason": "tool_calls", "message": {
        "content": "Looking.", "tool_calls": [{"id": "x", "type": "function", "function": CALL}]}}]},
    "openai-responses": {"status": "completed", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "x", **CALL}]},
    "anthropic": {"stop_reason": "tool_use", "content": [
        {"type": "text", "text": "Looking."}, {"type": "tool_use", "id": "x", "name": "weather", "input": {"city": "Rome"}}]},
    "gemini": {"candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"text": "Looking."}, {"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]}}]},
    "bedrock": {"stopReason": "tool_use", "output": {"message": {"content": [
        {"text": "Looking."}, {"toolUse": {"toolUseId": "x", "name": "weather", "input": {"city": "Rome"}}}]}}},
}  # fmt: skip
STREAMED = {
    "openai-chat": sse(
        {"choices": [{"index": 0, "delta": {"content": "Look"}}]}, {"choices": [{"index": 0, "delta": {"content": "ing."}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "weather", "arguments": '{"ci'}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": 'ty": "Rome"}'}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]"),
    "openai-responses": sse({"type": "response.created"}, {"type": "response.completed", "response": WHOLE["openai-responses"]}),
    "anthropic": sse(
        {"type": "message_start"}, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Looking."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "x", "name": "weather"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"city": "Rome"}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}),
    "gemini": sse({"candidates": [{"content": {"parts": [{"text": "Looking."}]}}]},
                  {"candidates": [{"finishReason": "STOP", "content": {"parts": [
                      {"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]}}]}),
}  # fmt: skip
FRAMES = b"".join(aws_frame(*e) for e in (
    ("messageStart", {"role": "assistant"}), ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Looking."}}),
    ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "x", "name": "weather"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"city": "Rome"}'}}}),
    ("messageStop", {"stopReason": "tool_use"}),
))  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_means_the_same_whole_and_streamed(name):
    whole = answer_in(name, WHOLE[name])
    events = aws_frames(FRAMES) if name == "bedrock" else server_sent(STREAMED[name])
    streamed = answer_in(name, events=events)
    for found in (whole, streamed):
        assert found.text == "Looking." and found.calls == (("weather", '{"city":"Rome"}'),)
        assert found.finish
    assert json.loads(whole.body) == WHOLE[name] and not whole.events
    assert json.loads(streamed.events) == [list(e) for e in events] and not streamed.body


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_without_its_end_is_refused(name):
    whole = STREAMED[name].rstrip("\n").split("\n\n")
    drop = 2 if name == "openai-chat" else 1
    with pytest.raises(TruncatedStream):
        answer_in(name, events=server_sent("\n\n".join(whole[:-drop]) + "\n\n"))
    with pytest.raises(TruncatedStream):
        answer_in(name, events=server_sent(STREAMED[name][:-30]))


def test_a_cut_or_damaged_event_stream_is_refused():
    with pytest.raises(TruncatedStream):
        aws_frames(FRAMES[:-5])
    with pytest.raises(TruncatedStream):
        answer_in("bedrock", events=aws_frames(FRAMES)[:-1])
    damaged = bytearray(FRAMES)
    damaged[60] ^= 1
    with pytest.raises(NotUnderstood, match="damaged"):
        aws_frames(bytes(damaged))


IMAGES = {
    "openai-chat": chat("", messages=[{"role": "user", "content": [
        {"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]),
    "openai-responses": {"input": [{"role": "user", "content": [
        {"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}]},
    "anthropic": {"messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, {
        "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}]},
    "gemini": {"contents": [{"parts": [{"text": "What?"}, {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}]}]},
    "bedrock": {"messages": [{"role": "user", "content": [
        {"text": "What?"}, {"image": {"format": "png", "source": {"bytes": "AAAA"}}}]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_a_picture_is_kept_as_its_digest_and_nothing_else(name):
    found = read(name, IMAGES[name])
    assert found.messages[0].text == "What?"
    ((kind, media_type, held),) = found.attachments()
    assert kind == "media" and media_type == "image/png" and held.startswith("sha256:")
    assert "AAAA" not in found.as_json()


def test_what_a_known_format_has_and_we_do_not_stays_whole():
    body = {"messages": [{"role": "user", "content": [{"type": "hologram", "beam": 3}]}]}
    assert read("openai-chat", body).attachments() == (
        ("opaque", "hologram", '{"beam":3,"type":"hologram"}'),
    )


@pytest.mark.parametrize(
    "uri",
    ["https://api.cohere.com/v2/chat", "https://api.openai.com/v1/embeddings", "https://api.anthropic.com/v1/messages/count_tokens",
     "https://api.openai.com/v1/responses/compact"],
)  # fmt: skip
def test_an_unknown_address_is_no_known_format(uri):
    assert format_of(Wire("POST", uri, {"messages": [], "input": "x"})) is None


BROKEN = [
    {"messages": [{"role": "wizard", "content": "x"}]}, {"messages": ["x"]}, {"messages": [{"content": "x"}]},
    {"messages": []}, {"messages": [{"role": "user", "content": 7}]}, {"messages": [{"role": "user", "content": [3]}]},
    {"messages": [{"role": "assistant", "tool_calls": [{}]}]}, {"messages": [{"role": "user", "content": "x"}], "tools": [5]},
]  # fmt: skip


@pytest.mark.parametrize("body", BROKEN)
def test_a_malformed_request_is_refused_by_name(body):
    with pytest.raises(NotUnderstood):
        read("openai-chat", body)


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{}]}, {"choices": [3]}, "text", None, 3])
def test_a_malformed_answer_is_refused_by_name(body):
    with pytest.raises(NotUnderstood):
        answer_in("openai-chat", body)


def test_the_right_answer_is_not_refused():
    assert answer_in("openai-chat", chat_answer("Yes")).text == "Yes"
