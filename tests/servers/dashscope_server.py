"""A server that speaks DashScope's text and multimodal generation."""

import json

from tests.servers.model_server import ModelServer, cut_up


class DashScopeServer(ModelServer):
    @property
    def url(self):
        return f"{self.root}/api/v1"

    def speak(self, handler, answer, body):
        multimodal = "multimodal" in handler.path
        prompt, completion = answer.usage or (0, 0)
        usage = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
        reason = answer.finish_reason or ("tool_calls" if answer.calls else "stop")
        calls = [
            {"index": n, "id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(answer.calls)
        ]

        def event(message, finish_reason, counted):
            said = {"role": "assistant", "content": "", **message}
            if multimodal and isinstance(said["content"], str):
                said["content"] = [{"text": said["content"]}] if said["content"] else []
            output = {"choices": [{"message": said, "finish_reason": finish_reason}]}
            return {"output": output, "usage": counted, "request_id": "r-1"}

        if handler.headers.get("X-DashScope-SSE") != "enable":
            message = {"content": answer.text}
            if answer.reasoning:
                message["reasoning_content"] = answer.reasoning
            if calls:
                message["tool_calls"] = calls
            handler.whole_or_half(answer, json.dumps(event(message, reason, usage)).encode())
            return
        pieces = answer.pieces
        if pieces is None:
            pieces = [{"reasoning_content": piece} for piece in cut_up(answer.reasoning, answer.chunk)]
            pieces += [{"content": piece} for piece in cut_up(answer.text, answer.chunk)]
            for call in calls:
                arguments = call["function"]["arguments"]
                pieces.append({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
                pieces += [
                    {"tool_calls": [{"index": call["index"], "id": "", "function": {"arguments": piece}}]}
                    for piece in cut_up(arguments, answer.chunk)
                ]
        whole = [event(piece, "null", usage) for piece in pieces] + [event({}, reason, usage)]
        events = [
            b"id:%d\nevent:result\n:HTTP_STATUS/200\ndata:%s\n\n" % (n, json.dumps(one).encode())
            for n, one in enumerate(whole, 1)
        ]
        self.stream(handler, answer, events)
