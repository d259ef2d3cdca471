"""Addresses of databases as they may be shown."""

from __future__ import annotations


def without_password(address: str) -> str:
    """An address of a database without the password in it.

    Args:
        address: As SQLAlchemy takes it, such as `postgresql+psycopg://app:secret@db/agents`.
    """
    before, at, after = address.rpartition("@")
    scheme, colon, user = before.partition("://")
    return f"{scheme}{colon}{user.partition(':')[0]}{at}{after}" if at else address
