"""Names in texts by a pipeline of spaCy: nothing is downloaded, the pipeline must be there.

from eunoe_backends import SpacyExtractor
orchestrator = ContextOrchestrator(budget=..., entity_extractor=SpacyExtractor("en_core_web_sm"))
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Collection, Sequence
from typing import Any

from eunoe.domain.errors import BackendError, SettingsError

SPACY_NO_NAMES = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})
"""Labels of numbers and times, which are no things that "it" stands for."""

_numbers = itertools.count(1)
_numbered: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class SpacyExtractor:
    """The entities (``doc.ents``) of a spaCy pipeline: of a model, an entity ruler, or both.

    Noun chunks are not asked for: any noun would be a name, and tie messages that have nothing in
    common but a common word.

    Args:
        pipeline: a loaded pipeline, which is not to be changed any more, or the name of an
            installed one, which is then loaded whole; load it yourself to leave parts out.
        skip_labels: labels of entities that are no names.

    Raises:
        BackendError: spaCy, or the pipeline of that name, is not installed.
        SettingsError: it is no pipeline.
    """

    def __init__(self, pipeline: Any, *, skip_labels: Collection[str] = SPACY_NO_NAMES) -> None:
        if isinstance(pipeline, str):
            self._pipeline, told = _load(pipeline), pipeline
        elif not callable(getattr(pipeline, "pipe", None)) or isinstance(pipeline, type):
            allowed = "a loaded spaCy pipeline, or the name of an installed one"
            raise SettingsError("pipeline", type(pipeline).__name__, allowed)
        else:
            # What is remembered by name in the whole process must not meet another pipeline's.
            self._pipeline, told = pipeline, f"pipeline {_number_of(pipeline)}"
        self._skipped = frozenset(skip_labels)
        left_out = "" if self._skipped == SPACY_NO_NAMES else f" without {sorted(self._skipped)}"
        version = getattr(self._pipeline, "meta", {}).get("version", "")
        self.name = f"spacy {told} {version}{left_out}"
        self._busy = threading.Lock()

    def extract(self, texts: Sequence[str]) -> list[list[str]]:
        """The entities in each text, in order, as they are written.

        Of a text longer than the pipeline allows (``max_length``, a million characters by default)
        the head is read.
        """
        most = getattr(self._pipeline, "max_length", None)
        plain = [text.encode("utf-8", "replace").decode("utf-8")[:most] for text in texts]
        with self._busy:
            return [
                [entity.text for entity in doc.ents if entity.label_ not in self._skipped]
                for doc in self._pipeline.pipe(plain)
            ]


def _load(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise BackendError("spacy is not installed: pip install 'eunoe[spacy]'") from error
    try:
        return spacy.load(name)
    except OSError as error:
        hint = f"python -m spacy download {name}"
        raise BackendError(f"the spaCy pipeline {name!r} is not installed: {hint}") from error


def _number_of(pipeline: Any) -> int:
    """The number of a loaded pipeline, the same as long as it lives."""
    with _lock:
        try:
            return _numbered.setdefault(pipeline, next(_numbers))
        except TypeError:  # it cannot be watched
            return next(_numbers)
