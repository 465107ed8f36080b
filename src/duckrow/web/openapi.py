"""The OpenAPI description: FastAPI's own, plus the errors and the ways to authenticate."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from duckrow.web.gate.authentication import SESSION_HEADER
from duckrow.web.server_options import ServerOptions

_ERROR = {"$ref": "#/components/schemas/Error"}
_ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["sentence", "hint"],
            "properties": {"sentence": {"type": "string"}, "hint": {"type": ["string", "null"]}},
        }
    },
}
_ERRORS = {
    400: "The request is impossible; the message says why.",
    401: "Not logged in.",
    403: "From another website, by another name, or to a read-only server.",
    404: "There is no such thing.",
    409: "Not possible in the job's present state.",
    408: "The body did not arrive in time.",
    413: "More than 1 MiB.",
    414: "The address is too long.",
    415: "Not JSON.",
    422: "A value is missing, of the wrong kind or out of bounds.",
    503: "The scheduler or the database does not answer, or too many streams are open.",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
    for status, text in _ERRORS.items()
}


_WHOLE = ("JobView", "JobDetails")  # answers always contain all fields of a job, even those that are optional in Python
_LIFE = {  # plain strings in Python
    "state": {"$ref": "#/components/schemas/State"},
    "outcome": {"anyOf": [{"$ref": "#/components/schemas/Outcome"}, {"type": "null"}]},
}


def text_of(kind: str, what: str) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route whose answer is not JSON."""
    return {200: {"description": what, "content": {kind: {"schema": {"type": "string"}}}}}


def describe(app: FastAPI, serving: ServerOptions) -> None:
    """Let this application describe itself."""

    def description() -> dict[str, Any]:
        if app.openapi_schema is None:
            told = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                servers=[{"url": serving.base_path or "/"}],
            )
            schemas = told["components"]["schemas"]
            schemas["Error"] = _ERROR_SCHEMA
            for name in _WHOLE:
                schemas[name]["required"] = list(schemas[name]["properties"])
                schemas[name]["properties"].update(_LIFE)
            ways_in = told["components"].setdefault("securitySchemes", {})
            ways_in["token"] = {"type": "http", "scheme": "bearer", "description": "`duckrow web --token` prints it."}
            ways_in["session"] = {"type": "apiKey", "in": "header", "name": SESSION_HEADER}
            told["security"] = [{"token": []}, {"session": []}]
            app.openapi_schema = told
        return app.openapi_schema

    app.openapi = description  # type: ignore[method-assign]
