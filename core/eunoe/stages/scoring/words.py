"""From text to index terms, for any script.

A word is looked up once in a memo and then costs one dictionary access. Latin words are folded
(NFKC, casefold, accents) and stemmed; identifiers, paths, addresses and dotted names give the whole
and their parts; scripts without spaces give n-grams; stop words give no term, only a mark.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from eunoe.stages.scoring.stemming import stem_english, stem_light

# Marks of a word, combined by `|` over a text.
MARK_NUMBER = 1
MARK_TIME = 2
MARK_MONTH = 4
MARK_CAPITAL = 8
MARK_FIRST_PERSON = 16
MARK_SECOND_PERSON = 32
MARK_ANAPHOR = 64
MARK_IDENTIFIER = 128
MARK_STOP = 256
MARK_PLACE = 512
MARK_QUESTION_WORD = 1024
MARK_STANDING = 2048

_WORD_STOPS: dict[str, str] = {
    "en": "a an the and or but if then of to in on at for with from by as is are was were be been "
    "being am do does did doing done have has had having i you he she it we they me him her us them "
    "my your his its our their mine yours hers ours theirs this that these those there here what "
    "which who whom whose when where why how not no nor so than too very can could will would shall "
    "should may might must just about into over under again also s t m re ve ll d don doesn didn isn "
    "wasn aren won wouldn couldn shouldn im ive id youre dont didnt please some any all both each "
    "such while during because until up down out off through between more most other own same only "
    "myself yourself himself herself itself ourselves themselves let lets us ever yet still let's "
    "i'm i've i'll i'd you're you've it's that's don't didn't doesn't can't won't isn't wasn't",
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber wenn dann von zu "
    "im in an am auf fur mit aus bei als ist sind war waren sein bin bist hat habe haben hatte wird "
    "werden wurde ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm mein dein sein unser "
    "was welche welcher welches wer wem wen wann wo warum wie nicht kein keine auch noch nur so "
    "dass daß uber unter nach vor zum zur um durch schon sehr kann konnen mein meine meinen meiner "
    "bitte haben ihre ihren seine seinen",
    "fr": "le la les un une des du de et ou mais si donc dans en au aux a pour par avec sur sous est "
    "sont etait etaient etre suis es ai as avons avez ont avait je tu il elle on nous vous ils elles "
    "me te se moi toi lui leur mon ton son ma ta sa mes tes ses notre votre nos vos leurs ce cet cette "
    "ces que qui quoi quel quelle quels quelles quand ou pourquoi comment ne pas plus aussi tres y "
    "qu c d l j n m t s est-ce cela ca",
    "es": "el la los las un una unos unas y o pero si de del al a en con por para sin sobre es son era "
    "eran ser soy eres fue he has ha hemos han habia yo tu el ella nosotros vosotros ellos ellas me te "
    "se le les nos lo mi mis tus su sus nuestro nuestra que quien cual cuales cuando donde porque como "
    "no ni tambien muy mas ya este esta estos estas ese esa eso esto hay",
    "pt": "o a os as um uma uns umas e ou mas se de do da dos das em no na nos nas ao aos por para com "
    "sem sobre foi sao era eram ser sou estou esta eu tu ele ela nos vos eles elas me te lhe lhes meu "
    "minha meus minhas seu sua seus suas que quem qual quais quando onde porque como nao nem tambem "
    "muito mais ja este isto isso voce tem ha",
    "it": "il lo la i gli le un uno una e o ma se di del della dei degli delle da dal in nel nella con "
    "per su sul tra fra sono era erano essere sei siamo ho hai ha abbiamo hanno io tu lui lei noi voi "
    "loro mi ti si ci vi mio mia miei mie tuo tua suo sua nostro che chi quale quali quando dove "
    "perche come non anche molto piu gia questo questa questi queste quello al alla",
    "nl": "de het een en of maar als dan van te in op aan voor met uit bij is zijn was waren ben heb "
    "hebt heeft had ik jij je hij zij ze wij we jullie mij hem haar ons mijn jouw ons wat welke wie "
    "wanneer waar waarom hoe niet geen ook nog dat die dit deze er",
    "ru": "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее "
    "мне было вот от меня еще нет о из ему теперь когда даже ну ли если уже или ни быть был него до вас "
    "мы их чем была сам себя где есть надо ней для тебя мой моя мои мое твой это этот эта эти кто какой "
    "какая какие почему который при об",
    "ar": "في من على إلى الى عن مع هذا هذه ذلك التي الذي ما ماذا متى أين كيف هل لماذا و أو ثم لا لم "
    "لن كان كانت هو هي أنا انا أنت نحن هم أن إن قد كل",
    "he": "של את על אל עם זה זו אני אתה את הוא היא אנחנו הם מה מי מתי איפה למה איך לא כן גם או אם כי "
    "היה הייתה יש אין",
    "hi": "का के की को में से पर है हैं था थे थी और या यह वह मैं हम तुम आप ने क्या कब कहाँ कैसे क्यों भी नहीं हो "
    "कर एक इस उस मेरा मेरी मेरे",
}  # fmt: skip
_WORD_TIME = frozenset(
    "yesterday today tonight tomorrow ago last next week weekend month year day night morning "
    "afternoon evening recently soon since until monday tuesday wednesday thursday friday saturday "
    "sunday weeks months years days hours minutes earlier later past upcoming spring summer autumn "
    "fall winter deadline date gestern heute morgen woche monat jahr tag hier aujourd'hui demain "
    "semaine mois annee jour ayer hoy manana semana mes ano dia ontem hoje ieri oggi domani "
    "settimana mese anno вчера сегодня завтра неделю месяц год день".split()
)
_WORD_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero janeiro gennaio января январь",
            "february feb februar fevrier febrero fevereiro febbraio февраля февраль",
            "march mar marz mars marzo marco марта март",
            "april apr avril abril aprile апреля апрель",
            "may mai mayo maio maggio мая май",
            "june jun juni juin junio junho giugno июня июнь",
            "july jul juli juillet julio julho luglio июля июль",
            "august aug aout agosto августа август",
            "september sep sept septembre septiembre setembro settembre сентября сентябрь",
            "october oct oktober octobre octubre outubro ottobre октября октябрь",
            "november nov novembre noviembre novembro ноября ноябрь",
            "december dec dezember decembre diciembre dezembro dicembre декабря декабрь",
        ),
        start=1,
    )
    for name in names.split()
}
_WORD_NUMERALS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty "
    "hundred thousand million once twice couple several dozen".split()
)
_WORD_FIRST = frozenset(
    "i my me mine myself we our us i'm i've i'll i'd im ive ich mein meine mir mich wir je mon ma "
    "mes moi nous yo mi mis eu meu minha io mio mia я мой моя мне меня".split()
)
_WORD_SECOND = frozenset(
    "you your yours du dein deine tu ton votre vous usted su voce seu вы ты ваш твой".split()
)
_WORD_ANAPHORS = frozenset(
    "it that this them those these they he she him her its their such former latter "
    "das dies es sie ce cela ca celui eso esto ese isso isto questo quello это этот эта эти".split()
)
_WORD_PLACES = frozenset("at in from near city country town street home place visited".split())
_WORD_QUESTIONS = frozenset(
    "what which who whom whose when where why how was wer wann wo warum wie welche que quoi quel "
    "quelle quand pourquoi comment quien cual cuando donde quem qual onde chi quale dove perche "
    "что кто когда где почему как какой".split()
)
_WORD_STANDING = frozenset("always never from remember prefer rather please".split())
_WORD_STOP_OF: dict[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _WORD_STOPS.items()
}
_WORD_ANY_STOP = frozenset().union(*(_WORD_STOP_OF[k] for k in ("en", "ru", "ar", "he", "hi")))
_WORD_LANGUAGES = ("de", "fr", "es", "pt", "it", "nl")

# Scripts written without spaces; Hangul has spaces but glued particles.
_WORD_NGRAM_RUN = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
    "|([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々]+)"
    "|([\uac00-\ud7af]+)"
)
_WORD_PATTERN = re.compile(
    "\\w[\\w\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0900-\u097f\u0e30-\u0e4e]*"
    "(?:['’.\\-_/\\\\:@+#&]+\\w[\\w\u0900-\u097f]*)*"
)
_WORD_PARTS = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
_WORD_CAMEL = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_WORD_MEMO_LIMIT = 200_000
_WORD_LONGEST = 80


class WordEntry(NamedTuple):
    """What one written word contributes.

    Attributes:
        terms: Index terms, usually one; none for stop words.
        marks: Combination of the ``MARK_*`` bits.
        month: 1 to 12 for a month name, else 0.
        folded: The word casefolded, without accents.
    """

    terms: tuple[str, ...]
    marks: int
    month: int
    folded: str


_word_memo: dict[str, WordEntry] = {}


def fold_text(text: str) -> str:
    """Fold width, case and accents; marks of Indic and Thai scripts stay."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    kept = "".join(
        c
        for c in decomposed
        if not ("\u0300" <= c <= "\u036f" or "\u0591" <= c <= "\u05c7" or "\u064b" <= c <= "\u065f")
        or c == "\u0306"
    )
    return unicodedata.normalize("NFC", kept)


