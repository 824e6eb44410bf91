"""
title: eunoe
"""

from eunoe_openwebui import Filter  # noqa: F401
