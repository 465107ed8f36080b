"""The import rules of the house, read from every import of every module, lazy ones too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Engine
from duckrow.scheduler.state.host_state import HostState
from tests.sources import dotted, nodes_of, tree_of

pytestmark = pytest.mark.no_cover  # nothing of ours runs here, and to read our modules would take twice as long

SRC = Path(__file__).parent.parent / "src"

CORE_MAY_IMPORT = frozenset(
    "__future__ collections collections.abc dataclasses difflib enum functools hashlib heapq itertools json math random"
    " re typing".split()
)
# The package of a module, and what else of duckrow it may import. A package that is not here has no business yet.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "kernel": frozenset(),
    "store": frozenset({"core"}),
    "devices": frozenset({"core"}),
    "engines": frozenset({"core"}),
    "clusters": frozenset({"core"}),
    "scheduler": frozenset({"core", "store", "devices", "engines", "clusters"}),
    "api": frozenset({"core", "store"}),
    "cli": frozenset({"core", "api"}),
    "web": frozenset({"core", "api"}),
    "dropin": frozenset({"core", "api"}),
    "hydra": frozenset({"core", "api"}),
    "hydra_plugins": frozenset({"core", "api", "hydra"}),
    "__init__": frozenset({"core", "api"}),
    "__main__": frozenset({"cli"}),
}
HOSTS_OF_THE_LOOP = ("duckrow.cli.runs.local", "duckrow.cli.commands.simulate", "duckrow.cli.commands.up")
HOST_OF_THE_PAGE = "duckrow.cli.commands.web"
# Parts of the language rather than of duckrow: kernel may have them too.
LANGUAGE = ("duckrow.core.named_tuple", "duckrow.core.protocol")
KEEPER = "duckrow.engines.local.keeper.keeper"
ENGINES = "duckrow.engines."
GIVE_ENGINES = ("duckrow.scheduler.hosts.", "duckrow.scheduler.pilot", "duckrow.scheduler.simulation.")
DRY, LOCAL = "duckrow.engines.dry", "duckrow.engines.local"
SLURM, PORT, MAKES_CLUSTERS = "duckrow.clusters.slurm", "duckrow.clusters.port", "duckrow.clusters.known"
READS_GPUS_ITSELF = ("duckrow.api.devices.gpus", "duckrow.devices.nvml")  # while no host lives: docs/decisions/0012
MEANINGLESS_NAMES = frozenset({"utils", "common", "base", "misc"})
FRONT_ENDS = frozenset({"cli", "web", "dropin", "hydra", "hydra_plugins"})
# What api is made of: front ends call its functions, and never take these out of what they return.
BEHIND_API = frozenset({"database", "jobs", "hosts", "store", "folder", "batches", "batch_wishes", "wish"})
OF_API = frozenset(
    {
        "client",
        "_client",
        "session",
        "sweeps",
        "Client",
        "Session",
        "Sweeps",
        "client_of",
        "open_client",
        "client_of_verb",
    }
)
HEAVY = frozenset({"rich", "sqlite3", "asyncio", "subprocess", "pynvml", "duckrow.api", "duckrow.store"})


class Import(NamedTuple):
    importer: str
    module: str  # what follows `from` or `import`
    name: str  # what is taken from it; empty for a plain `import`
    line: int
    when: str  # loaded, called, or checked (only type checkers see it)

    @property
    def words(self) -> str:
        return f"from {self.module} import {self.name}" if self.name else f"import {self.module}"


class Reader(ast.NodeVisitor):
    """Collects the imports of one module, with the moment at which each happens."""

    def __init__(self, importer: str, is_package: bool) -> None:
        self.found: list[Import] = []
        self._importer = importer
        self._package = importer if is_package else importer.rpartition(".")[0]
        self._when = "loaded"

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note(alias.name, "", node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            parents = self._package.split(".")
            module = ".".join([*parents[: len(parents) - node.level + 1], *([module] if module else [])])
        for alias in node.names:
            self._note(module, alias.name, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("import_module", "__import__") and node.args:
            text = _beginning_of_text(node.args[0])
            if text:
                self._note(text, "", node.lineno)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._at("called", node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._at("called", node.body)

    def visit_If(self, node: ast.If) -> None:
        if dotted(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self._at("checked", node.body)
            self._at(self._when, node.orelse)
        else:
            self.generic_visit(node)

    def _at(self, when: str, body: Iterable[ast.stmt]) -> None:
        before, self._when = self._when, when
        for statement in body:
            self.visit(statement)
        self._when = before

    def _note(self, module: str, name: str, line: int) -> None:
        self.found.append(Import(self._importer, module, name, line, self._when))


def _beginning_of_text(node: ast.expr) -> str:
    """What is known of a module's name that is put together at run time."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value.rstrip(".") if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def imports_in(importer: str, source: str, is_package: bool = False) -> list[Import]:
    reader = Reader(importer, is_package)
    reader.visit(tree_of(source))
    return reader.found


