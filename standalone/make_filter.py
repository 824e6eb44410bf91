"""Join ``eunoe_openwebui.filter`` and all that it imports into one file for Open WebUI.

    python standalone/make_filter.py            write standalone/eunoe_filter.py
    python standalone/make_filter.py --check    is the committed file what the sources make?

The text of each module is copied as it stands, less its docstring and its imports, in the order
in which the modules need each other. So the result depends on the sources alone: not on the
Python that runs this, nor on the hash seed, nor on the day. ``filter_rules.py`` says what a
module must keep to for that; a broken rule stops the build.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from filter_rules import REWRITTEN, Module, RuleError, check_names, find_source, read_module

HOME = Path(__file__).resolve().parent
ROOT_MODULE = "eunoe_openwebui.filter"
TARGET = HOME / "eunoe_filter.py"
FOLDERS = (HOME.parent / "core", HOME.parent / "adapters")
OLDEST_HOST = "0.5.0"


def collect(root: str, folders: Sequence[Path]) -> list[Module]:
    """Read a module and all of ours that it needs, those needed first."""
    done: dict[str, Module] = {}
    faults: list[str] = []

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            faults.append(f"R1 import cycle: {' > '.join((*trail[trail.index(name) :], name))}")
        elif name not in done:
            path = find_source(name, folders)
            if path is None:
                raise RuleError([f"R1 there is no module {name}"])
            module = read_module(name, path, folders)
            for needed in sorted({item.module for item in module.ours}):
                visit(needed, (*trail, name))
            done[name] = module

    visit(root, ())
    faults.extend(fault for module in done.values() for fault in module.faults)
    if not faults:
        faults.extend(check_names(root, list(done.values())))
    if faults:
        raise RuleError(faults)
    return list(done.values())


def body_of(module: Module) -> str:
    """Return the text of a module without docstring, imports and ``__all__``."""
    lines = module.text.split("\n")
    kept: set[int] = set()
    imported = 0
    for position, node in enumerate(module.tree.body):
        is_docstring = position == 0 and ast.get_docstring(module.tree) is not None
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        span = range(start, (node.end_lineno or start) + 1)
        if is_docstring or is_list or isinstance(node, ast.Import | ast.ImportFrom):
            imported = span[-1]
            if kept.intersection(span):
                raise RuleError([f"{module.path}:{start}: R1 an import shares a line"])
        else:
            kept.update(span)
    # Comments among the imports go with them; after the last import every line stays.
    rest = [line for number, line in enumerate(lines, 1) if number > imported or number in kept]
    return "\n".join(rest).strip("\n")


def write_imports(modules: Sequence[Module]) -> str:
    """Return the import statements that the joined modules need, sorted."""
    items = sorted({item for module in modules for item in module.others})
    blocks: tuple[list[str], list[str]] = ([], [])
    grouped: dict[str, list[str]] = {}
    for item in items:
        block = blocks[item.module.split(".")[0] not in sys.stdlib_module_names]
        alias = f" as {item.alias}" if item.alias else ""
        if item.name:
            grouped.setdefault(item.module, []).append(item.name + alias)
        else:
            block.append(f"import {item.module}{alias}")
    for source, names in grouped.items():
        block = blocks[source.split(".")[0] not in sys.stdlib_module_names]
        line = f"from {source} import {', '.join(names)}"
        if len(line) > 100:
            line = f"from {source} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
        block.append(line)
    return "\n\n".join("\n".join(block) for block in blocks if block)


def make_filter(
    root: str = ROOT_MODULE,
    folders: Sequence[Path] = FOLDERS,
    project: Path = HOME.parent / "pyproject.toml",
) -> str:
    """Return the text of the single file.

    Args:
        root: the module that defines ``Filter``.
        folders: where our packages lie.
        project: the pyproject.toml that says version and description.

    Raises:
        RuleError: a module breaks a rule.
    """
    about = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    modules = collect(root, folders)
    digest = hashlib.sha256()
    parts = []
    for module in modules:
        digest.update(f"{module.name}\0{module.text}\0".encode())
        if body := body_of(module):
            title = (ast.get_docstring(module.tree) or "").split("\n")[0]
            rule = "# " + "-" * 98
            parts.append(f"{rule}\n# {module.name}: {title}".rstrip(": ") + f"\n\n{body}")
    header = f'''"""
title: {about["name"]}
author: {about["authors"][0]["name"]}
version: {about["version"]}
license: {about["license"]}
description: {about["description"]}
required_open_webui_version: {OLDEST_HOST}
"""

# Made of {len(modules)} modules by standalone/make_filter.py; an edit here is lost at the next run.
# sources sha256 {digest.hexdigest()}

from __future__ import annotations

{write_imports(modules)}'''
    text = "\n\n\n".join([header, *parts]) + "\n"
    compile(text, str(TARGET), "exec", dont_inherit=True)
    for phrase in REWRITTEN:
        if phrase in text:
            raise RuleError([f"R6 the file says {phrase!r}, which Open WebUI would rewrite"])
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description="Make the single file for Open WebUI.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--output", type=Path, default=TARGET, help="the file (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        made = make_filter().encode()
    except RuleError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        options.output.write_bytes(made)
    elif not options.output.is_file() or options.output.read_bytes() != made:
        print(f"{options.output} is not what the sources make: run `make filter`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
