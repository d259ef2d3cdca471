"""Servers on loopback that speak the protocols of model services; the tests talk to them with the real SDKs."""
