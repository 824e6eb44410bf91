"""Word stems: a compact English stemmer and light suffix stripping for other languages.

The English rules follow the published Porter2 description (step numbers below are its own), with a
table of irregular forms in front: chats ask "when did she buy" about "I bought". The other
languages get inflectional endings removed and nothing else. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_STEM_VOWELS = frozenset("aeiouy")
_STEM_R1_SPECIAL = ("gener", "commun", "arsen")
_STEM_REGION = re.compile(r"[aeiouy][^aeiouy]")
_STEM_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_STEM_LI_BEFORE = frozenset("cdeghkmnrt")
_STEM_INVARIANT = frozenset(
    "only early add egg off sky news howe atlas cosmos bias andes inning outing canning "
    "herring earring proceed exceed succeed this his is was us bus gas yes plus lens".split()
)

# Every form stands for the first word of its group: inflection that no suffix rule can undo.
_IRREGULAR_GROUPS = """
buy bought | go went gone goes | make made | take took taken | get got gotten | give gave given |
come came | see saw seen | know knew known | think thought | tell told | say said | find found |
leave left | feel felt | bring brought | begin began begun | keep kept | hold held | write wrote
written | stand stood | hear heard | mean meant | meet met | run ran | pay paid | sit sat | speak
spoke spoken | lead led | grow grew grown | lose lost | fall fell fallen | send sent | build built
| understand understood | draw drew drawn | break broke broken | spend spent | rise risen | drive
drove driven | wear wore worn | choose chose chosen | eat ate eaten | sing sang sung | swim swam
swum | fly flew flown | win won | teach taught | catch caught | sell sold | fight fought | throw
threw thrown | forget forgot forgotten | sleep slept | ride rode ridden | drink drank drunk |
steal stole stolen | hide hid hidden | shake shook shaken | bite bitten | freeze froze frozen |
wake woke woken | feed fed | dig dug | hang hung | shoot shot | strike struck | stick stuck |
swing swung | ring rang rung | sink sank sunk | lend lent | lay laid | lie lain | seek sought |
deal dealt | dream dreamt | learn learnt | burn burnt | become became | overcome overcame | bear
bore born borne | blow blew blown | show shown | do did done | tear tore torn | weave wove woven |
forgive forgave forgiven | child children kid kids | man men | woman women | person people | foot
feet | tooth teeth | mouse mice | goose geese | wife wives | knife knives | half halves | shelf
shelves | wolf wolves | self selves | good better best | bad worse worst | mother mom mum mommy
mama | father dad daddy papa | grandmother grandma granny | grandfather grandpa | photo photograph
photographs picture pictures pic pics | television tv | bicycle bike bikes | favourite favorite
fave favorites | colour color | centre center | theatre theater | programme program | grey gray |
movie film | advice advise | analysis analyses | criterion criteria | schedule reschedule
rescheduled | database databases db | authentication auth | repository repo repos | configuration
config configs | application app apps | document doc docs | information info | laboratory lab labs
| university uni | vacation holiday | refrigerator fridge | appointment appt | birthday bday |
maximum max | minimum min | average avg | password pwd passwd | environment env | directory dir |
parameter param params | message msg msgs | address addr | department dept | government govt |
management mgmt | temperature temp | kilometer kilometre kilometres km kms | kilogram kilo kilos
kg kgs | centimeter centimetre cm | millimeter millimetre mm | litre liter liters | postgresql
postgres | javascript js | typescript ts | 1 one | 2 two | 3 three | 4 four | 5 five | 6 six | 7
seven | 8 eight | 9 nine | 10 ten | 11 eleven | 12 twelve | january jan | february feb | march mar
| april apr | june jun | july jul | august aug | september sep sept | october oct | november nov |
december dec | monday mon | tuesday tue tues | wednesday wed | thursday thu thur thurs | friday
fri | saturday | sunday
"""
_IRREGULAR = {
    form: group.split()[0] for group in _IRREGULAR_GROUPS.split("|") for form in group.split()[1:]
}


def _stem_by_ending(rules: Sequence[tuple[str, str]]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Suffixes and what replaces them by the last two letters, the longest first."""
    table: dict[str, tuple[tuple[str, str], ...]] = {}
    for rule in sorted(rules, key=lambda rule: -len(rule[0])):
        table[rule[0][-2:]] = (*table.get(rule[0][-2:], ()), rule)
    return table


