"""Errors that say which model failed, where, how, and what mends it."""

import email.utils
import time

import pytest

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm.retry import RETRIABLE, TRANSPORT
from qwen_agentkit.llm.service_errors import MENDS, kind_of, message_of_body, retry_after, service_error


def test_the_text_names_model_address_status_and_mend():
    error = service_error(
        model="m", address="http://h/v1", status=404, message="model 'm' not found, try pulling it first"
    )
    assert "'m'" in error.message
    assert "http://h/v1" in error.message
    assert "404" in error.message
    assert MENDS["model_not_found"] in error.message
    assert (error.code, error.extra["status"]) == ("404", 404)


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("400", "whatever", "bad_request"),
        ("DataInspectionFailed", "", "inspection"),
        (None, "Input data may contain inappropriate content.", "inspection"),
        (None, "This model's maximum context length is 4096 tokens", "too_long"),
        ("InvalidParameter", "Range of input length should be [1, 6000]", "too_long"),
        ("Throttling.RateQuota", "", "rate_limited"),
        ("503", "", "server_error"),
        (None, "something", "unknown"),
    ],
)
def test_errors_of_a_users_own_model_are_understood(code, message, kind):
    assert kind_of(ModelServiceError(code=code, message=message)) == kind


def test_every_kind_that_is_retried_has_a_mend():
    assert set(MENDS) >= RETRIABLE >= TRANSPORT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-4"}, 0.0),
        ({}, None),
        (None, None),
    ],
)
def test_retry_after_in_seconds(headers, seconds):
    assert retry_after(headers) == seconds


def test_retry_after_as_a_date():
    assert retry_after({"Retry-After": email.utils.formatdate(time.time() + 30, usegmt=True)}) == pytest.approx(
        30, abs=3
    )


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"error": {"code": "x", "message": "m"}}, "x", "m"),
        ({"message": "m", "type": "BadRequestError", "code": 400}, "400", "m"),
        ({"error": "m"}, None, "m"),
        ({"detail": "Not Found"}, None, "Not Found"),
        (
            {"detail": [{"loc": ["body"], "msg": "field required"}]},
            None,
            "[{'loc': ['body'], 'msg': 'field required'}]",
        ),
        (b"<html><head><title> 502 Bad Gateway </title>", None, "a web page (502 Bad Gateway)"),
        ("plain", None, "plain"),
        (None, None, ""),
    ],
)
def test_error_bodies_in_the_shapes_of_servers(body, code, message):
    assert message_of_body(body) == (code, message)


def test_a_long_message_is_shortened():
    error = service_error(model="m", address="a", status=500, message="x" * 5000)
    assert len(error.message) < 1000
