"""Two players at a board, which a tool keeps: each moves in turn until one has three in a row.

python examples/team_two_players.py                    # scripted replies, no key
python examples/team_two_players.py --model qwen-max   # a real model
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import FnCallAgent, GroupChat
from qwen_agentkit.agents.group import MaxRounds, WhenTrue
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.base import BaseTool

ROWS = ["123", "456", "789", "147", "258", "369", "159", "357"]


class Move(BaseTool):
    """Puts one player's mark on the board. The board is that of one game, shared by the two players' tools.

    Args:
        mark: X or O.
        board: The marks by square.
    """

    name = "move"
    description = "Puts your mark on a free square, 1 to 9 from the upper left."
    parameters = {"type": "object", "properties": {"square": {"type": "string"}}, "required": ["square"]}

    def __init__(self, mark: str, board: dict[str, str]) -> None:
        super().__init__()
        self.mark = mark
        self.board = board

    def call(self, params: str | dict, **kwargs: Any) -> str:
        square = str(self._verify_json_format_args(params)["square"])
        if square not in "123456789" or len(square) != 1 or square in self.board:
            return f"Square {square} is not free. Free: {' '.join(s for s in '123456789' if s not in self.board)}"
        self.board[square] = self.mark
        if any(all(self.board.get(other) == self.mark for other in row) for row in ROWS):
            return f"{self.drawn()}\n{self.mark} WINS"
        return self.drawn() if len(self.board) < 9 else f"{self.drawn()}\nDRAW"

    def drawn(self) -> str:
        return "\n".join("".join(self.board.get(square, ".") for square in row) for row in ROWS[:3])


def scripted() -> dict[str, ScriptedChatModel]:
    """What the models might say; Olga tries a square that is taken."""

    def turns(*squares: str) -> list:
        return [entry for square in squares for entry in (call("move", square=square), f"I take {square}.")]

    return {
        "Xaver": ScriptedChatModel(turns("5", "1", "9")),
        "Olga": ScriptedChatModel([call("move", square="5"), call("move", square="2"), "I take 2.", *turns("3")]),
    }


def build(models: Any) -> GroupChat:
    """A new game."""
    models = models if isinstance(models, dict) and "Xaver" in models else dict.fromkeys(scripted(), models)
    board: dict[str, str] = {}

    def over(messages: Any) -> bool:
        return any(m.role == "function" and str(m.content).endswith(("WINS", "DRAW")) for m in messages)

    return GroupChat(
        [
            FnCallAgent([Move(mark, board)], models[name], f"You play {mark}. Make one move, then say which.", name)
            for mark, name in (("X", "Xaver"), ("O", "Olga"))
        ],
        "round_robin",
        termination=WhenTrue(over) | MaxRounds(9),
    )


def main(llm: Any = None) -> list[dict]:
    """Plays one game and returns what was said."""
    *_, response = build(llm or scripted()).run([{"role": "user", "content": "Xaver begins."}])
    for message in response:
        if message["content"]:
            print(f"{message['name']}: {message['content']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A game for two."))
