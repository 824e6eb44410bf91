"""List prices of well-known models, as their makers published them.

Prices change, and contracts differ: an own table or live prices go over these. What is not here
has no price. Prices of batches, of longer-lived caches and of faster service are not here.
"""

from __future__ import annotations

from functools import cache

from eunoe.stages.accounting.price import ModelPrice
from eunoe.stages.accounting.price_table import ModelPricingTable

LIST_PRICES_DATE = "2026-11-30"

# US dollars per million tokens: name, input, cached, written, output (- where the maker has none).
_OPENAI_PRICES = """
gpt-6.1-sol            2      0.1     2.5    10
gpt-6-astra            10     1       12.5   50
gpt-6-sol              2      0.2     2.5    10
gpt-6-luna             0.1    0.01    0.125  0.5
gpt-5.6-sol            4      0.4     5      20
gpt-5.6-terra          2      0.2     2.5    12
gpt-5.6-luna           0.2    0.02    0.25   1.2
gpt-5.5                5      0.5     -      30
gpt-5.5-pro            30     -       -      180
gpt-5.4                2.5    0.25    -      15
gpt-5.4-pro            30     -       -      180
gpt-5.4-mini           0.75   0.075   -      4.5
gpt-5.4-nano           0.2    0.02    -      1.25
gpt-5.3-codex          1.75   0.175   -      14
gpt-5.2                1.75   0.175   -      14
gpt-5.2-pro            21     -       -      168
gpt-5.1                1.25   0.125   -      10
gpt-5.1-codex-mini     0.25   0.025   -      2
gpt-5                  1.25   0.125   -      10
gpt-5-codex            1.25   0.125   -      10
gpt-5-mini             0.25   0.025   -      2
gpt-5-nano             0.05   0.005   -      0.4
gpt-5-pro              15     -       -      120
gpt-4.1                2      0.5     -      8
gpt-4.1-mini           0.4    0.1     -      1.6
gpt-4.1-nano           0.1    0.025   -      0.4
gpt-4o                 2.5    1.25    -      10
gpt-4o-2024-05-13      5      -       -      15
gpt-4o-mini            0.15   0.075   -      0.6
o4-mini                1.1    0.275   -      4.4
o3                     2      0.5     -      8
o3-pro                 20     -       -      80
o3-mini                1.1    0.55    -      4.4
o1                     15     7.5     -      60
o1-pro                 150    -       -      600
gpt-4-turbo            10     -       -      30
gpt-4-1106-preview     10     -       -      30
gpt-4-0125-preview     10     -       -      30
gpt-4                  30     -       -      60
gpt-4-0613             30     -       -      60
gpt-3.5-turbo          0.5    -       -      1.5
gpt-3.5-turbo-0125     0.5    -       -      1.5
gpt-3.5-turbo-1106     1      -       -      2
"""
_ANTHROPIC_PRICES = """
claude-opus-5-5        4      0.2     5      20
claude-opus-5          5      0.5     6.25   25
claude-opus-4-8        5      0.5     6.25   25
claude-opus-4-7        5      0.5     6.25   25
claude-opus-4-6        5      0.5     6.25   25
claude-opus-4-5        5      0.5     6.25   25
claude-opus-4-1        15     1.5     18.75  75
claude-sonnet-5-5      2      0.1     2.5    10
claude-sonnet-5        2      0.2     2.5    10
claude-sonnet-4-6      3      0.3     3.75   15
claude-sonnet-4-5      3      0.3     3.75   15
claude-3-7-sonnet      3      0.3     3.75   15
claude-3-5-sonnet      3      0.3     3.75   15
claude-haiku-5-5       0.1    0.01    0.125  0.5
claude-haiku-4-5       1      0.1     1.25   5
claude-3-5-haiku       0.8    0.08    1      4
claude-fable-5-1       10     0.25    12.5   50
claude-fable-5         10     1       12.5   50
"""
_OTHER_PRICES = """
gemini-4-argon         2      0.1     -      10
gemini-4-hydrogen      1.5    0.075   -      7.5
gemini-3.8-flash       0.75   0.075   -      3.75
gemini-3.7-flash       0.75   0.075   -      3.75
gemini-3.6-flash       0.75   0.075   -      3.75
gemini-3.5-flash       1.5    0.15    -      9
gemini-3.5-flash-lite  0.3    0.03    -      2.5
gemini-3.1-pro         2      0.2     -      12
gemini-3.1-flash-lite  0.25   0.025   -      1.5
gemini-3-flash         0.5    0.05    -      3
gemini-2.5-pro         1.25   0.125   -      10
gemini-2.5-flash       0.3    0.03    -      2.5
gemini-2.5-flash-lite  0.1    0.01    -      0.4
mistral-large-4        0.7    0.07    -      2.1
mistral-large-3        0.5    0.05    -      1.5
mistral-large-2512     0.5    0.05    -      1.5
mistral-medium-3-5     1.5    0.15    -      7.5
mistral-medium-2604    1.5    0.15    -      7.5
mistral-small-2603     0.15   0.015   -      0.6
codestral-2508         0.3    0.03    -      0.9
ministral-14b-2512     0.2    0.02    -      0.2
ministral-8b-2512      0.15   0.015   -      0.15
ministral-3b-2512      0.1    0.01    -      0.1
deepseek-v4-pro        1.32   0.044   -      3.96
deepseek-v4-flash      0.3    0.006   -      1.2
grok-4.7               2      0.5     -      6
grok-4.6               2      0.5     -      6
grok-4.5               2      0.3     -      6
grok-4.3               1.25   0.2     -      2.5
kimi-k3.1-pro          2      0.2     -      10
kimi-k3                3      0.3     -      15
kimi-k2.6              0.95   0.16    -      4
glm-5.3                1.4    0.26    -      4.4
glm-5.3-flash          0.15   0.03    -      0.5
glm-5                  1      0.2     -      3.2
glm-4.7                0.6    0.11    -      2.2
command-a-03-2025      2.5    -       -      10
command-r-plus-08-2024 2.5    -       -      10
command-r-08-2024      0.15   -       -      0.6
command-r7b-12-2024    0.0375 -       -      0.15
qwen3.8-max            2      0.25    -      6
qwen3.7-max            2.5    0.5     3.125  7.5
"""

