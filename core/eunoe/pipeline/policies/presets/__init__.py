"""Published ways of choosing what a model sees, by name; one module each.

There is no ``unified`` among them: walk, spans and coverage together, on top of the relevance that
``relevance`` and ``stable`` use, found less of the labelled evidence than that relevance alone.
"""
