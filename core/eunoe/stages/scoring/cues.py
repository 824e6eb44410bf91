"""Cues in a text: does it ask, of which type, and does it point back at what was said before?"""

from __future__ import annotations

import re

CUE_RECALL = 1
CUE_HISTORY = 2
CUE_ANAPHOR = 4
CUE_ORDER = 8
CUE_SUMMARY = 16

_CUE_CHARACTERS = 4_000

_CUE_RECALL_PATTERN = re.compile(
    r"\b(?:remember|recall|remind(?:ed)?|earlier|previously|before that|last time|"
    r"(?:as|like) (?:i|we|you) (?:said|mentioned|discussed|told)|"
    r"(?:did|have|had|has) (?:i|we|you) (?:\w+ )?(?:ever|mention|say|said|tell|told|discuss|talk|ask|agree|"
    r"decide|suggest|recommend|provide|give|share|work|integrat|us)\w*|"
    r"(?:i|we|you) (?:\w+ )?(?:mentioned|discussed|talked about|said|told you|agreed|decided|settled on|"
    r"went over|brought up|suggested|recommended|shared)|"
    r"(?:our|my|the|this) (?:\w+ )?(?:conversations?|chats?|discussions?|sessions?|requests|messages)|"
    r"so far|throughout|from before|(?:first|original) (?:question|message|request)|"
    r"erinner\w*|vorhin|fruher|letztes mal|rappel\w*|souviens|plus tot|la derniere fois|"
    r"recuerd\w*|antes|la ultima vez|anterior\w*|lembr\w*|da ultima vez|ricord\w*|prima|l'ultima volta)\b"
    r"|之前|上次|刚才|剛才|先前|以前|还记得|還記得|記得|前回|さっき|先ほど|覚えて|이전|지난번|아까|기억|"
    r"помни\w*|раньше|ранее|прошлый раз|напомни|سابقا|تذكر|قبل|זוכר|קודם|पहले|याद|ก่อนหน้า|จำได้",
    re.IGNORECASE,
)
_CUE_HISTORY_PATTERN = re.compile(
    r"\b(?:used to|originally|at first|initially|previous|before|former|earlier|old|changed?|"
    r"history|evolv\w*|over time|first)\b|原来|最初|以前|之前|сначала|раньше",
    re.IGNORECASE,
)
_CUE_ORDER_PATTERN = re.compile(
    r"\b(?:in (?:what |which )?order|the order|sequence|chronolog\w*|timeline|walk me through)\b"
    r"|顺序|時系列|順番",
    re.IGNORECASE,
)
_CUE_SUMMARY_PATTERN = re.compile(
    r"\b(?:summar\w+|overview|recap|progress\w*|comprehensive|zusammenfass\w*|resum\w*|riassun\w*)\b"
    r"|总结|總結|摘要|要約|요약|итог\w*",
    re.IGNORECASE,
)
_CUE_END_QUESTION = re.compile(r"[?？؟]")
_CUE_KINDS = (
    ("when", re.compile(
        r"\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long ago|"
        r"wann|quand|cuando|quando)\b|什么时候|何时|いつ|언제|когда|متى|מתי|कब|เมื่อไ", re.IGNORECASE)),
    ("how_many", re.compile(
        r"\b(?:how (?:many|much|long|often|old|far|big|tall)|what (?:is|was|are) the "
        r"(?:\w+ ){0,4}?(?:number|amount|total|average|count|price|cost|score|rate|percentage|age)|"
        r"wie ?viele?|combien|cuant[oa]s?|quant[oia]s?)\b|多少|几个|幾|いくつ|いくら|몇|сколько|كم|כמה|कितन",
        re.IGNORECASE)),
    ("who", re.compile(r"\b(?:who|whom|whose|wer|wen|qui|quien|quem|chi)\b|谁|誰|누구|кто|من هو|कौन",
                       re.IGNORECASE)),
    ("where", re.compile(
        r"\b(?:where|what (?:city|country|town|place|state)|which (?:cit|countr|town|place|state)\w*|"
        r"wo|wohin|donde|onde|dove)\b|哪里|哪裡|どこ|어디|где|куда|أين|איפה|कहाँ", re.IGNORECASE)),
)  # fmt: skip
_CUE_OPENERS = frozenset(
    "what which who whom whose when where why how is are was were do does did can could would will "
    "should has have had wer wann wo warum wie welche qui quand pourquoi comment que quien cual "
    "cuando donde como quem qual onde chi quale dove perche кто что когда где почему как".split()
)


def find_cues(body: str, anaphor: bool) -> int:
    """Combination of the ``CUE_*`` bits; only the first 4,000 characters are read."""
    head = body[:_CUE_CHARACTERS]
    cues = CUE_ANAPHOR if anaphor else 0
    if _CUE_RECALL_PATTERN.search(head):
        cues |= CUE_RECALL
    if _CUE_HISTORY_PATTERN.search(head):
        cues |= CUE_HISTORY
    if _CUE_ORDER_PATTERN.search(head):
        cues |= CUE_ORDER
    if _CUE_SUMMARY_PATTERN.search(head):
        cues |= CUE_SUMMARY
    return cues


def question_kind(body: str, folded: list[str]) -> tuple[bool, str]:
    """Whether a text asks, and its type (empty when it does not).

    Args:
        body: Text without prefixes.
        folded: Its folded words.
    """
    tail = body[-_CUE_CHARACTERS:]
    opener = bool(folded) and folded[0] in _CUE_OPENERS
    if not (opener or _CUE_END_QUESTION.search(tail)):
        return False, ""
    for kind, pattern in _CUE_KINDS:
        if pattern.search(tail):
            return True, kind
    return True, "other"