def _word_ngrams(run: str, smallest: int, largest: int) -> list[str]:
    if len(run) <= smallest:
        return [run]
    return [run[i : i + n] for n in range(smallest, largest + 1) for i in range(len(run) - n + 1)]


def _word_script_terms(folded: str) -> tuple[str, ...]:
    """Terms of a word that holds letters of scripts without spaces (or Hangul)."""
    terms: list[str] = []
    last = 0
    for found in _WORD_NGRAM_RUN.finditer(folded):
        if found.start() > last:
            terms.extend(_word_part_terms(folded[last : found.start()]))
        run = found.group()
        if found.group(2):
            terms.extend(_word_ngrams(run, 1, 2))
        else:
            terms.extend(_word_ngrams(run, 2, 3) if found.group(1) else _word_ngrams(run, 2, 2))
        last = found.end()
    if last < len(folded):
        terms.extend(_word_part_terms(folded[last:]))
    return tuple(terms)


def _word_part_terms(folded: str) -> list[str]:
    out: list[str] = []
    for part in _WORD_PARTS.findall(folded):
        term = _word_simple_term(part)
        if term:
            out.append(term)
    return out


def _word_simple_term(folded: str) -> str:
    """The one term of a plain folded word, or an empty string."""
    if folded in _WORD_ANY_STOP:
        return ""
    if folded.isascii():
        return stem_english(folded) if folded.isalpha() else folded[:_WORD_LONGEST]
    if "\u0400" <= folded[0] <= "\u04ff":
        return stem_light(folded, "ru")
    if "\u0621" <= folded[0] <= "\u064a" and len(folded) > 4 and folded.startswith("ال"):
        return folded[2:]
    if "\u05d0" <= folded[0] <= "\u05ea" and len(folded) > 4 and folded[0] in "הבלומשכ":
        return folded[1:]
    return folded[:_WORD_LONGEST]


