"""What requests hold, as pydantic models; OpenAPI describes them from here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

# Ids stand in paths, so they hold nothing that has a meaning there.
SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@-]{1,128}$", description="A session of the user.")]
Title = Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]
Text = Annotated[str, Field(min_length=1, max_length=1_000_000, pattern=r"\S")]


class Body(BaseModel):
    """A body whose unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class StreamOptions(BaseModel):
    """OpenAI's `stream_options`."""

    include_usage: bool = False


class CompletionBody(BaseModel):
    """OpenAI's request for a chat completion. Settings of the model belong to the agent; they are taken and ignored."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(description="Name of an agent, as /v1/models lists them.")
    messages: list[dict[str, Any]] = Field(description="The conversation; with session_id only what is new.")
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    response_format: dict[str, Any] | None = Field(None, description="json_schema gives the answer that form.")
    seed: int | None = None
    n: int | None = Field(1, description="Only 1.")
    tools: list[Any] | None = Field(None, description="Tools belong to the agent; only an empty list is taken.")
    session_id: SessionId | None = Field(None, description="Continues a stored session.")


class LimitsBody(Body):
    """Bounds of a run; they can only lower the server's own."""

    model_calls: int | None = Field(None, ge=0)
    tool_calls: int | None = Field(None, ge=0)
    tokens: int | None = Field(None, ge=0)
    seconds: float | None = Field(None, ge=0)
    cost: float | None = Field(None, ge=0)


class RunBody(Body):
    """A run."""

    agent: str | None = Field(None, description="Name of an agent; the first one by default.")
    messages: list[dict[str, Any]] = Field(description="The conversation; with session_id only what is new.")
    session_id: SessionId | None = None
    stream: bool = Field(True, description="False answers with the whole run when it has ended.")
    background: bool = Field(False, description="The run goes on alone; ask for it with GET /v1/runs/{id}.")
    limits: LimitsBody | None = None
    output_schema: dict[str, Any] | None = Field(None, description="JSON schema that the answer must have.")
    lang: str | None = Field(None, pattern="^(zh|en)$", description="Language of the agent's prompts.")
    seed: int | None = None


class ApprovalBody(Body):
    """Decisions about tool calls that wait."""

    decisions: bool | dict[str, bool | str | dict[str, Any]] = Field(
        description="One for all, or by call id: true, false, a reason to deny, or {allow, reason, arguments}."
    )


class FollowUpBody(Body):
    """A text for a run that is under way."""

    text: Text


class ChatBody(Body):
    """One thing that the user says."""

    message: Text | list[dict[str, Any]] = Field(description="Text, or content parts.")
    session_id: SessionId | None = Field(None, description="Continues a session; a new one is made without it.")
    agent: str | None = None


class ResetBody(Body):
    """A session that is to be forgotten."""

    session_id: SessionId


class TitleBody(Body):
    """Another title of a session."""

    title: Title


class ForkBody(Body):
    """A copy of the beginning of a session."""

    at: int = Field(ge=0, le=10**9, description="Number of the last message to take over, from 0.")
    session_id: SessionId | None = Field(None, description="Id of the copy; one is made without it.")


class NewSessionBody(Body):
    """A new session."""

    session_id: SessionId | None = None
    title: Title | None = None
