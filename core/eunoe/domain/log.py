"""The one logger of the library; silent until an application listens."""

from __future__ import annotations

import logging

logger = logging.getLogger("eunoe")
logger.addHandler(logging.NullHandler())