def _word_compound(word: str, folded: str) -> tuple[list[str], bool]:
    """Whole and parts of an identifier, path, address, hyphenated or dotted word."""
    parts: list[str] = []
    pieces = [p for p in _WORD_PARTS.findall(word) if p]
    for piece in pieces:
        for sub in _WORD_CAMEL.split(piece):
            term = _word_simple_term(fold_text(sub))
            if term and (len(sub) > 1 or sub.isdigit()):
                parts.append(term)
    whole = folded[:_WORD_LONGEST]
    identifier = not (set(word) & {"'", "’"}) and any(c in "._/\\:@#+&" for c in word)
    hyphen_only = not identifier and "-" in word
    if parts != [whole] and not (hyphen_only and len(parts) < 2):
        parts.append(whole)
    return parts, identifier


def _word_make(word: str) -> WordEntry:
    word = word[: 4 * _WORD_LONGEST]
    folded = fold_text(word)
    if folded.endswith(("'s", "'")):
        folded = folded.rstrip("s").rstrip("'")
    marks = 0
    month = _WORD_MONTHS.get(folded, 0)
    if month:
        marks |= MARK_MONTH | (
            MARK_TIME if len(folded) > 3 and folded not in ("march", "mars") else 0
        )
    for mark, table in (
        (MARK_TIME, _WORD_TIME),
        (MARK_NUMBER, _WORD_NUMERALS),
        (MARK_FIRST_PERSON, _WORD_FIRST),
        (MARK_SECOND_PERSON, _WORD_SECOND),
        (MARK_ANAPHOR, _WORD_ANAPHORS),
        (MARK_PLACE, _WORD_PLACES),
        (MARK_QUESTION_WORD, _WORD_QUESTIONS),
        (MARK_STANDING, _WORD_STANDING),
    ):
        if folded in table:
            marks |= mark
    if any(c.isdigit() for c in folded):
        marks |= MARK_NUMBER
        if re.fullmatch(r"(?:19|20)\d\d", folded):
            marks |= MARK_TIME
    if word[0].isupper():
        marks |= MARK_CAPITAL
    if folded in _WORD_ANY_STOP:
        return WordEntry((), marks | MARK_STOP, month, folded)
    if not folded.isascii() and _WORD_NGRAM_RUN.search(folded):
        return WordEntry(_word_script_terms(folded), marks, month, folded)
    if (
        not word.isalnum()
        or (not word.islower() and not word.isupper() and not word.istitle() and not word.isdigit())
        or (not word.isalpha() and not word.isdigit())
    ):
        if folded.isalpha():
            camel = _WORD_CAMEL.search(word) is not None and "'" not in word and "’" not in word
            if not camel:
                term = _word_simple_term(folded)
                return WordEntry((term,) if term else (), marks, month, folded)
        terms, identifier = _word_compound(word, folded)
        if identifier or _WORD_CAMEL.search(word):
            marks |= MARK_IDENTIFIER
        return WordEntry(tuple(terms), marks, month, folded)
    term = _word_simple_term(folded)
    return WordEntry((term,) if term else (), marks, month, folded)