_STEM_STEP2 = _stem_by_ending(
    [
        (pair.partition(":")[0], pair.partition(":")[2])
        for pair in (
            "ization:ize ational:ate fulness:ful ousness:ous iveness:ive tional:tion biliti:ble "
            "lessli:less entli:ent ation:ate alism:al aliti:al ousli:ous iviti:ive fulli:ful "
            "enci:ence anci:ance abli:able izer:ize ator:ate alli:al bli:ble"
        ).split()
    ]
)
_STEM_STEP3 = _stem_by_ending(
    [
        ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"),
        ("iciti", "ic"), ("ical", "ic"), ("ness", ""), ("ful", ""),
    ]
)  # fmt: skip
_STEM_STEP4 = {
    ending: tuple(suffix for suffix, _ in rules)
    for ending, rules in _stem_by_ending(
        [
            (suffix, "")
            for suffix in (
                "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize"
            ).split()
        ]
    ).items()
}


def _stem_regions(word: str) -> tuple[int, int]:
    """Starts of the regions R1 and R2 of Porter2."""
    r1 = len(word)
    for head in _STEM_R1_SPECIAL:
        if word.startswith(head):
            r1 = len(head)
            break
    else:
        found = _STEM_REGION.search(word)
        if found:
            r1 = found.end()
    found = _STEM_REGION.search(word, r1)
    return r1, found.end() if found else len(word)


def _stem_has_vowel(text: str) -> bool:
    return not _STEM_VOWELS.isdisjoint(text)


def _stem_is_short(word: str, r1: int) -> bool:
    """Whether the word ends in a short syllable and R1 is empty."""
    if r1 < len(word):
        return False
    if len(word) == 2:
        return word[0] in _STEM_VOWELS and word[1] not in _STEM_VOWELS
    return (
        len(word) > 2
        and word[-1] not in _STEM_VOWELS
        and word[-1] not in "wxY"
        and word[-2] in _STEM_VOWELS
        and word[-3] not in _STEM_VOWELS
    )


def _stem_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if _stem_has_vowel(word[:-2]) else word