def package_of(module: str) -> str:
    top, _, rest = module.partition(".")
    return (rest.partition(".")[0] or "__init__") if top == "duckrow" else top


def target_package(found: Import) -> str | None:
    """The package of ours that an import reaches into, or None when it is somebody else's."""
    if found.module.partition(".")[0] not in ("duckrow", "hydra_plugins"):
        return None
    if found.module != "duckrow":
        return package_of(found.module)
    # `from duckrow import store` is the package; what else the top hands out (`from duckrow import submit`) is api's.
    return found.name if found.name in MAY_IMPORT else "api"


def complaint(found: Import) -> str | None:
    """The sentence about an import that breaks a rule."""
    rule = _broken_rule(found)
    return f"{found.importer} (line {found.line}) has `{found.words}`, but {rule}." if rule else None


def _broken_rule(found: Import) -> str | None:
    package = package_of(found.importer)
    if package not in MAY_IMPORT:
        return f"no rule says what {package} may import: add it to DESIGN.md and to this test"
    if found.importer == KEEPER and not _is_light(found.module):
        return "the keeper outlives its host, so it has the standard library and its own folder, nothing else"
    if found.importer.startswith(DRY) and f"{found.module}.{found.name}".startswith(LOCAL):
        return "the dry engine stands for any engine, so it knows nothing of the local one"
    if _is_of_the_tick(found.importer) and f"{found.module}.{found.name}".startswith(ENGINES):
        return "the loop and all that helps it are given their engine"
    if rule := _broken_rule_of_clusters(found):
        return rule
    target = target_package(found)
    if target is None:
        return _broken_outside_rule(package, found.module)
    if found.module == "duckrow" and found.name == "__version__":
        return "core imports nothing but core" if package == "core" else None
    if package == "kernel" and found.module in LANGUAGE:
        return None
    if target == "kernel" and package != "core":
        return None
    if target == package or target in MAY_IMPORT[package]:
        is_eager_top = package == "__init__" and target != "__init__" and found.when == "loaded"
        return "`import duckrow` must stay quick: only within a function" if is_eager_top else None
    if target == "scheduler" and found.importer in HOSTS_OF_THE_LOOP:
        return None
    if target == "web" and found.importer == HOST_OF_THE_PAGE:
        return None
    if package == "api" and target == "clusters":  # files and sbatch, no GPU and no process: a client may speak to them
        return None if found.importer.startswith("duckrow.api.clusters.") else "of api only api.clusters speaks to them"
    if (found.importer, found.module) == READS_GPUS_ITSELF:
        return None
    if target == "scheduler" and package == "cli":
        return f"in cli only {' and '.join(HOSTS_OF_THE_LOOP)} host the loop"
    allowed = ", ".join(sorted(MAY_IMPORT[package])) or "nothing but core"
    return f"{package} may import {allowed}, not {target}"


def _is_of_the_tick(module: str) -> bool:
    return module.startswith("duckrow.scheduler.") and not module.startswith(GIVE_ENGINES)


def _broken_rule_of_clusters(found: Import) -> str | None:
    """Another batch system is one more folder: nobody knows SLURM's, and it knows nobody."""
    full = f"{found.module}.{found.name}"
    if f"{found.importer}.".startswith(f"{SLURM}."):
        knows = not full.startswith("duckrow.clusters.") or full.startswith((f"{SLURM}.", f"{PORT}."))
        return None if knows else "a batch system knows its port and nothing else of clusters"
    if f"{full}.".startswith(f"{SLURM}.") and found.importer != MAKES_CLUSTERS:
        return f"whoever needs a cluster is given one: only {MAKES_CLUSTERS} knows which there are"
    return None


def _is_light(module: str) -> bool:
    ours = ("duckrow.engines.local.", "duckrow.kernel.")
    return module.partition(".")[0] in sys.stdlib_module_names or f"{module}.".startswith(ours)


def _broken_outside_rule(package: str, module: str) -> str | None:
    if package == "core" and module not in CORE_MAY_IMPORT:
        return f"core is pure: of the standard library it may import {', '.join(sorted(CORE_MAY_IMPORT))}"
    if package != "store" and module.partition(".")[0] == "sqlite3":
        return "only store speaks to SQLite"
    return None


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def all_imports() -> dict[str, list[Import]]:
    return {name: imports_in(name, path.read_text(), path.name == "__init__.py") for name, path in modules()}


def cycle_in(imports: Mapping[str, Iterable[Import]], when: Container[str] = ("loaded",)) -> list[str]:
    """The modules of a cycle of imports; empty if there is none.

    `when`: which imports count, those that happen while modules are loaded or all.
    """
    graph = {
        importer: [
            target
            for found in all_found
            if found.when in when and (target := _module_of(found, imports)) not in (None, importer)
        ]
        for importer, all_found in imports.items()
    }
    finished: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in finished:
            return []
        for target in graph[module]:
            found = walk(target, [*path, module]) if target else []
            if found:
                return found
        finished.add(module)
        return []

    return next((cycle for module in graph if (cycle := walk(module, []))), [])


