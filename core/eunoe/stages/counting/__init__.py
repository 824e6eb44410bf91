"""Tokens: exact where a vocabulary is on this machine, else estimated; corrected by real usage."""

from eunoe.stages.counting.calibration import Calibration, Usage, read_usage
from eunoe.stages.counting.estimate import FAMILY_FACTORS, estimate_tokens
from eunoe.stages.counting.message_cost import (
    MEDIA_TOKENS,
    REPLY_PRIMING,
    count_message,
    count_messages_batch,
    count_tools,
)
from eunoe.stages.counting.tokenizer import (
    EstimateTokenizer,
    SourceTokenizer,
    family_of,
    find_tokenizer,
)

__all__ = [
    "FAMILY_FACTORS",
    "MEDIA_TOKENS",
    "REPLY_PRIMING",
    "Calibration",
    "EstimateTokenizer",
    "SourceTokenizer",
    "Usage",
    "count_message",
    "count_messages_batch",
    "count_tools",
    "estimate_tokens",
    "family_of",
    "find_tokenizer",
    "read_usage",
]
