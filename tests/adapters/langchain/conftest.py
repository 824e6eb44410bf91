"""A fault that lets the chat go on is a failure in every test but the one about faults."""

from __future__ import annotations

import logging

import pytest


class Faults(logging.Handler):
    """Remembers what the library warned of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Remember one warning with its traceback."""
        self.said.append(logging.Formatter().format(record))


@pytest.fixture(autouse=True)
def no_silent_fault(request):
    faults = Faults()
    logger = logging.getLogger("eunoe")
    logger.addHandler(faults)
    yield
    logger.removeHandler(faults)
    if "fault_of_ours" not in request.node.name:
        assert [said for said in faults.said if "planning failed" in said] == []
