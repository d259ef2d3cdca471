"""Files of a session, and what messages may name."""

import pytest

from qwen_agentkit.agents import Assistant, BasicAgent
from qwen_agentkit.testing import ScriptedChatModel

MANUAL = b"# Motor\n\nThe motor is guaranteed for seven years.\n"


def agent():
    return BasicAgent(llm=ScriptedChatModel(["Seen."], repeat=True, cfg={"multimodal": True}), name="helper")


def upload(client, name="manual.md", content=MANUAL, session="s", **kwargs):
    return client.post(f"/v1/sessions/{session}/files", files={"file": (name, content)}, **kwargs)


def test_a_document_that_was_uploaded_is_answered_from(serve):
    served = serve(Assistant(llm={"model_type": "extractive"}, name="helper"))
    held = upload(served.client).json()
    assert held["filename"] == "manual.md" and held["bytes"] == len(MANUAL) and held["object"] == "file"
    served.client.post("/chat", json={"message": [{"file": held["id"]}], "session_id": "s"})
    question = {"message": "How long is the motor guaranteed?", "session_id": "s"}
    answer = served.client.post("/chat", json=question).json()
    assert "seven years" in answer["answer"]
    assert answer["citations"]


def test_openais_file_part_names_an_upload_too(serve):
    served = serve(agent())
    held = upload(served.client).json()
    part = {"type": "file", "file": {"file_id": held["id"]}}
    body = {"model": "helper", "session_id": "s", "messages": [{"role": "user", "content": [part]}]}
    assert served.client.post("/v1/chat/completions", json=body).status_code == 200


@pytest.mark.parametrize(
    "item",
    [
        {"file": "/etc/passwd"},
        {"file": "file:///etc/passwd"},
        {"image": "secret.png"},
        {"image": "FILE:///etc/passwd"},
        {"audio": {"data": "/etc/passwd", "format": "wav"}},
        {"video": ["http://127.0.0.1/a.png", "/etc/passwd"]},
        {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
        {"type": "file", "file": {"filename": "/etc/passwd"}},
        {"type": "file", "file": {"file_id": "../../x"}},
        {"file": "file_0123456789abcdef01234567"},
    ],
)
def test_a_message_can_not_name_a_file_of_the_server(serve, item):
    body = {"message": [item], "session_id": "s"}
    answer = serve(agent()).client.post("/chat", json=body)
    assert answer.status_code == 400 and answer.json()["error"]["code"] in ("invalid_media", "invalid_message")


def test_a_file_belongs_to_its_user_and_session(serve):
    served = serve(agent(), tokens={"a": "ada", "b": "bob"})
    ada, bob = ({"Authorization": f"Bearer {token}"} for token in "ab")
    held = upload(served.client, headers=ada).json()["id"]
    message = {"message": [{"file": held}], "session_id": "s"}
    assert served.client.post("/chat", json=message, headers=ada).status_code == 200
    assert served.client.post("/chat", json=message, headers=bob).status_code == 400
    assert served.client.post("/chat", json={**message, "session_id": "t"}, headers=ada).status_code == 400
    assert served.client.delete(f"/v1/sessions/s/files/{held}", headers=bob).status_code == 404
    assert served.client.get("/v1/sessions/s/files", headers=bob).json()["data"] == []


def test_types_and_sizes_are_bounded(serve, tmp_path):
    served = serve(agent(), max_upload_bytes=1000, max_session_upload_bytes=1500)
    assert upload(served.client, "run.exe").json()["error"]["code"] == "unsupported_file_type"
    assert upload(served.client, "noending").status_code == 415
    assert upload(served.client, "big.txt", b"x" * 1001).json()["error"]["code"] == "file_too_large"
    assert upload(served.client, "huge.txt", b"x" * 200_000).json()["error"]["code"] == "request_too_large"
    assert upload(served.client, "one.txt", b"x" * 1000).status_code == 201
    assert upload(served.client, "two.txt", b"x" * 501).status_code == 413
    assert upload(served.client, "two.txt", b"x" * 500).status_code == 201
    assert sorted(path.name for path in (tmp_path / "uploads").rglob("*.txt")) == ["one.txt", "two.txt"]


@pytest.mark.parametrize("name", ["../../evil.txt", "..\\evil.txt", "/abs/evil.txt", ".upload.json", "file.json"])
def test_a_name_can_not_lead_out_of_the_folder(serve, tmp_path, name):
    served = serve(agent())
    held = upload(served.client, name).json()
    assert "/" not in held["filename"] and not held["filename"].startswith(".")
    (kept,) = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == MANUAL]
    assert tmp_path / "uploads" in kept.parents
    assert served.client.get("/v1/sessions/s/files").json()["data"] == [held]


def test_files_go_with_their_session(serve, tmp_path):
    served = serve(agent())
    held = upload(served.client).json()["id"]
    served.client.post("/chat", json={"message": "Hi", "session_id": "s"})
    assert served.client.get("/v1/sessions/s/export").json()["files"][0]["id"] == held
    assert served.client.delete(f"/v1/sessions/s/files/{held}").json() == {"id": held, "deleted": True}
    upload(served.client)
    assert served.client.delete("/v1/sessions/s").status_code == 200
    assert not list((tmp_path / "uploads").rglob("*.md"))


def test_a_body_without_a_file_is_refused(serve):
    client = serve(agent()).client
    assert client.post("/v1/sessions/s/files", data={"x": "y"}).json()["error"]["code"] == "no_file"
    assert client.post("/v1/sessions/s/files", json={}).status_code == 400
    broken = {"Content-Type": "multipart/form-data"}
    assert client.post("/v1/sessions/s/files", content=b"x", headers=broken).status_code == 400
