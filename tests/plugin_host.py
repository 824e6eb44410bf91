"""Loads a filter the way Open WebUI does, without Open WebUI."""

from __future__ import annotations
import __future__

import re
import sys
import types
from collections.abc import Iterator
from itertools import count

REWRITES = {
    f"from {word}": f"from open_webui.{word}" for word in ("utils", "apps", "main", "config")
}
_LOADED: Iterator[int] = count()


def read_front_matter(text: str) -> dict[str, str]:
    """Return the manifest: ``key: value`` lines of the first docstring, the last one wins."""
    first, *lines = text.split("\n")
    if first != '"""':
        return {}
    found = {}
    for line in lines:
        if '"""' in line:
            break
        if match := re.match(r"^\s*([A-Za-z_]+):\s*(.*)\s*$", line):
            found[match[1]] = match[2]
    return found


def rewrite_imports(text: str) -> str:
    """Return the text as Open WebUI stores it."""
    for phrase, replacement in REWRITES.items():
        text = text.replace(phrase, replacement)
    return text


def load_plugin(text: str, *, lazy_annotations: bool = True) -> types.ModuleType:
    """Execute a plugin in a module of its own that stays in ``sys.modules``.

    Args:
        text: source of the plugin.
        lazy_annotations: the host's own ``from __future__ import annotations`` reaches the plugin
            (newer hosts) or not.
    """
    module = types.ModuleType(f"function_eunoe_{next(_LOADED)}")
    module.__dict__["__file__"] = "/nonexistent/plugin.py"
    flags = __future__.annotations.compiler_flag if lazy_annotations else 0
    code = compile(rewrite_imports(text), "<string>", "exec", flags=flags, dont_inherit=True)
    sys.modules[module.__name__] = module
    exec(code, module.__dict__)
    return module


def plugin_class(module: types.ModuleType) -> tuple[str, type]:
    """Return kind and class of the plugin, in the host's order of looking."""
    for kind in ("Pipe", "Filter", "Action", "Event"):
        if hasattr(module, kind):
            return kind.lower(), getattr(module, kind)
    raise LookupError("no plugin class found")