def look_up_word(word: str) -> WordEntry:
    """Entry of a written word, memoised (the memo is emptied at 200,000 words)."""
    entry = _word_memo.get(word)
    if entry is None:
        entry = _word_make(word)
        if len(word) <= _WORD_LONGEST:
            if len(_word_memo) >= _WORD_MEMO_LIMIT:
                _word_memo.clear()
            _word_memo[word] = entry
    return entry


def split_words(text: str) -> list[str]:
    """Written words in order; identifiers, paths and dotted names stay whole."""
    return _WORD_PATTERN.findall(text)


def guess_language(folded: list[str]) -> str:
    """Language of a list of folded words by its stop words.

    Returns:
        One of ``de fr es pt it nl``, or ``"en"`` when none of them has at least two stop words
        and more than English has.
    """
    words = set(folded)
    best, language = len(words & _WORD_STOP_OF["en"]), "en"
    for candidate in _WORD_LANGUAGES:
        hits = len(words & _WORD_STOP_OF[candidate])
        if hits >= 2 and hits > best:
            best, language = hits, candidate
    return language


def language_terms(folded: list[str], language: str) -> list[str]:
    """Further terms of a text in a language other than English: light stems that differ."""
    stops = _WORD_STOP_OF.get(language)
    if stops is None or language == "en":
        return []
    out: list[str] = []
    for word in folded:
        if word in stops or not word.isascii() or not word.isalpha():
            continue
        stem = stem_light(word, language)
        if stem != stem_english(word):
            out.append(stem)
    return out
