"""CPU of the calls of a long tool loop: 20 calls on a history of 400 messages and about 100,000 tokens.

    python tests/benchmarks/long_history.py [--calls 20] [--messages 400]

What is counted is the client's process: checking, copying and counting the history, and sending it. The first row
hands the messages to the raw OpenAI SDK as they are. Qwen-Agent is run in
the interpreter that QWEN_AGENTKIT_PEER_PYTHON names, and left out without one.
"""

import argparse
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"

HISTORY = """
import json, random, sys, time
url, count, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = "the motor of this machine is guaranteed for months and days from the date on which it was bought".split()
chance = random.Random(7)
def text(length):
    return " ".join(chance.choice(words) for _ in range(length))
history, n = [{"role": "system", "content": "You help."}], 0
while len(history) < count - 1:
    n += 1
    history += [
        {"role": "user", "content": text(150)},
        {"role": "assistant", "content": "", "extra": {"function_id": f"call_{n:012x}"},
         "function_call": {"name": "look", "arguments": json.dumps({"q": text(40)})}},
        {"role": "function", "name": "look", "content": text(500), "extra": {"function_id": f"call_{n:012x}"}},
        {"role": "assistant", "content": text(200)},
    ]
history = history[: count - 1 - (count - 2) % 4] + [{"role": "user", "content": "And now?"}]
functions = [{"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}]
"""

CLIENTS = {
    "raw OpenAI SDK": """
        import openai
        client = openai.OpenAI(api_key="EMPTY", base_url=url)
        wire = []
        for m in history:
            if m["role"] == "function":
                wire.append({"role": "tool", "tool_call_id": m["extra"]["function_id"], "content": m["content"]})
            elif "function_call" in m:
                call = {"id": m["extra"]["function_id"], "type": "function", "function": m["function_call"]}
                wire.append({"role": "assistant", "content": "", "tool_calls": [call]})
            else:
                wire.append(m)
        tools = [{"type": "function", "function": f} for f in functions]
        def ask():
            for chunk in client.chat.completions.create(model="m", messages=wire, tools=tools, stream=True):
                pass
    """,
    "qwen_agentkit": """
        from qwen_agentkit.llm import get_chat_model
        from qwen_agentkit.schema import Message
        cfg = {"max_input_tokens": 200000}
        model = get_chat_model({"model": "m", "model_server": url, "generate_cfg": cfg})
        history = [Message(**m) for m in history]
        def ask():
            for reply in model.chat(history, functions=functions):
                pass
    """,
    "Qwen-Agent": """
        from qwen_agent.llm import get_chat_model
        from qwen_agent.llm.schema import Message
        cfg = {"max_input_tokens": 200000}
        model = get_chat_model({"model": "m", "model_server": url, "api_key": "EMPTY", "generate_cfg": cfg})
        history = [Message(**m) for m in history]
        def ask():
            for reply in model.chat(history, functions=functions):
                pass
    """,
}

RUN = (
    HISTORY
    + """
CLIENT
cpu = time.process_time()
ask()
first = time.process_time() - cpu
cpu = time.process_time()
for _ in range(calls):
    ask()
print(json.dumps([first, time.process_time() - cpu]))
"""
)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--calls", type=int, default=20)
    arguments.add_argument("--messages", type=int, default=400)
    given = arguments.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("streaming.py")), "--serve", "--chunks", "1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        print(f"{given.calls} calls after a first one, {given.messages} messages")
        print(f"{'client':<16}{'first s':>10}{'CPU s':>10}{'ms a call':>12}")
        for name, code in CLIENTS.items():
            python = os.environ.get(PEER) if name == "Qwen-Agent" else sys.executable
            if python is None:
                print(f"{name:<16}  left out: {PEER} names no Python that has it")
                continue
            environment = {**os.environ, "PYTHONPATH": "" if name == "Qwen-Agent" else str(ROOT)}
            done = subprocess.run(
                [
                    python,
                    "-c",
                    RUN.replace("CLIENT", textwrap.dedent(code)),
                    url,
                    str(given.messages),
                    str(given.calls),
                ],
                capture_output=True,
                text=True,
                env=environment,
            )
            if done.returncode:
                print(f"{name:<16}  failed: {done.stderr.strip().splitlines()[-1:]}")
                continue
            first, cpu = json.loads(done.stdout.strip().splitlines()[-1])
            print(f"{name:<16}{first:>10.3f}{cpu:>10.3f}{1000 * cpu / given.calls:>12.2f}")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
