"""Errors as a status and a message in JSON."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from duckrow.core.errors import ConflictError, DuckrowError, NotFoundError, UsageError
from duckrow.web.answers.json_response import JsonResponse

_STATUS_OF = ((NotFoundError, 404), (ConflictError, 409), (UsageError, 400))
_SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
}
_SHOWN = 200  # characters of an error message


class RequestRefused(DuckrowError):
    """A refused request, with its status."""

    def __init__(self, status: int, sentence: str, hint: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.hint = hint


def error_answer(
    status: int, sentence: str, hint: str | None = None, headers: dict[str, str] | None = None
) -> JsonResponse:
    return JsonResponse({"error": {"sentence": sentence, "hint": hint}}, status, headers)


def answer_of(error: DuckrowError) -> JsonResponse:
    if isinstance(error, RequestRefused):
        return error_answer(error.status, str(error), error.hint)
    status = next((status for kind, status in _STATUS_OF if isinstance(error, kind)), 503)
    return error_answer(status, str(error))


def tell_errors(app: FastAPI) -> None:
    """Answer all errors of this app in the same format."""

    async def ours(_request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, DuckrowError)
        return answer_of(error)

    async def of_schema(_request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, RequestValidationError)
        return error_answer(422, _told(error))

    async def of_http(_request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, HTTPException)
        sentence = _SENTENCES.get(error.status_code, str(error.detail))
        return error_answer(error.status_code, sentence, headers=dict(error.headers or {}))

    async def unknown(_request: Request, _error: Exception) -> JsonResponse:
        return error_answer(500, "This is a bug in duckrow. The terminal or web.log of the server has the details.")

    app.add_exception_handler(DuckrowError, ours)
    app.add_exception_handler(RequestValidationError, of_schema)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, unknown)


def _told(error: RequestValidationError) -> str:
    """The first error: where, and why."""
    first: Any = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or "the body"
    return f"{where}: {first['msg']}."[:_SHOWN]