def _module_of(found: Import, known: Mapping[str, object]) -> str | None:
    full = f"{found.module}.{found.name}"
    return full if full in known else found.module if found.module in known else None


def reached_through(module: str, source: str) -> list[str]:
    """The places where a front end takes something that lies behind api out of a client."""
    return [
        f"{module} (line {node.lineno}) has `{ast.unparse(node)}`: give api a function for what it needs"
        for node in nodes_of(source)
        if isinstance(node, ast.Attribute)
        and node.attr in BEHIND_API
        and (_last_name(node.value) in OF_API or node.attr == "database")
        and not (module in HOSTS_OF_THE_LOOP and node.attr == "database")  # the loop is given one
    ]


_SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT INTO|UPDATE\s+\w+\s+SET|DELETE FROM|j\.\w+ (=|IN|<|>|IS|LIKE)|ORDER BY)\b", re.DOTALL
)


def sql_in(module: str, source: str) -> list[str]:
    return [
        f"{module} (line {node.lineno}) has SQL in it: `{node.value[:40]}`"
        for node in nodes_of(source)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.search(node.value)
    ]


_OF_AN_ATTEMPT = frozenset(each.name for each in fields(LiveAttempt))
_OF_A_STATE = frozenset(vars(HostState(1, [])))
_CALLED = {  # how a thing that changes by its own moves alone is called, by what it has
    _OF_AN_ATTEMPT: ("attempt", "successor", "tail", "ours", "live", "started", "ended"),
    _OF_A_STATE: ("state", "_state"),
}


def writes_from_outside(module: str, source: str, into: frozenset[str]) -> list[str]:
    """The places that change an attempt or a state past its moves: by the names, and only in another object."""
    targets = [target for node in nodes_of(source) for target in _changed_by(node)]
    return [
        f"{module} (line {target.lineno}) writes `{ast.unparse(target)}`: that changes by its own moves"
        for target in targets
        if isinstance(target, ast.Attribute) and (_is_of(target, into) or _is_part_of_state(target, into))
    ]


def _is_of(target: ast.Attribute, into: frozenset[str]) -> bool:
    return target.attr in into and _last_name(target.value) in _CALLED[into]


def _is_part_of_state(target: ast.Attribute, into: frozenset[str]) -> bool:
    """`state.early.owed`: what belongs to a part."""
    owners = dotted(target.value).split(".")
    return into is _OF_A_STATE and any(name in _CALLED[into] for name in owners[:-1]) and owners[-1] in into


_ROOMS_WITHOUT_MEMORY = tuple(f"duckrow.scheduler.{room}." for room in ("tick", "life", "devices", "memory"))
_HANDLES = {  # what a class there may keep all the same: no decision depends on what it is, only on what it answers
    "DeviceReader": "the thread that asks the driver, and whether an answer is on its way",
    "MpsSharing._mps": "the server of MPS, once it was started",
    "Recovery._watched_hosts": "whose pidfds the reactor watches",
    "Watch._reader": "who asks the driver, once there is something to ask",
}
_CONTAINERS = ("dict", "list", "set", "deque", "Counter", "defaultdict", "OrderedDict")


