"""A server that speaks OpenAI's Chat Completions."""

import json

from tests.servers.model_server import ModelServer, cut_up


class OAIServer(ModelServer):
    @property
    def url(self):
        return f"{self.root}/v1"

    def speak(self, handler, answer, body):
        calls = [call for call in answer.calls if not isinstance(call, dict)]
        reason = answer.finish_reason or ("tool_calls" if answer.calls else "stop")
        prompt, completion = answer.usage or (0, 0)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": min(3, prompt)},
        }
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        whole_calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ] + [call for call in answer.calls if isinstance(call, dict)]
        if not body.get("stream"):
            message = {"role": "assistant", "content": answer.text or None, **answer.fields}
            if answer.reasoning:
                message["reasoning_content"] = answer.reasoning
            if whole_calls:
                message["tool_calls"] = whole_calls
            choice = {"index": 0, "message": message, "finish_reason": reason}
            content = {**head, "object": "chat.completion", "choices": [choice]}
            if answer.usage:
                content["usage"] = usage
            handler.whole_or_half(answer, json.dumps(content).encode())
            return
        pieces = answer.pieces
        if pieces is None:
            pieces = [{"role": "assistant", "content": ""}]
            pieces += [{"reasoning_content": piece} for piece in cut_up(answer.reasoning, answer.chunk)]
            pieces += [{"content": piece} for piece in cut_up(answer.text, answer.chunk)]
            if answer.fields:
                pieces.append(dict(answer.fields))
            for n, (name, arguments) in enumerate(calls):
                first = {
                    "index": n,
                    "id": f"call_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": None},
                }
                pieces.append({"tool_calls": [first]})
                pieces += [
                    {"tool_calls": [{"index": n, "function": {"arguments": piece}}]}
                    for piece in cut_up(arguments, answer.chunk)
                ]
            pieces += [{"tool_calls": [call]} for call in answer.calls if isinstance(call, dict)]
        choices = [{"index": 0, "delta": piece, "finish_reason": None} for piece in pieces]
        choices.append({"index": 0, "delta": {}, "finish_reason": reason})
        events = [b"data: %s\n\n" % json.dumps({**head, "choices": [choice]}).encode() for choice in choices]
        if answer.usage and (body.get("stream_options") or {}).get("include_usage"):
            events.append(b"data: %s\n\n" % json.dumps({**head, "choices": [], "usage": usage}).encode())
        if answer.done:
            events.append(b"data: [DONE]\n\n")
        self.stream(handler, answer, events)
