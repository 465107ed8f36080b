"""The variables of a job, with everything hidden that may be a secret."""

from __future__ import annotations

import re
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.job_details import check_job
from duckrow.store.jobs.answers import AnswerStore

MASK = "••••"
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS|PWD$|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|SALT|DSN|WEBHOOK|CONNECTION_STRING",
    re.IGNORECASE,
)
_NO_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS"})
# Values that look like a secret under any name: a URL with a password, and the prefixes of well-known tokens.
_SECRET_VALUE = re.compile(
    r"\w+://[^/\s:@]*:[^/\s@]+@|-----BEGIN|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abp]-|AKIA|eyJ)[\w-]{10,}"
)


def masked_environment(client: Client, job_id: int) -> list[dict[str, Any]]:
    check_job(client, job_id)
    variables = AnswerStore(client.database).variables(job_id)
    return [
        {"name": name, "value": MASK if hidden else value, "masked": hidden}
        for name, value in sorted(variables.items())
        for hidden in [is_secret(name, value)]
    ]


def is_secret(name: str, value: str) -> bool:
    if not value:
        return False
    return (name not in _NO_SECRET and bool(_SECRET_NAME.search(name))) or bool(_SECRET_VALUE.search(value))
