"""The OpenAPI document, and the server held against it by schemathesis."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.server import ServerOptions, create_app
from qwen_agentkit.testing import ScriptedChatModel

EXAMPLES = 40


@pytest.fixture
def app(tmp_path):
    options = ServerOptions(
        tokens={"token": "ada"},
        store=f"sqlite:///{tmp_path}/s.sqlite",
        upload_folder=str(tmp_path / "uploads"),
        resume_seconds=0,
    )
    return create_app(BasicAgent(llm=ScriptedChatModel(["Hello."], repeat=True), name="helper"), options)


def test_every_operation_is_described(app):
    paths = app.openapi()["paths"]
    wanted = {"/v1/models", "/v1/chat/completions", "/v1/runs", "/v1/runs/{run_id}/events", "/chat", "/chat/stream"}
    assert wanted | {"/reset", "/healthz", "/metrics", "/v1/sessions/{session_id}/files"} <= set(paths)
    for path, operations in paths.items():
        for method, operation in operations.items():
            assert operation["summary"] and operation.get("description"), (method, path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_call_of_any_shape_breaks_the_server(app):
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.specs.openapi.checks import response_schema_conformance

    tried = 0
    for found in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def no_call_breaks_it(case):
            nonlocal tried
            tried += 1
            response = case.call(headers={"Authorization": "Bearer token"})
            assert response.status_code < 500, response.text
            if response.status_code >= 400:
                assert set(response.json()["error"]) == {"message", "type", "param", "code"}
            case.validate_response(response, checks=[response_schema_conformance])

        no_call_breaks_it()
    assert tried >= 400
