"""Does a text ask something, with a question mark or without, in whatever language?"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ASK_CHARACTERS = 4_000
_ASK_WORDS = 25
_ASK_RUN = 120
"""A question without a mark is short: so many words, or characters where words are not parted."""

_ASK_MARK = re.compile("[?？؟⸮՞፧]|(?<=[\u0370-\u03ff])\\s?[;\u037e]")
# Words are folded: no accents, "ł" is "l", "ı" is "i", "đ" is "d".
_ASK_OPENERS = frozenset(
    "what which who whom whose when where why how is are was were do does did can could would will "
    "should has have had wer wen wem wessen wann wo wohin woher warum wie wieviel welche welcher "
    "welches welchen welchem hast habt qui quand pourquoi comment combien quel quelle quels "
    "quelles que quien quienes cual cuales cuando donde adonde como cuanto cuanta cuantos cuantas "
    "quem qual quais onde quanto quanta quantos quantas quanti quante chi quale quali dove perche "
    "wat wie waar wanneer waarom welke hoe hoeveel vad vem nar hur varfor vilken vilket vilka "
    "hvad hvem hvor hvornar hvorfor hvilken hvilket hva hvordan "
    "kto co gdzie kiedy dlaczego czemu jak jaki jaka jakie jakim jakiej ile czy ktory ktora ktore "
    "komu kogo skad dokad kdo kde kdy proc jaky ktery ktera kolik kam odkud "
    "mika mita missa mista mihin milloin kuka kenen keta miten miksi montako paljonko kuinka mitka "
    "ki hol mikor hany mennyi miert hogyan melyik hova honnan cine unde cand cum "
    "apa siapa kapan dimana berapa bagaimana mengapa kenapa hangi nerede nereye nereden nasil "
    "кто что когда где почему как какой какая какое какие сколько куда откуда зачем чей чья кому "
    "кого хто що де коли чому який яка яке скільки куди звідки чи "
    "τι ποιος ποια ποιο ποιοι που ποτε πως γιατι ποσο ποσα ποσοι ποσες "
    "ما ماذا متي اين كيف كم هل اي لماذا מה מי מתי איפה כמה למה איך האם איזה איזו".split()
)
# What asks behind a word of place or time, too: "in which", "bei wem", "na jakiej".
_ASK_SECOND = frozenset(
    "what which whom whose welche welcher welches welchen welchem wem wen quel quelle quels "
    "quelles qual quais quale quali cual cuales quien welke vilken vilket hvilken hvilket "
    "jakiej jakim jakich jakie jaki ktorej ktorym ktorego каком какой какую какие каких кого ком "
    "чем котором якому якій якої".split()
)
# What asks wherever it stands in its language, and is no word of another.
_ASK_ANYWHERE = frozenset("hangi nerede nereye nereden nasil kacta kacinci niye".split())
# What asks at the end: "o dau", "tu nao".
_ASK_LAST = frozenset("dau gi nao sao khong nhieu kac nerde neresi kimdi neydi".split())
# Where the first word alone may be another ("var x = 1").
_ASK_PAIRS = frozenset(
    tuple(pair.split())
    for pair in ("var ligger|var finns|var bor|var ar|var har|var star|var kan|di mana").split("|")
)
# Scripts that do without spaces, or whose question words stand anywhere.
_ASK_SCRIPT = re.compile(
    "什么|什麼|甚麼|谁|誰|哪|几[点號号个個天岁歲]|多少|怎么|怎麼|为什么|為什麼|何时|是否|[吗嗎呢]\\W*$"
    "|(?:です|ます|した|ません)か[。\\s]*$|何[でがをの時人個]?|どこ|いつ|だれ|どれ|どの|いくら|いくつ"
    "|[까니]\\W*$|나요|가요\\W*$|무엇|뭐|어디|언제|누구|누가|얼마|몇|어떤"
    "|ไหม|อะไร|ที่ไหน|เมื่อไ|ใคร|เท่าไ|กี่|อย่างไร|ยังไง|หรือเปล่า|อันไหน"
    "|क्या|कब|कहाँ|कहां|कौन|कैसे|क्यों|कितन|किस|কী|কখন|কোথায়|কে\\b|কত|என்ன|எங்கே|எப்போது|யார்|எத்தனை"
)


def is_question(body: str, folded: Sequence[str]) -> bool:
    """Whether a text asks: by a question mark near its end, its first words, or a word in it.

    Args:
        body: The text.
        folded: Its words, folded; of a long text the first few will do.
    """
    if is_led_by_question(folded):
        return True
    if _ASK_MARK.search(body, max(0, len(body) - _ASK_CHARACTERS)) is not None:
        return True
    if len(body) <= _ASK_RUN and not body.isascii() and _ASK_SCRIPT.search(body):
        return True
    if not 0 < len(folded) <= _ASK_WORDS:
        return False
    return folded[-1] in _ASK_LAST or not _ASK_ANYWHERE.isdisjoint(folded)


def is_led_by_question(folded: Sequence[str]) -> bool:
    """Whether the first words are such as ask: "where ...", "is ...", "in which ...".

    Args:
        folded: Words of a text, folded.
    """
    if folded and folded[0] in _ASK_OPENERS:
        return True
    first = tuple(folded[:2])
    return len(first) == 2 and (first in _ASK_PAIRS or _asks_behind_a_word(*first))


def _asks_behind_a_word(first: str, second: str) -> bool:
    """Whether a word of place or time leads to one that asks."""
    return len(first) < 5 and second in _ASK_SECOND
