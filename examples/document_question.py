"""A question to a PDF, with the page that the answer stands on.

python examples/document_question.py                        # quoted from the document, no key
python examples/document_question.py --model qwen-max       # written by a model
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import Assistant

HANDBOOK = Path(__file__).resolve().parents[1] / "resources" / "handbook.pdf"


def main(llm: Any = None) -> dict:
    """Asks one question and returns the answering message."""
    bot = Assistant(llm=llm or {"model_type": "extractive"}, files=[str(HANDBOOK)])
    *_, response = bot.run([{"role": "user", "content": "How long is the motor guaranteed?"}])
    answer = response[-1]
    print(answer["content"])
    for citation in answer["extra"]["citations"]:
        print(f"  [{citation['n']}] {Path(citation['source']).name}, page {citation['page']}: {citation['quote']}")
    return answer


if __name__ == "__main__":
    main(model_from_flags("A question to a PDF."))
