"""`/v1/sessions`: a user's stored conversations and the files in them; `/v1/me`: everything of a user."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from qwen_agentkit.server.bodies import ForkBody, NewSessionBody, SessionId, TitleBody
from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.requests import TheService, User
from qwen_agentkit.server.run import ENDED

router = APIRouter(prefix="/v1", tags=["Sessions"])

InPath = Annotated[SessionId, Path()]
Limit = Annotated[int, Query(ge=1, le=1_000)]
Offset = Annotated[int, Query(ge=0, le=10**9)]


@router.get("/sessions")
def list_sessions(service: TheService, user: User, limit: Limit = 50, offset: Offset = 0) -> dict[str, Any]:
    """The user's sessions, the last used first."""
    infos = service.sessions.store.sessions(user, limit, offset)
    return {"object": "list", "data": [info.to_dict() for info in infos]}


@router.post("/sessions", status_code=201)
def make_session(body: NewSessionBody, service: TheService, user: User) -> dict[str, Any]:
    """Makes a session, or finds the one of that id."""
    session = service.sessions.open(user, body.session_id)
    if body.title is not None:
        session.rename(body.title)
    return session.info().to_dict()


@router.get("/session-search")
def search_sessions(
    service: TheService, user: User, q: Annotated[str, Query(min_length=1, max_length=1_000)], limit: Limit = 10
) -> dict[str, Any]:
    """Messages of the user's sessions that fit the words best."""
    found = service.sessions.store.search(q, user, limit)
    return {"object": "list", "data": [fragment.to_dict() for fragment in found]}


@router.get("/sessions/{session_id}")
def get_session(session_id: InPath, service: TheService, user: User) -> dict[str, Any]:
    """A session: its title, its counts, and what is under way in it."""
    session = service.session(user, session_id)
    return {**session.info().to_dict(), "runs": [run.id for run in service.board.of_session(user, session_id)]}


@router.get("/sessions/{session_id}/messages")
def get_messages(session_id: InPath, service: TheService, user: User) -> dict[str, Any]:
    """The conversation of a session."""
    messages = service.session(user, session_id).messages()
    return {"object": "list", "data": [message.model_dump() for message in messages]}


@router.get("/sessions/{session_id}/export")
def export_session(session_id: InPath, service: TheService, user: User) -> dict[str, Any]:
    """Everything that a session holds."""
    files = [upload.to_dict() for upload in service.uploads.of_session(user, session_id)]
    return {**service.session(user, session_id).export(), "files": files}


@router.patch("/sessions/{session_id}")
def rename_session(session_id: InPath, body: TitleBody, service: TheService, user: User) -> dict[str, Any]:
    """Gives a session another title."""
    session = service.session(user, session_id)
    session.rename(body.title)
    return session.info().to_dict()


@router.delete("/sessions/{session_id}")
def delete_session(session_id: InPath, service: TheService, user: User) -> dict[str, Any]:
    """Erases a session with its messages and files."""
    service.session(user, session_id)
    service.delete_session(user, session_id)
    return {"session_id": session_id, "deleted": True}


@router.post("/sessions/{session_id}/fork", status_code=201)
def fork_session(session_id: InPath, body: ForkBody, service: TheService, user: User) -> dict[str, Any]:
    """Copies a session up to a message."""
    session = service.session(user, session_id)
    try:
        return session.fork(body.at, body.session_id).info().to_dict()
    except ValueError as error:
        raise RequestFailed(400, str(error), "invalid_fork") from None


@router.post(
    "/sessions/{session_id}/files",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["file"],
                        "properties": {"file": {"type": "string", "format": "binary"}},
                    }
                }
            },
        }
    },
)
async def upload_file(session_id: InPath, request: Request, service: TheService, user: User) -> dict[str, Any]:
    """Adds a file to a session; a message names it as `{"file": id}` or `{"image": id}`."""
    # Parsed here and not by the framework: who may not upload is refused before anything is read.
    try:
        form = await request.form(max_files=1, max_fields=10)
    except HTTPException as error:
        raise RequestFailed(400, str(error.detail), "invalid_upload", "file") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise RequestFailed(400, "A multipart/form-data body with a field `file` is wanted", "no_file", "file")

        async def pieces(held: UploadFile = file) -> Any:
            while piece := await held.read(1 << 20):
                yield piece

        upload = await service.uploads.add(user, session_id, file.filename, pieces(), time.time())
    finally:
        await form.close()
    return upload.to_dict()


@router.get("/sessions/{session_id}/files")
def list_files(session_id: InPath, service: TheService, user: User) -> dict[str, Any]:
    """The files of a session."""
    return {"object": "list", "data": [upload.to_dict() for upload in service.uploads.of_session(user, session_id)]}


@router.delete("/sessions/{session_id}/files/{file_id}")
def delete_file(session_id: InPath, file_id: str, service: TheService, user: User) -> dict[str, Any]:
    """Erases a file of a session."""
    service.uploads.delete(user, session_id, file_id)
    return {"id": file_id, "deleted": True}


@router.get("/me/export", tags=["User"])
def export_user(service: TheService, user: User) -> dict[str, Any]:
    """Everything that is kept of the user's conversations."""
    return service.sessions.store.export_user(user)


@router.delete("/me", tags=["User"])
def delete_user(service: TheService, user: User) -> dict[str, Any]:
    """Erases the user's sessions, messages and files, and cancels the user's runs."""
    for run in service.board.of_user(user):
        if run.status not in ENDED:
            service.board.cancel(run, "the user's data was deleted")
        service.board.forget(run)
    sessions = service.sessions.store.delete_user(user)
    service.sessions.forget_user(user)
    service.uploads.delete_user(user)
    return {"deleted": True, "sessions": sessions}
