"""What the page's JavaScript knows of the server, written from the server's own description.

`answers.d.ts` has the types of all answers and bodies, for the check of types alone. `lifecycle.js` has the states and
outcomes of jobs. After a change of a route, a schema or a state: `.venv/bin/python -m tests.web.page_types`.

It also takes the addresses that npm adds out of the lock file of what checks the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from duckrow.core.life.states import LIVE, Outcome, State
from tests.web.described import API, description

ROOT = Path(__file__).parents[2]
COMMAND = "python -m tests.web.page_types"
ANSWERS = ROOT / "tools/page/answers.d.ts"
LOCK = ROOT / "tools/page/package-lock.json"
LIFECYCLE = ROOT / "src/duckrow/web/static/js/lifecycle.js"

_NO_BODY = {"schema": {"type": "object", "properties": {}}}
_METHODS = ("get", "post", "patch")
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def answers() -> str:
    """The types of what the server sends and takes."""
    schemas = description()["components"]["schemas"]
    lines = [f"// What the server sends and takes, written by `{COMMAND}` from its OpenAPI description.", ""]
    lines += ["declare namespace Api {"]
    for name in sorted(schemas):
        lines += [f"  {line}" for line in _declared(name, schemas[name])]
    for method in _METHODS:
        lines += [f"  {line}" for line in _routes(method)]
    return "\n".join([*lines, "}", ""])


def _declared(name: str, schema: dict[str, Any]) -> Iterator[str]:
    if "properties" not in schema:
        yield f"type {name} = {_type(schema)};"
        return
    yield f"interface {name} {{"
    for field in _fields(schema):
        yield f"  {field};"
    yield "}"


def _fields(schema: dict[str, Any]) -> list[str]:
    required = schema.get("required", [])
    return [_field(name, name in required, one) for name, one in schema["properties"].items()]


def _field(name: str, is_required: bool, schema: dict[str, Any]) -> str:
    return f"{name}{'' if is_required else '?'}: {_type(schema)}"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_PLAIN[one] for one in kind)
    if kind == "array":
        return _list(schema)
    if kind == "object":
        return _object(schema)
    return _PLAIN[kind] if kind else "unknown"


def _list(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(one) for one in schema['prefixItems'])}]"
    one = _type(schema["items"])
    return f"({one})[]" if "|" in one else f"{one}[]"


def _object(schema: dict[str, Any]) -> str:
    if "properties" in schema:
        return f"{{ {'; '.join(_fields(schema))} }}" if schema["properties"] else "{}"
    more = schema.get("additionalProperties", True)
    return f"{{ [name: string]: {'unknown' if more is True else _type(more)} }}"


def _routes(method: str) -> Iterator[str]:
    """A line for each route: its path, and what belongs to it."""
    yield f"interface {method.capitalize()} {{"
    for path, methods in description()["paths"].items():
        if method in methods and (answer := _answer(methods[method])):
            told = methods[method]
            yield f"  {_key(path.removeprefix(API), told)}: {{ {_asked(method, told)}; answer: {answer} }};"
    yield "}"


def _key(path: str, told: dict[str, Any]) -> str:
    kinds = {one["name"]: _type(one["schema"]) for one in told.get("parameters", []) if one["in"] == "path"}
    if not kinds:
        return json.dumps(path)
    pattern = re.sub(r"{(\w+)}", lambda found: "${" + kinds[found[1]] + "}", path)
    return f"[path: `{pattern}`]"


def _asked(method: str, told: dict[str, Any]) -> str:
    if method != "get":
        [content] = told.get("requestBody", {"content": {"": _NO_BODY}})["content"].values()
        return f"body: {_type(content['schema'])}"
    query = [one for one in told.get("parameters", []) if one["in"] == "query"]
    fields = [_field(one["name"], one.get("required", False), one["schema"]) for one in query]
    return f"query: {{ {'; '.join(fields)} }}" if fields else "query: {}"


def _answer(told: dict[str, Any]) -> str | None:
    """None where it is not JSON: streams and files have their own ways."""
    [answer] = [told["responses"][status] for status in ("200", "201") if status in told["responses"]]
    content = answer["content"].get("application/json")
    return None if content is None else _type(content["schema"])


def lifecycle() -> str:
    """The states and outcomes, as a module of the page."""
    live = ", ".join(f"State.{state.name}" for state in LIVE)
    return f"""/** The states and outcomes of jobs, written by `{COMMAND}` from duckrow/core/life/states.py. */

{_constants("State", State)}
{_constants("Outcome", Outcome)}
/** The states in which a job holds devices. @type {{readonly Api.State[]}} */
export const LIVE = [{live}];
"""


def _constants(name: str, words: type[Enum]) -> str:
    values = "".join(f"  {word.name}: {json.dumps(word.value)},\n" for word in words)
    return f"export const {name} = Object.freeze(\n  /** @type {{const}} */ ({{\n{_deeper(values)}  }}),\n);\n"


def _deeper(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def lock_without_addresses() -> str:
    """The lock file without the websites where one can give money: no address stands in this repository."""
    lock = json.loads(LOCK.read_text())
    for package in lock["packages"].values():
        package.pop("funding", None)
    return json.dumps(lock, indent=2) + "\n"


if __name__ == "__main__":
    ANSWERS.write_text(answers())
    LIFECYCLE.write_text(lifecycle())
    LOCK.write_text(lock_without_addresses())
