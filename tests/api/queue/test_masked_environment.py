"""What may be a secret is not shown."""

from __future__ import annotations

import pytest

from duckrow.api.queue.masked_environment import is_secret


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WANDB_API_KEY", "x"),
        ("hf_token", "x"),
        ("DB_PASSWORD", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("MYSQL_PWD", "x"),
        ("SESSION_COOKIE", "x"),
        ("DATABASE_URL", "postgres://ada:lovelace@db/x"),
        ("WHATEVER", "ghp_0123456789abcdefghij"),
        ("WHATEVER", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_what_looks_like_a_secret_by_name_or_by_value_is_one(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("PATH", "/bin"), ("PWD", "/home"), ("CUDA_HOME", "/usr"), ("URL", "https://example.org/x"), ("API_KEY", "")],
)
def test_what_everybody_may_see_is_shown(name: str, value: str) -> None:
    assert not is_secret(name, value)
