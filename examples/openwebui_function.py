"""
title: eunoe
"""

from eunoe_openwebui import Filter  # noqa: F401

# As a switch that users turn on in each chat, add this line. Programs then skip it unless they
# name it in `filter_ids`:
#
#     class Filter(Filter): toggle = True