def _stem_past(word: str, r1: int) -> str:
    """Step 1b."""
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: -len(suffix)] + "ee" if len(word) - len(suffix) >= r1 else word
    for suffix in ("ingly", "edly", "ing", "ed"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            if not _stem_has_vowel(rest):
                return word
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if rest.endswith(_STEM_DOUBLES):
                return rest[:-1]
            return rest + "e" if _stem_is_short(rest, min(r1, len(rest))) else rest
    return word


def _stem_step2(word: str, r1: int) -> str:
    for suffix, replacement in _STEM_STEP2.get(word[-2:], ()):
        if word.endswith(suffix):
            return word[: -len(suffix)] + replacement if len(word) - len(suffix) >= r1 else word
    if word.endswith("ogi") and len(word) - 3 >= r1 and word[-4:-3] == "l":
        return word[:-1]
    if word.endswith("li") and len(word) - 2 >= r1 and word[-3:-2] in _STEM_LI_BEFORE:
        return word[:-2]
    return word


def _stem_step3(word: str, r1: int, r2: int) -> str:
    for suffix, replacement in _STEM_STEP3.get(word[-2:], ()):
        if word.endswith(suffix):
            return word[: -len(suffix)] + replacement if len(word) - len(suffix) >= r1 else word
    return word[:-5] if word.endswith("ative") and len(word) - 5 >= r2 else word


def _stem_step4(word: str, r2: int) -> str:
    for suffix in _STEM_STEP4.get(word[-2:], ()):
        if word.endswith(suffix):
            return word[: -len(suffix)] if len(word) - len(suffix) >= r2 else word
    if word.endswith("ion") and len(word) - 3 >= r2 and word[-4:-3] in ("s", "t"):
        return word[:-3]
    return word


def stem_english(word: str) -> str:
    """Stem of a lower-case English word.

    Args:
        word: Casefolded ASCII letters.

    Returns:
        The stem. Irregular forms and a few everyday variants meet in one stem.

    Source of formula: Porter2 (snowballstem.org, English), plus irregular forms.
    """
    word = _IRREGULAR.get(word, word)
    if len(word) <= 2 or word in _STEM_INVARIANT:
        return word
    if word[0] == "y":
        word = "Y" + word[1:]
    word = re.sub("(?<=[aeiouy])y", "Y", word) if "y" in word else word
    word = _stem_plural(word)
    base = _IRREGULAR.get(word)
    if base is not None and len(word) > 2:
        word = base
    if word in _STEM_INVARIANT:
        return word
    r1, r2 = _stem_regions(word)
    word = _stem_past(word, r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _STEM_VOWELS:
        word = word[:-1] + "i"
    word = _stem_step4(_stem_step3(_stem_step2(word, r1), r1, r2), r2)
    if word.endswith("e"):
        cut = len(word) - 1
        if cut >= r2 or (cut >= r1 and not _stem_is_short(word[:-1], len(word) - 1)):
            word = word[:-1]
    elif word.endswith("ll") and len(word) - 1 >= r2:
        word = word[:-1]
    return word.lower()


# Inflectional endings, longest first; at least `_LIGHT_KEEP` letters stay.
_LIGHT_KEEP = 4
_LIGHT_SUFFIXES: dict[str, tuple[str, ...]] = {
    "de": ("ungen", "heiten", "keiten", "ernd", "enden", "ern", "est", "em", "en", "er", "es",
           "te", "ten", "st", "e", "n", "s"),
    "fr": ("issements", "issement", "ements", "ement", "aient", "erent", "erons", "eront", "ions",
           "ait", "ais", "ant", "ees", "ee", "es", "ez", "er", "ent", "eux", "ir", "e", "s", "x"),
    "es": ("amientos", "amiento", "aciones", "acion", "ieron", "iendo", "ando", "aron", "aban",
           "aba", "ado", "ada", "ido", "ida", "mos", "ar", "er", "ir", "es", "os", "as", "an",
           "en", "o", "a", "e", "s"),
    "pt": ("amentos", "amento", "acoes", "acao", "aram", "eram", "iram", "ando", "endo", "indo",
           "ava", "ado", "ada", "ido", "ida", "mos", "ar", "er", "ir", "oes", "os", "as", "es",
           "am", "em", "o", "a", "e", "s"),
    "it": ("amenti", "amento", "azioni", "azione", "avano", "arono", "ando", "endo", "ato", "ata",
           "ati", "ate", "uto", "uta", "ito", "ita", "are", "ere", "ire", "ano", "ono", "o", "a",
           "e", "i"),
    "nl": ("heden", "ingen", "eren", "en", "er", "et", "t", "e", "s"),
    "ru": ("иями", "ами", "ями", "ого", "его", "ому", "ему", "ыми", "ими", "иях", "ах", "ях",
           "ать", "ять", "ить", "еть", "ала", "али", "ало", "ила", "или", "ило", "ешь", "ет",
           "ют", "ут", "ит", "ат", "ят", "ую", "юю", "ая", "яя", "ое", "ее", "ые", "ие", "ый",
           "ий", "ой", "ей", "ом", "ем", "ам", "ям", "ов", "ев", "ия", "ии", "ию", "ал", "ил",
           "а", "я", "о", "е", "ы", "и", "у", "ю", "ь"),
}  # fmt: skip


def stem_light(word: str, language: str) -> str:
    """Remove one inflectional ending of the language; at least four letters stay.

    Args:
        word: Casefolded word, accents already folded.
        language: Key such as ``"de"``; an unknown one leaves the word alone.
    """
    for suffix in _LIGHT_SUFFIXES.get(language, ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= _LIGHT_KEEP:
            return word[: -len(suffix)]
    return word
