"""A server with a certificate of its own: trusted by `ca_file` only, per model, by both SDKs."""

import datetime
import ipaddress
import ssl

import pytest

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm import get_chat_model
from tests.servers.dashscope_server import DashScopeServer
from tests.servers.oai_server import OAIServer

HI = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signs itself, and its key, as files."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("certificate")
    kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(*kinds))
    (folder / "ca.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    return str(folder / "ca.pem"), str(folder / "key.pem")


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.parametrize("kind", ["oai", "qwen_dashscope"])
def test_a_certificate_is_trusted_by_the_models_own_ca_file(certificate, kind):
    ca_file, key_file = certificate
    server = OAIServer() if kind == "oai" else DashScopeServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca_file, key_file)
    server.server.socket = context.wrap_socket(server.server.socket, server_side=True)
    server.script = ["fine"]
    address = server.root.replace("http://", "https://")
    where = {"model_server": f"{address}/v1"} if kind == "oai" else {"base_http_api_url": f"{address}/api/v1"}
    cfg = {"model": "qwen-plus", "model_type": kind, "api_key": "k", **where}
    try:
        for trusting in ({"ca_file": ca_file}, {"ca_file": False}):
            assert get_chat_model({**cfg, **trusting}).chat(HI, stream=False)[-1]["content"] == "fine"
        with pytest.raises(ModelServiceError, match=r"(?i)certificate") as caught:
            get_chat_model(cfg).chat(HI, stream=False)
        assert caught.value.extra["kind"] == "certificate"
        assert "ca_file" in caught.value.message
    finally:
        server.close()
