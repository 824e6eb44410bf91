"""Estimate tokens without a vocabulary, by the classes of neighbouring characters.

Byte pair encoding spends few tokens inside a common word and many where the kind of character
changes, so a table of prices for pairs of classes, summed over a text, comes close: one pass, no
search for words. The prices are thousandths of a token, fitted by non-negative least squares (with
more weight on what came out too low) to counts of ``o200k_base`` and ``cl100k_base`` on chats,
code, JSON, tables, random ids and about 45 languages. ``tests/bench/estimator_table.py`` prints
what is left of the error.

Source: fitted here; the method is a class bigram model.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

# Factor on the o200k count, thousandths, for families without a vocabulary of their own here.
# Measured on chats, tool calls, code and prose in 15 languages where the vocabulary is public
# (llama3, qwen, deepseek, mistral), else on the safe side of what their makers say; the factor
# that a provider's reported usage gives replaces it (see ``calibration``).
FAMILY_FACTORS: dict[str, int] = {
    "o200k": 1000,
    "cl100k": 1000,
    "claude": 1200,
    "gemini": 1100,
    "llama3": 1080,
    "llama2": 1300,
    "qwen": 1150,
    "qwen3.5": 1120,
    "mistral": 1150,
    "deepseek": 1080,
    "command": 1120,
    "grok": 1100,
    "phi": 1080,
    "glm": 1080,
    "kimi": 1050,
}

# Characters taken at once from a long text.
_ESTIMATE_BLOCK = 1 << 20
_HIGHEST_CODE = 0x2FFFF

_ASCII_CLASSES = (
    ("control", ""),
    ("line end", "\n\r"),
    ("space", " "),
    ("tab", "\t"),
    ("vowel", "aeiou"),
    ("consonant", "bcdfghlmnprsty"),
    ("rare letter", "jkqvwxz"),
    ("capital", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("digit", "0123456789"),
    ("quote", "\"'`"),
    ("bracket", "()[]{}<>"),
    ("stop", ",:;.!?"),
    ("ruler", "-=_*#~"),
    ("slash", "/\\|"),
    ("sign", "@$%^&+"),
)

# Price of a class (column) after another one (row), both in the order above.
_ASCII_PRICES = (
    (600, 972, 274, 629, 0, 320, 787, 938, 1400, 620, 552, 233, 446, 459, 1251),
    (600, 0, 995, 629, 1383, 1070, 1587, 1061, 1728, 723, 869, 970, 608, 0, 0),
    (600, 623, 22, 629, 534, 386, 732, 845, 1726, 1198, 854, 1583, 316, 1101, 534),
    (600, 972, 284, 600, 0, 320, 787, 938, 1400, 620, 552, 233, 446, 459, 1251),
    (600, 932, 245, 629, 167, 0, 239, 949, 1059, 203, 904, 724, 380, 193, 1800),
    (600, 724, 149, 629, 209, 89, 1029, 829, 829, 353, 429, 417, 94, 42, 1800),
    (600, 1233, 610, 629, 0, 220, 1800, 1800, 1437, 0, 273, 241, 0, 842, 1285),
    (600, 1800, 0, 629, 21, 273, 1630, 152, 1175, 2, 1329, 0, 1208, 80, 1367),
    (600, 772, 0, 629, 674, 1129, 1131, 733, 333, 781, 1115, 547, 425, 147, 138),
    (600, 0, 431, 629, 503, 38, 0, 176, 1098, 0, 781, 606, 251, 123, 61),
    (600, 49, 425, 629, 632, 940, 1020, 934, 1181, 0, 472, 98, 1331, 604, 1198),
    (600, 0, 384, 629, 97, 267, 369, 440, 918, 699, 595, 500, 102, 751, 1776),
    (600, 0, 364, 629, 1003, 508, 331, 945, 1417, 396, 867, 843, 52, 579, 1592),
    (600, 631, 0, 629, 712, 720, 248, 1236, 1800, 196, 804, 895, 1239, 500, 1122),
    (600, 1686, 0, 629, 313, 1800, 956, 1228, 1010, 582, 0, 0, 158, 1267, 500),
)

# Price of an ASCII class after any other character: o200k, cl100k.
_ASCII_AFTER_OTHER = (
    (600, 301, 11, 639, 0, 0, 1872, 0, 1425, 510, 1597, 421, 2153, 1280, 1569),
    (600, 1697, 577, 815, 84, 789, 0, 0, 1284, 0, 658, 1627, 1665, 701, 298),
)

# Factor on all prices in thousandths: o200k, cl100k. A little over is safer than under; cl100k
# takes more tokens than o200k for plain letters of languages other than English.
_PRICE_FACTORS = (1025, 1055)

# Name, ranges (later ones win), (price inside a run, price of its first) in o200k and in cl100k.
_WIDE_CLASSES: tuple[
    tuple[str, tuple[tuple[int, int], ...], tuple[int, int], tuple[int, int]], ...
] = (
    ("other", ((0x80, 0x2FFFF),), (1200, 1200), (1200, 1200)),
    ("latin", ((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F)), (1475, 938), (1529, 1657)),
    (
        "vietnamese",
        ((0x110, 0x111), (0x1A0, 0x1A1), (0x1AF, 0x1B0), (0x1E00, 0x1EFF)),
        (150, 250),
        (150, 393),
    ),
    ("punctuation", ((0xA0, 0xBF), (0x2010, 0x206F)), (992, 355), (150, 640)),
    ("mark", ((0x300, 0x36F), (0x200D, 0x200D), (0xFE00, 0xFE0F)), (3000, 789), (1933, 2806)),
    ("greek", ((0x370, 0x3FF), (0x1F00, 0x1FFF)), (399, 446), (1046, 524)),
    ("cyrillic", ((0x410, 0x44F),), (224, 510), (183, 1226)),
    ("cyrillic extended", ((0x400, 0x40F), (0x450, 0x52F)), (150, 2385), (150, 3000)),
    ("caucasian", ((0x530, 0x58F), (0x10A0, 0x10FF)), (356, 581), (2106, 1876)),
    ("hebrew", ((0x590, 0x5FF),), (504, 250), (1084, 960)),
    ("arabic", ((0x600, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFE)), (310, 629), (725, 863)),
    ("devanagari", ((0x900, 0x97F),), (442, 250), (1083, 1292)),
    ("indic", ((0x980, 0xDFF),), (353, 886), (1986, 250)),
    ("gurmukhi", ((0xA00, 0xA7F), (0xB00, 0xB7F), (0xD80, 0xDFF)), (793, 491), (1971, 1554)),
    ("thai", ((0xE00, 0xE7F),), (394, 530), (963, 907)),
    ("khmer", ((0xE80, 0x109F), (0x1780, 0x17FF)), (538, 1475), (1764, 1530)),
    ("kana", ((0x3040, 0x30FF),), (604, 727), (889, 810)),
    (
        "rare han",
        ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FFFF)),
        (993, 1590),
        (1696, 2819),
    ),
    ("han", (), (769, 1015), (1091, 440)),
    ("hangul", ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7A3)), (610, 925), (1048, 877)),
    ("wide punctuation", ((0x3000, 0x303F), (0xFF00, 0xFFEF)), (584, 321), (767, 1836)),
    ("box drawing", ((0x2500, 0x259F),), (217, 1917), (150, 1185)),
    ("symbol", ((0x2070, 0x24FF), (0x25A0, 0x2FFF)), (800, 800), (1374, 999)),
    ("emoji", ((0x1F000, 0x1FFFF),), (1978, 1455), (2792, 1798)),
)


@functools.cache
def _class_of_code() -> NDArray[np.uint8]:
    """Class of each code point up to the end of plane 2."""
    table = np.zeros(_HIGHEST_CODE + 1, dtype=np.uint8)
    for index, (_, characters) in enumerate(_ASCII_CLASSES):
        table[[ord(character) for character in characters]] = index
    for index, (name, ranges, *_) in enumerate(_WIDE_CLASSES, start=len(_ASCII_CLASSES)):
        for first, last in ranges:
            table[first : last + 1] = index
        if name == "han":  # level 1 of GB 2312: the 3,755 characters in common use
            cells = bytes(x for a in range(0xB0, 0xD8) for b in range(0xA1, 0xFF) for x in (a, b))
            table[[ord(character) for character in cells.decode("gb2312", "ignore")]] = index
    table.flags.writeable = False
    return table


@functools.cache
def _pair_prices(column: int) -> NDArray[np.int32]:
    """Prices of all pairs of classes, flat; column 0 is o200k, 1 is cl100k."""
    narrow, wide = len(_ASCII_CLASSES), len(_WIDE_CLASSES)
    prices = np.empty((narrow + wide, narrow + wide), dtype=np.int32)
    prices[:narrow, :narrow] = _ASCII_PRICES
    prices[narrow:, :narrow] = _ASCII_AFTER_OTHER[column]
    for index, (*_, o200k, cl100k) in enumerate(_WIDE_CLASSES, start=narrow):
        inside, first = (o200k, cl100k)[column]
        prices[:, index] = first
        prices[index, index] = inside
    flat = prices.ravel() * _PRICE_FACTORS[column] // 1000
    flat.flags.writeable = False
    return flat


def _price_of(text: str, column: int) -> int:
    """Price of all characters but the first, in thousandths of a token."""
    codes: NDArray[np.uint8] | NDArray[np.uint32]
    if text.isascii():
        codes = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    else:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        codes = np.minimum(codes, _HIGHEST_CODE)
    classes = _class_of_code().take(codes).astype(np.uint16)
    pairs = classes[:-1] * (len(_ASCII_CLASSES) + len(_WIDE_CLASSES)) + classes[1:]
    return int(_pair_prices(column).take(pairs).sum(dtype=np.int64))


def estimate_tokens(text: str, family: str = "o200k") -> int:
    """Estimate how many tokens a text takes.

    Args:
        text: any text; half surrogates are allowed.
        family: a key of ``FAMILY_FACTORS``; others count as ``o200k``.

    Returns:
        At least 1 for a text that is not empty. Within about 15 % of the vocabulary on texts of
        some hundred characters in the scripts of the table; on the average a few percent over.

    Note:
        Linear; about 10 microseconds for 300 characters, half a second for 36 million.
    """
    if not text:
        return 0
    column = 1 if family == "cl100k" else 0
    if len(text) <= _ESTIMATE_BLOCK:
        price = _price_of("\n" + text, column)
    else:
        price = _price_of("\n" + text[:_ESTIMATE_BLOCK], column)
        for start in range(_ESTIMATE_BLOCK, len(text), _ESTIMATE_BLOCK):
            price += _price_of(text[start - 1 : start + _ESTIMATE_BLOCK], column)
    return max(1, -(-price * FAMILY_FACTORS.get(family, 1000) // 1_000_000))