# Prompts of more tokens cost more: beginning of the name, tokens, factor on input, on output.
_LONG_PROMPTS = (
    ("gpt-6", 272_000, 2.0, 1.5),
    ("gpt-5.6", 272_000, 2.0, 1.5),
    ("gpt-5.5", 272_000, 2.0, 1.5),
    ("gpt-5.4", 272_000, 2.0, 1.5),
    ("claude-haiku-5-5", 100_000, 5.0, 5.0),
    ("gemini-3.1-pro", 200_000, 2.0, 1.5),
    ("gemini-2.5-pro", 200_000, 2.0, 1.5),
    ("grok-4", 200_000, 2.0, 2.0),
)
_ONE_PRICE = ("gpt-5.4-mini", "gpt-5.4-nano")
_LIST_ALIASES = {
    "gpt-5.6": "gpt-5.6-sol",
    "mistral-medium-3.5": "mistral-medium-3-5",
    "mistral-small-latest": "mistral-small-2603",
    "mistral-medium-latest": "mistral-medium-2604",
    "codestral-latest": "codestral-2508",
}


@cache
def list_prices() -> ModelPricingTable:
    """The prices that come with the package, the same value at each call."""
    entries: dict[str, ModelPrice] = {}
    for text, cache_from in ((_OPENAI_PRICES, 1024), (_ANTHROPIC_PRICES, 1024), (_OTHER_PRICES, 0)):
        for line in text.split("\n"):
            if line:
                name, *numbers = line.split()
                entries[name] = _listed_price(name, numbers, cache_from)
    source = f"list prices of {LIST_PRICES_DATE}"
    return ModelPricingTable(entries, _LIST_ALIASES, source)


def _listed_price(name: str, numbers: list[str], cache_from: int) -> ModelPrice:
    dear, cached, write, output = (None if x == "-" else float(x) for x in numbers)
    matching = (row for row in _LONG_PROMPTS if name.startswith(row[0]) and name not in _ONE_PRICE)
    _, long_from, long_input, long_output = next(matching, ("", 0, 1.0, 1.0))
    return ModelPrice(
        input=dear or 0.0,
        output=output or 0.0,
        cached=cached,
        write=write,
        long_from=long_from,
        long_input=long_input,
        long_output=long_output,
        cache_from=cache_from,
    )
