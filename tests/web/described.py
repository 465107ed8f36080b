"""Whether an answer is as the OpenAPI description says: with every field, and with no other."""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from typing import Any

import jsonschema_rs

from duckrow.web.app import build
from duckrow.web.server_options import ServerOptions

API = "/api/v1"


@lru_cache
def description() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        gate: Any = build(ServerOptions(home))[0]
        told: dict[str, Any] = gate._app.openapi()
    return told


def check_answer(method: str, path: str, status: int, answer: Any) -> None:
    """Fail unless the description has this answer."""
    route = _route_of(path)
    responses = description()["paths"][route][method.lower()]["responses"]
    assert str(status) in responses, f"{method} {route}: an answer {status} is not described"
    reference = responses[str(status)]["content"]["application/json"]["schema"]["$ref"]
    errors = [
        f"{'/'.join(str(part) for part in error.instance_path)}: {error.message}"
        for error in _validator(reference).iter_errors(answer)
    ]
    assert not errors, f"{method} {route}: {errors[:5]}"


def _route_of(path: str) -> str:
    """The route with the fewest parameters that this path is of."""
    routes = sorted(description()["paths"], key=lambda route: route.count("{"))
    return next(str(route) for route in routes if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), path))


@lru_cache
def _validator(reference: str) -> jsonschema_rs.Validator:
    """Stricter than the description itself, which lets later versions add fields."""
    strict = {name: _closed(schema) for name, schema in description()["components"]["schemas"].items()}
    return jsonschema_rs.validator_for(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": reference,
            "components": {"schemas": strict},
        }
    )


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False} if "properties" in schema else schema
