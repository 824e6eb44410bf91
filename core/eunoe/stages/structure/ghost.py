"""The ghost graph: what a question means without saying it.

A pronoun or "the file" stands for something named shortly before. What it may stand for gets
teleport mass in the graph: its messages come back although the question shares no word with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

GHOST_TURNS = 8
GHOST_FADE = 0.9

_GHOST_TYPES: dict[str, re.Pattern[str]] = {
    "file": re.compile(r"[\w\-./\\]+\.[A-Za-z]\w{0,4}"),
    "link": re.compile(r"https?://\S+|www\.\S+"),
    "error": re.compile(r"\w*(?:error|exception|warning|fault)\w*", re.IGNORECASE),
    "version": re.compile(r"v?\d+(?:\.\d+)+"),
    "code": re.compile(r"\w+_\w+|[a-z]+[A-Z]\w*|\w+\(\)|\w+::\w+"),
    "ticket": re.compile(r"#\d+|[A-Z]{2,}-\d+", re.IGNORECASE),
}
_GHOST_NOUNS: dict[str, tuple[str, ...]] = {
    kind: tuple(nouns.split())
    for kind, nouns in {
        "file": "file script module document datei fichier archivo файл 文件 檔案 ファイル 파일",
        "link": "link url page site website ссылка 链接 連結 リンク 링크",
        "error": "error exception bug warning problem fehler erreur ошибка 错误 錯誤 エラー 오류",
        "version": "version release версия 版本 バージョン 버전",
        "code": "function method class variable column table функция 函数 函數 関数 함수",
        "ticket": "ticket issue request order заказ 订单 訂單 チケット 티켓",
    }.items()
}
_GHOST_PRONOUN = re.compile(
    r"\b(?:it|that|this|them|those|these|its|he|she|they|him|her|their|er|sie|es|ihn|il|elle|lui|eso"
    r"|esto|ele|ela|isso|lo|questo|quello|он|она|оно|они|это|его|её)\b",
    re.IGNORECASE,
)
# Scripts without blanks between words: a sign that is no part of another word ("其它" is "other",
# "排他" "exclusive", "维他命" "vitamin", "あれば" "if there is", "それでは" "well then").
_GHOST_SIGNS = re.compile(
    r"[那这這](?:个|個|些|份|篇|条|條)|(?<![其吉排利维維])[它他她][们們]?"
    r"|(?:(?<!お)そ|こ|(?<!で)あ)れ(?!から|ぞれ|ば|ど|では|でも|とも|ほど|まで)"
    r"|(?<![가-힣])[그이저]것"
)


def entity_type(name: str) -> str:
    """``link file version error ticket code`` or ``name``."""
    for kind in ("link", "version", "file", "error", "ticket", "code"):
        if _GHOST_TYPES[kind].fullmatch(name):
            return kind
    return "name"


def asked_types(question: str) -> frozenset[str]:
    """Types that "the <noun>" phrases of a question ask for; empty when there are none."""
    return frozenset(kind for kind, _ in _nouns_in(question))


def _nouns_in(question: str) -> list[tuple[str, str]]:
    """(type, noun) of the "the <noun>" phrases of a question."""
    lower = question.lower()
    return [
        (kind, noun)
        for kind, nouns in _GHOST_NOUNS.items()
        for noun in nouns
        if noun in lower
        and (
            not noun.isascii()
            or re.search(rf"\b(?:the|that|this|der|die|das|le|la|el|o|il) {noun}\b", lower)
        )
    ]


def points_away(question: str) -> bool:
    """Whether a question leans on a pronoun or on "the <noun>"."""
    return _GHOST_PRONOUN.search(question) is not None or bool(stand_ins(question))


def stand_ins(question: str) -> tuple[str, ...]:
    """The words that stand for something named: "the <noun>", and pronouns such as "那个".

    Pronouns of scripts that write blanks between words are told by their words, not here.
    """
    nouns = (noun for _, noun in _nouns_in(question))
    return tuple(dict.fromkeys((*nouns, *_GHOST_SIGNS.findall(question))))


def ghost_weights(
    question: str,
    named: Sequence[str],
    mentions: Mapping[str, Sequence[int]],
    turn: Sequence[int],
) -> dict[str, float]:
    """Teleport weight of entities for a question.

    Entities that the question names count ``1/mentions``. When it names none and leans on a
    pronoun, those of the last 8 turns count ``0.9**(turns ago)``, only the types asked for if any.

    Args:
        question: Its text.
        named: Entities in it, folded.
        mentions: Messages that mention each entity, ascending.
        turn: Turn number of each message.

    Returns:
        Entity to weight > 0, possibly empty.
    """
    direct = {name: 1.0 / len(mentions[name]) for name in named if mentions.get(name)}
    if direct or not turn or not points_away(question):
        return direct
    wanted = asked_types(question)
    out: dict[str, float] = {}
    for name, places in mentions.items():
        if not places:
            continue
        ago = turn[-1] - turn[places[-1]]
        if 0 <= ago < GHOST_TURNS and (not wanted or entity_type(name) in wanted):
            out[name] = GHOST_FADE**ago
    return out