def memory_of_its_own(module: str, source: str) -> list[str]:
    """The places where a module keeps something for the next tick: only the state of a host may do that."""
    tree = tree_of(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    kept: list[tuple[ast.AST, str]] = [
        (node, ast.unparse(target)) for node in tree.body for target in _made_fresh(node) if _is_empty(node)
    ]
    kept += [
        (node, f"{of.name}.{ast.unparse(target).removeprefix('self.')}")
        for of in classes
        for method in of.body
        if isinstance(method, ast.FunctionDef)
        for node in ast.walk(method)
        for target in (_made_fresh(node) if method.name == "__init__" else _assigned_by(node))
        if _first_name(target) == "self"
    ]
    return [
        f"{module} (line {node.lineno}) keeps `{name}`: what changes while a host runs belongs into scheduler/state"
        for node, name in kept
        if isinstance(node, ast.stmt) and not {name, name.partition(".")[0]} & _HANDLES.keys()
    ]


def _made_fresh(node: ast.AST) -> Sequence[ast.expr]:
    """What is given a value that knows nothing yet: `[]`, `deque(maxlen=5)`, `Crowds()`."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return ()
    value, is_fresh = node.value, isinstance(node.value, ast.Dict | ast.List | ast.Set)
    if isinstance(value, ast.Call):
        is_fresh = _last_name(value.func) in _CONTAINERS or not (value.args or value.keywords)
    return (node.targets if isinstance(node, ast.Assign) else [node.target]) if is_fresh else ()


def _is_empty(node: ast.AST) -> bool:
    """A table that a module begins with is a rule; an empty one is there to be filled."""
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) or not getattr(value, "keys", getattr(value, "elts", ()))


def _assigned_by(node: ast.AST) -> Iterator[ast.expr]:
    return iter(()) if isinstance(node, ast.Call) else _changed_by(node)


def _first_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_CHANGES = frozenset("append extend insert pop popitem remove clear update setdefault sort reverse add discard".split())


def _changed_by(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement or a call changes: `a.b` of `a.b = 1`, of `a.b[1] = 2`, of `del a.b[1]` and of `a.b.pop()`."""
    if isinstance(node, ast.Assign | ast.Delete):
        changed = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        changed = [node.target]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
        changed = [node.func.value]
    else:
        return
    for each in changed:
        for part in each.elts if isinstance(each, ast.Tuple) else [each]:
            yield part.value if isinstance(part, ast.Subscript) else part


def rows_given_out(module: str, source: str) -> list[str]:
    """The public functions of store that give out what SQLite gave, whose columns no type checker knows."""
    return [
        f"{module}.{function.name} gives out `{ast.unparse(function.returns)}`: give a value of a type of its own"
        for function in nodes_of(source)
        if isinstance(function, ast.FunctionDef)
        and not function.name.startswith("_")
        and function.returns is not None
        and _SQLITES.search(ast.unparse(function.returns))
    ]


_SQLITES = re.compile(r"\b(sqlite3|Row|Cursor)\b|^Any$|\b(list|Iterator)\[Any\]")


_ASKS_A_FORM = frozenset("startswith endswith removeprefix removesuffix partition isdigit isdecimal isnumeric".split())
_FORMS = frozenset({"cpu", "cpu%", "MIG", "MIG-", "GPU-", "MIG-GPU-"})
_PATTERN_OF_A_NAME = re.compile(r"\(\??:?(GPU\|MIG|MIG\|GPU)\)|NOT LIKE 'cpu|LIKE 'cpu")


def forms_asked(module: str, source: str) -> list[str]:
    """The places that ask what a device is by the form of its name, or write such a name themselves."""
    return [
        f"{module} (line {node.lineno}) has `{ast.unparse(node)}`: a Device says what it is (core/devices/device.py)"
        for node in nodes_of(source)
        if isinstance(node, ast.expr) and _asks_form(node)
    ]


def _asks_form(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS_A_FORM:
        is_device = _last_name(node.func.value) in ("device", "gpu")
        return is_device or any(_is_form(part) for each in node.args for part in ast.walk(each))
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(map(_is_form, sides)) and any(isinstance(side, ast.Subscript) for side in sides)
    if isinstance(node, ast.JoinedStr):
        return any(
            map(_is_form, [*node.values[:1], *(p.value for p in node.values if isinstance(p, ast.FormattedValue))])
        )
    return isinstance(node, ast.Constant) and bool(_PATTERN_OF_A_NAME.search(str(node.value)))


def _is_form(node: ast.AST) -> bool:
    """Such a word, or a constant that is called like one."""
    named_like_one = getattr(node, "id", "") in ("CPU", "_CPU", "MIG")
    return named_like_one or (isinstance(node, ast.Constant) and node.value in _FORMS)


def left_open(module: str, source: str) -> list[str]:
    """The places where a verb opens a client and leaves it to the exit."""
    closed = {id(item.context_expr) for node in nodes_of(source) if isinstance(node, ast.With) for item in node.items}
    return [
        f"{module} (line {node.lineno}) opens `{ast.unparse(node)}`: take client_of_verb(), or `with`"
        for node in nodes_of(source)
        if isinstance(node, ast.Call) and _last_name(node.func) in ("Client", "client_of") and id(node) not in closed
    ]


def _last_name(node: ast.expr) -> str:
    """`client` of `self.client`, `Sweeps` of `Sweeps(client)`."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


# -- the house ------------------------------------------------------------------------------------------------------


def test_every_import_is_one_that_its_package_may_have() -> None:
    imports = all_imports()
    assert len(imports) > 50, f"only {len(imports)} modules were found under {SRC}"
    complaints = [sentence for found in imports.values() for each in found if (sentence := complaint(each))]
    assert not complaints, "\n".join(complaints)


def test_front_ends_do_not_reach_through_api() -> None:
    sources = {name: path.read_text() for name, path in modules() if package_of(name) in FRONT_ENDS}
    assert len(sources) > 50
    reached = [place for name, source in sources.items() for place in reached_through(name, source)]
    assert not reached, "\n".join(reached)


def test_every_verb_closes_the_client_that_it_opens() -> None:
    the_one = "duckrow.cli.opening"
    sources = {name: path.read_text() for name, path in modules() if package_of(name) == "cli" and name != the_one}
    assert len(sources) > 30
    opened = [place for name, source in sources.items() for place in left_open(name, source)]
    assert not opened, "\n".join(opened)


def test_no_modules_import_each_other_in_a_circle() -> None:
    cycle = cycle_in(all_imports())
    assert not cycle, f"A circle of imports: {' -> '.join(cycle)}. Move what they share into a module of its own."


def test_no_circle_is_hidden_by_a_late_import() -> None:
    cycle = cycle_in(all_imports(), when=("loaded", "called", "checked"))
    assert not cycle, f"A circle of imports: {' -> '.join(cycle)}. Move what they share into a module of its own."


def test_only_its_own_moves_change_an_attempt() -> None:
    sources = {name: path.read_text() for name, path in modules()}
    written = [place for name, source in sources.items() for place in writes_from_outside(name, source, _OF_AN_ATTEMPT)]
    assert not written, "\n".join(written)


def test_nobody_asks_what_a_device_is_by_the_form_of_its_name() -> None:
    the_one = "duckrow.core.devices.device"
    sources = {name: path.read_text() for name, path in modules() if name != the_one}
    asked = [place for name, source in sources.items() for place in forms_asked(name, source)]
    assert not asked, "\n".join(asked)


def test_only_its_own_moves_change_the_state_of_a_host() -> None:
    sources = {name: path.read_text() for name, path in modules() if package_of(name) == "scheduler"}
    written = [place for name, text in sources.items() for place in writes_from_outside(name, text, _OF_A_STATE)]
    assert not written, "\n".join(written)


def test_the_state_of_a_host_knows_nothing_but_rules() -> None:
    imports = all_imports()
    allowed = {module for module in imports if module.startswith("duckrow.scheduler.state.")}
    known = {found.module for module in allowed for found in imports[module] if found.module.startswith("duckrow.")}
    outside = [module for module in known - allowed if not module.startswith("duckrow.core.")]
    assert not outside, f"The state touches no store, engine or file, but it imports {', '.join(outside)}."


def test_nothing_but_the_state_of_a_host_remembers_anything() -> None:
    """`observe`, `decide`, `record`, `act` and who helps them are rules and ports."""
    sources = {name: path.read_text() for name, path in modules() if name.startswith(_ROOMS_WITHOUT_MEMORY)}
    assert len(sources) > 30
    kept = [place for name, source in sources.items() for place in memory_of_its_own(name, source)]
    assert not kept, "\n".join(kept)


def test_every_handle_that_a_port_may_keep_is_there() -> None:
    text = "\n".join(path.read_text() for name, path in modules() if name.startswith(_ROOMS_WITHOUT_MEMORY))
    gone = [name for name in _HANDLES if not re.search(rf"\b{name.split('.')[-1]}\b", text)]
    assert not gone, f"Nobody keeps {', '.join(gone)} any more: take it out of the table."


@pytest.mark.parametrize(
    "method",
    [
        "def note(self): self._seen = 1",
        "def note(self): self._seen += 1",
        "def note(self): self._seen['a'], self._last = 1, 2",
        "def note(self): del self._seen['a']",
        "def note(self): self._state.queue.stale = True",
        "def __init__(self): self._seen: dict[str, int] = {}",
        "def __init__(self): self._seen = deque(maxlen=5)",
        "def __init__(self): self._crowds = Crowds()",
    ],
)
def test_a_helper_that_remembers_is_found(method: str) -> None:
    assert memory_of_its_own("duckrow.scheduler.life.endings", f"class Endings:\n    {method}")


@pytest.mark.parametrize("source", ["_ports = deque(maxlen=256)", "_seen: dict[str, int] = {}", "_lock = Lock()"])
def test_a_module_that_remembers_is_found(source: str) -> None:
    assert memory_of_its_own("duckrow.scheduler.life.endings", source)


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def __init__(self, state): self._state = state",
        "class A:\n    def __init__(self, state): self._hint = PreloadHint(state)",
        "class A:\n    def note(self): self._state.note(7)",
        "class A:\n    def note(self): found = {}; found['a'] = 1",
        "_NAMES = {'a': 1}",
        "_FEWEST = 3",
    ],
)
def test_a_helper_that_only_knows_its_ports_is_let_through(source: str) -> None:
    assert not memory_of_its_own("duckrow.scheduler.life.endings", source)


def test_only_who_hosts_the_loop_knows_it() -> None:
    hosts = ("duckrow.scheduler.hosts.", "duckrow.scheduler.pilots.", "duckrow.scheduler.pilot")
    importers = [
        name
        for name, found in all_imports().items()
        if any(each.module == "duckrow.scheduler.loop" for each in found) and not name.startswith(hosts)
    ]
    assert not importers, f"These get the loop, not what they need of it: {', '.join(importers)}"


def test_the_loop_calls_all_that_an_engine_promises_and_nothing_else() -> None:
    sources = [path.read_text() for name, path in modules() if package_of(name) == "scheduler"]
    called = {
        node.attr
        for source in sources
        for node in ast.walk(tree_of(source))
        if isinstance(node, ast.Attribute) and _last_name(node.value) in ("engine", "_engine")
    }
    promised = {name for name in vars(Engine) if not name.startswith("_")}
    assert called == promised


def test_sql_stands_in_store_alone() -> None:
    sources = {name: path.read_text() for name, path in modules() if package_of(name) != "store"}
    found = [place for name, source in sources.items() for place in sql_in(name, source)]
    assert not found, "\n".join(found)


def test_no_row_of_sqlite_leaves_the_store() -> None:
    own = ("duckrow.store.sqlite.database", "duckrow.store.sqlite.connection")  # by which the others of store ask
    sources = {name: path.read_text() for name, path in modules() if package_of(name) == "store" and name not in own}
    assert len(sources) > 30
    given_out = [place for name, source in sources.items() for place in rows_given_out(name, source)]
    assert not given_out, "\n".join(given_out)


def test_every_module_has_a_name_that_says_something() -> None:
    nameless = [name for name, _ in modules() if MEANINGLESS_NAMES & set(name.split("."))]
    assert not nameless, f"These names say nothing: {', '.join(nameless)}. Name a module after what it is for."


def test_every_module_says_what_it_is_for() -> None:
    silent = [name for name, path in modules() if not ast.get_docstring(tree_of(path.read_text()))]
    assert not silent, f"These modules do not say what they are for: {', '.join(silent)}."


def test_the_command_line_loads_nothing_heavy_before_it_knows_the_verb() -> None:
    code = "import sys, duckrow.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "duckrow.cli.main" in loaded
    assert not HEAVY & set(loaded), f"`duckrow --help` loads {', '.join(sorted(HEAVY & set(loaded)))}."


# -- the checker itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("duckrow.core.schedule.decide", "import os", "core is pure"),
        ("duckrow.core.schedule.decide", "import time as clock", "core is pure"),
        ("duckrow.core.schedule.decide", "from os import path", "core is pure"),
        (
            "duckrow.core.schedule.decide",
            "from duckrow.store.jobs.jobs import JobStore",
            "core may import nothing but core, not store",
        ),
        ("duckrow.core.schedule.decide", "from duckrow import __version__", "core imports nothing but core"),
        ("duckrow.core.jobs.job", "def f():\n    import logging", "core is pure"),
        ("duckrow.core.jobs.job", "if TYPE_CHECKING:\n    from duckrow.api.client import Client", "not api"),
        ("duckrow.store.jobs.jobs", "from duckrow.engines.local import engine", "store may import core, not engines"),
        ("duckrow.store.jobs.jobs", "from ...scheduler import loop", "store may import core, not scheduler"),
        ("duckrow.devices.nvml", "from duckrow import store", "devices may import core, not store"),
        ("duckrow.clusters.slurm", "import duckrow.store.sqlite.database", "clusters may import core, not store"),
        ("duckrow.clusters.slurm", "from duckrow import submit", "clusters may import core, not api"),
        ("duckrow.clusters.tending", "from duckrow.clusters.slurm import commands", "is given one"),
        ("duckrow.api.clusters.submit", "from duckrow.clusters import slurm", "is given one"),
        ("duckrow.scheduler.pilot", "import duckrow.clusters.slurm.cluster", "is given one"),
        (
            "duckrow.clusters.slurm.cluster",
            "from duckrow.clusters.batch import Batch",
            "knows its port and nothing else",
        ),
        ("duckrow.scheduler.loop", "import sqlite3", "only store speaks to SQLite"),
        ("duckrow.scheduler.loop", "from duckrow.api.client import Client", "not api"),
        ("duckrow.api.client", "async def f():\n    from duckrow.scheduler.loop import Loop", "not scheduler"),
        ("duckrow.api.client", "class A:\n    from sqlite3 import Row", "only store speaks to SQLite"),
        ("duckrow.api.clusters.submit", "from duckrow.engines.local import engine", "not engines"),
        ("duckrow.api.client", "from duckrow.clusters.batch import Batch", "only api.clusters"),
        ("duckrow.cli.commands.ls", "from duckrow.scheduler.loop import Loop", "host the loop"),
        ("duckrow.cli.commands.ls", "from duckrow.web.app import build", "cli may import api, core, not web"),
        ("duckrow.cli.runs.local", "from duckrow.store.jobs.jobs import JobStore", "not store"),
        ("duckrow.cli.main", "import importlib\nimportlib.import_module('duckrow.store.jobs.jobs')", "not store"),
        ("duckrow.cli.main", "import_module(f'duckrow.devices.{name}')", "not devices"),
        ("duckrow.web.page", "from duckrow.store.jobs.jobs import JobStore", "not store"),
        ("hydra_plugins.duckrow_launcher.launcher", "from duckrow.scheduler.loop import Loop", "not scheduler"),
        (
            "duckrow.engines.local.keeper.keeper",
            "from duckrow.core.errors import DuckrowError",
            "the keeper outlives its host",
        ),
        ("duckrow.engines.local.keeper.keeper", "import psutil", "the keeper outlives its host"),
        (
            "duckrow.engines.dry.engine",
            "from duckrow.engines.local.keeper.keeper import fork_host",
            "knows nothing of the",
        ),
        ("duckrow.engines.dry.engine", "from duckrow.engines import local", "knows nothing of the local one"),
        ("duckrow.scheduler.loop", "from duckrow.engines.local.engine import LocalEngine", "given their engine"),
        ("duckrow.scheduler.devices.mps_sharing", "def f():\n    from duckrow.engines.local import mps", "given their"),
        ("duckrow.scheduler.tick.act", "from duckrow.engines.dry.engine import DryEngine", "given their engine"),
        ("duckrow.helpers.text", "import os", "no rule says what helpers may import"),
        ("duckrow", "from duckrow.api.client import Client", "only within a function"),
        ("duckrow.__main__", "from duckrow.api.client import Client", "not api"),
    ],
)
def test_an_import_against_the_rules_is_told_in_a_sentence(module: str, source: str, said: str) -> None:
    sentences = [sentence for found in imports_in(module, source) if (sentence := complaint(found))]
    assert len(sentences) == 1
    assert sentences[0].startswith(module)
    assert said in sentences[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "duckrow.core.schedule.decide",
            "from collections.abc import Sequence\nfrom duckrow.core.jobs.job import JobSpec",
        ),
        ("duckrow.store.jobs.jobs", "import sqlite3\nfrom duckrow.store.sqlite.database import Database"),
        ("duckrow.devices.nvml", "def f():\n    import pynvml"),
        (
            "duckrow.scheduler.life.recovery",
            "if TYPE_CHECKING:\n    from duckrow.store.attempts.attempts import AttemptStore",
        ),
        ("duckrow.cli.commands.up", "from duckrow.scheduler.hosts.background import launch"),
        ("duckrow.cli.commands.web", "def f():\n    from duckrow.web.server import serve"),
        ("duckrow.api.clusters.copy", "from duckrow.clusters.batch import Batch"),
        ("duckrow.clusters.known", "from duckrow.clusters.slurm.cluster import SlurmCluster"),
        ("duckrow.clusters.slurm.cluster", "from duckrow.clusters.port import Cluster\nimport subprocess"),
        ("duckrow.cli.main", "def f():\n    from duckrow import __version__"),
        ("duckrow", "def __getattr__(name):\n    from duckrow.api.client import Client"),
        ("duckrow.__main__", "from duckrow.cli.main import main"),
        ("hydra_plugins.duckrow_launcher.launcher", "from duckrow import submit\nimport hydra"),
    ],
)
def test_an_import_within_the_rules_is_let_through(module: str, source: str) -> None:
    assert [complaint(found) for found in imports_in(module, source)].count(None) == len(imports_in(module, source))
    assert imports_in(module, source)


def test_a_circle_of_imports_is_found() -> None:
    sources = {
        "duckrow.core.a": "from duckrow.core import b",
        "duckrow.core.b": "from duckrow.core.c import thing",
        "duckrow.core.c": "import duckrow.core.a",
    }
    imports = {name: imports_in(name, source) for name, source in sources.items()}
    assert cycle_in(imports) == ["duckrow.core.a", "duckrow.core.b", "duckrow.core.c", "duckrow.core.a"]


@pytest.mark.parametrize(
    "late", ["def f():\n    from duckrow.core import a", "if TYPE_CHECKING:\n    import duckrow.core.a"]
)
def test_an_import_that_loads_nothing_closes_no_circle(late: str) -> None:
    sources = {"duckrow.core.a": "from duckrow.core import b", "duckrow.core.b": late}
    assert not cycle_in({name: imports_in(name, source) for name, source in sources.items()})


@pytest.mark.parametrize(
    "source",
    [
        "Client().jobs.live()",
        "self._client.hosts.get(1)",
        "client.database.close()",
        "anything.database",
        "Sweeps(client).store.points(7)",
        "sweeps.client.batches.still()",
        "client.wish(ids, Wish.KILL)",
        "client_of().folder.root",
    ],
)
def test_a_front_end_that_reaches_through_api_is_found(source: str) -> None:
    assert len(reached_through("duckrow.cli.commands.ls", source)) == 1


@pytest.mark.parametrize("source", ["client.views(ids)", "run.jobs", "sweep.folder", "client.tender.copy()"])
def test_what_api_offers_is_let_through(source: str) -> None:
    assert not reached_through("duckrow.cli.commands.ls", source)


def test_a_host_of_the_loop_may_hand_over_the_database() -> None:
    assert not reached_through("duckrow.cli.commands.up", "keep(client.database, choice)")


@pytest.mark.parametrize("late", ["def f():\n    import duckrow.api.a", "if TYPE_CHECKING:\n    import duckrow.api.a"])
def test_a_circle_that_a_late_import_hides_is_found(late: str) -> None:
    sources = {"duckrow.api.a": "from duckrow.api import b", "duckrow.api.b": late}
    imports = {name: imports_in(name, source) for name, source in sources.items()}
    assert cycle_in(imports, when=("loaded", "called", "checked"))
    assert not cycle_in(imports)


@pytest.mark.parametrize(
    "source",
    [
        "attempt.stop = None",
        "a.attempt.holds = ()",
        "attempt.first, attempt.end = one, None",
        "order.attempt.number += 1",
    ],
)
def test_a_write_into_an_attempt_is_found(source: str) -> None:
    assert writes_from_outside("duckrow.scheduler.life.endings", source, _OF_AN_ATTEMPT)


@pytest.mark.parametrize("source", ["attempt.begin(now)", "self.stop = None", "attempt = other", "attempt.memo = 1"])
def test_a_move_of_an_attempt_is_let_through(source: str) -> None:
    assert not writes_from_outside("duckrow.scheduler.life.endings", source, _OF_AN_ATTEMPT)


@pytest.mark.parametrize(
    "source",
    [
        "self._state.freed = True",
        "loop.state.booked = {}",
        "state.seats += [seat]",
        "state.live[7] = attempt",
        "del self._state.live[7]",
        "self._state.lined_up.pop(7)",
        "state.reports.append(report)",
        "self._state.early.owed[7] = 1",
        "state.early.owed.pop(7)",
        "self._state.reading.read_mono = mono",
    ],
)
def test_a_write_into_a_state_is_found(source: str) -> None:
    assert writes_from_outside("duckrow.scheduler.life.endings", source, _OF_A_STATE)


@pytest.mark.parametrize(
    "text", ["SELECT id FROM jobs", "j.id IN ({marks})", "DELETE FROM jobs", "UPDATE jobs SET x = 1"]
)
def test_sql_is_found(text: str) -> None:
    assert sql_in("duckrow.api.client", f"rows = find({text!r})")


def test_a_sentence_is_no_sql() -> None:
    assert not sql_in("duckrow.api.client", "say('Select jobs from the list, and update them.')")


@pytest.mark.parametrize(
    "returned", ["sqlite3.Row", "list[sqlite3.Row]", "Iterator[Row] | None", "list[Any]", "Any", "sqlite3.Cursor"]
)
def test_a_row_that_leaves_the_store_is_found(returned: str) -> None:
    assert rows_given_out("duckrow.store.jobs.jobs", f"class JobStore:\n    def live(self) -> {returned}: ...")


@pytest.mark.parametrize("returned", ["list[LiveJob]", "HostRow", "dict[str, Any]", "tuple[int, str]"])
def test_a_value_may_leave_the_store(returned: str) -> None:
    assert not rows_given_out("duckrow.store.jobs.jobs", f"class JobStore:\n    def live(self) -> {returned}: ...")
    assert not rows_given_out(
        "duckrow.store.jobs.jobs", "class JobStore:\n    def _rows(self) -> list[sqlite3.Row]: ..."
    )


@pytest.mark.parametrize("source", ["client = Client()", "print_jobs(Client().of_host(1))", "home = client_of().home"])
def test_a_client_that_nobody_closes_is_found(source: str) -> None:
    assert left_open("duckrow.cli.commands.ls", source)


def test_a_client_within_with_is_closed() -> None:
    assert not left_open("duckrow.cli.commands.ls", "with Client() as client:\n    client.views(ids)")


@pytest.mark.parametrize(
    "source",
    [
        "device.startswith(CPU)",
        "hold[0].startswith(CPU)",
        "hold[0].startswith('cpu')",
        "name.removeprefix('cpu')",
        "name.startswith(('GPU-', 'MIG-'))",
        "reading.device.isdecimal()",
        "name[:3] == 'cpu'",
        "f'cpu{number}'",
        "f'{CPU}{number}'",
        "re.compile(r'(?:GPU|MIG)-.+')",
        "\"json_extract(value, '$[0]') NOT LIKE 'cpu%'\"",
    ],
)
def test_a_device_that_is_asked_by_the_form_of_its_name_is_found(source: str) -> None:
    assert forms_asked("duckrow.api.queue.why", source)


@pytest.mark.parametrize(
    "source", ["device.is_gpu", "cpu_slot(3)", "'cpu' in config", "f'cpu {number}'", "number.isdigit()", "f'GPU {gpu}'"]
)
def test_a_device_that_says_what_it_is_is_let_through(source: str) -> None:
    assert not forms_asked("duckrow.api.queue.why", source)


# -- names ----------------------------------------------------------------------------------------------------------


def public_classes() -> dict[str, list[str]]:
    """By name: the modules that have a public class of this name."""
    found: dict[str, list[str]] = {}
    for module, path in modules():
        for node in tree_of(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    return found


def test_a_public_class_has_a_name_of_its_own() -> None:
    """The schemas of the page mirror what they describe: such a one may be called as what it mirrors."""
    twice = {
        name: homes
        for name, homes in public_classes().items()
        if len([home for home in homes if not home.startswith("duckrow.web.schemas.")]) > 1
    }
    assert not twice, f"One name, one meaning: {twice}"


def test_a_room_is_taken_in_at_a_glance() -> None:
    """About a dozen modules. The verbs of the command line are a list that one knows by heart."""
    rooms = Counter(name.rpartition(".")[0] for name, path in modules() if path.name != "__init__.py")
    crowded = {room: count for room, count in rooms.items() if count > 16 and room != "duckrow.cli.commands"}
    assert not crowded, f"Make rooms of these: {crowded}"
