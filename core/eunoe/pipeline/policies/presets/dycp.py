"""The ``dycp`` preset: the contiguous spans of turns that stand out of the relevance waveform.

A turn (question and answer as one text) is as relevant as its cosine with the question, over TF-IDF
weights; z-scores with the population deviation, gain ``z - 0.6``, spans whose gains sum to at least
1, whole and by time. No weak turn inside a span is left out, nothing is sent besides the spans.

Source: Choi, Zhang and Choi, DyCP, arXiv 2601.07994; all maximal spans in one pass instead of
Kadane again and again.
"""

from __future__ import annotations

from eunoe.pipeline.policies.presets.chat import PresetChat, PresetPlan
from eunoe.pipeline.policies.presets.spans import plan_spans


def plan_dycp(chat: PresetChat) -> PresetPlan | None:
    """The spans that stand out, the best first where room is short."""
    return plan_spans(chat, chat.turn_cosine * chat.turn_base, "the spans of turns that stand out")
