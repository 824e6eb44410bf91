"""Questions that leave unsaid what they are about: "When exactly?", "And the port?", "Warum?".

They go on from the question before them, and need what that one needed.
"""

from __future__ import annotations

import re

from eunoe.domain.scripts import GLUED_LETTERS, HAN_KANA_LETTERS, HANGUL_LETTERS
from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.asking import is_led_by_question
from eunoe.stages.scoring.folding import fold_text
from eunoe.stages.scoring.word_splitting import split_words
from eunoe.stages.scoring.word_tables import WORD_STOP_OF

ELLIPTICAL_WORDS = 8
"""Words of such a question at most."""
_ELLIPTICAL_CHARACTERS = 96
ELLIPTICAL_MATTER_WORDS = 3
"""Words of one that is nothing but a matter and a mark, at most."""

# Words that name no matter, beside the stop words of the language.
_ELLIPTICAL_ANY: dict[str, str] = {
    "en": (
        "much many long far old often big exactly precisely exact sure really actually "
        "certain mean again else further one ones tell say give happened then about anything "
        "anyone anywhere come since says take took"
    ),
    "de": (
        "viel viele lange weit alt oft gross genau sicher wirklich echt denn nochmal wieder "
        "sonst noch meinst meinen heisst sag sagen erzahl dazu davon daruber eigentlich "
        "passiert wieso weshalb wieviel wohin woher und mal da war ist das es"
    ),
    "fr": (
        "exactement precisement vraiment sur sure encore dire veut combien alors autre dis "
        "parle en plus"
    ),
    "es": (
        "exactamente precisamente seguro segura verdad otra vez decir quieres cuanto cuanta "
        "cuantos cuantas entonces exacto quienes cuales dime cuentame por"
    ),
    "it": (
        "esattamente precisamente davvero sicuro sicura ancora altro intendi quanto quanta "
        "quanti allora dimmi perche quale quali dove quando chi come"
    ),
    "pt": (
        "exatamente precisamente certeza serio mesmo outra vez dizer quer quanto quanta "
        "quantos entao diga quem onde qual quais por"
    ),
    "nl": (
        "precies zeker echt nog bedoel bedoelt veel lang ver oud vaak hoeveel dan waar "
        "wanneer waarom hoe wie wat welke vertel"
    ),
    "sv": (
        "exakt precis saker verkligen igen mycket manga lange vem vad var nar hur varfor "
        "vilken vilket vilka och det den ar jag du menar beratta da om"
    ),
    "da": (
        "praecist praecis sikker virkelig igen meget mange laenge hvem hvad hvor hvornar "
        "hvordan hvorfor hvilken hvilket hvilke og det den er du mener fortael sa om hva nar "
        "noyaktig"
    ),
    "pl": (
        "dokladnie naprawde pewny pewna pewno jeszcze znaczy kto co gdzie kiedy dlaczego "
        "czemu jak ile czy ktory ktora ktore jaki jaka jakie a i to jest bylo na o tym "
        "powiedz"
    ),
    "cs": (
        "presne opravdu urcite jeste znamena kdo co kde kdy proc jak kolik ktery ktera ktere "
        "jaky a to je bylo o tom rekni"
    ),
    "tr": (
        "tam olarak gercekten emin misin kim ne nerede zaman neden nicin nasil kac hangi peki "
        "bu o ya baska soyle"
    ),
    "ru": (
        "точно именно правда уверен уверена еще сколько зачем почему когда где кто что как "
        "какой какая какое какие а и это было расскажи скажи"
    ),
    "uk": (
        "точно саме справді ще скільки навіщо чому коли де хто що як який яка яке які а і це "
        "було розкажи скажи"
    ),
    "ar": "بالضبط لماذا متي اين كيف كم من ماذا حقا و هو هي ذلك هذا",
    "he": "בדיוק למה מתי איפה איך כמה מי מה באמת זה ו",
}
# Words that wish for more of the matter at hand, with a question mark or without.
_ELLIPTICAL_MORE: dict[str, str] = {
    "en": (
        "more detail details detailed elaborate explain example examples expand clarify specific"
    ),
    "de": (
        "mehr details einzelheiten naher genauer erklar erklare erlautere beispiel ausfuhrlicher"
    ),
    "fr": "details detail explique expliquer exemple precise precisions davantage plus",
    "es": "mas detalles detalle explica explicame ejemplo",
    "it": "piu dettagli dettaglio spiega spiegami esempio",
    "pt": "mais detalhes detalhe explica explique exemplo",
    "nl": "meer details detail uitleg uitleggen voorbeeld",
    "sv": "mer detaljer forklara exempel",
    "da": "mere mer detaljer forklar eksempel",
    "pl": "wiecej szczegoly szczegolow wyjasnij przyklad",
    "cs": "vice podrobnosti vysvetli priklad",
    "tr": "daha fazla ayrinti detay acikla ornek",
    "ru": "больше подробнее подробности объясни поясни пример",
    "uk": "більше докладніше подробиці поясни приклад",
    "ar": "المزيد تفاصيل اشرح مثال",
    "he": "עוד פרטים הסבר דוגמה",
}
_ELLIPTICAL_WISHES = {
    language: frozenset(map(fold_text, words.split()))
    for language, words in _ELLIPTICAL_MORE.items()
}
_ELLIPTICAL_EMPTY = {
    language: frozenset(map(fold_text, words.split()))
    | _ELLIPTICAL_WISHES[language]
    | WORD_STOP_OF.get(language, frozenset())
    for language, words in _ELLIPTICAL_ANY.items()
}
_ELLIPTICAL_SCRIPT = re.compile(
    "(?:那么?|所以|具体|到底|究竟|是)*(?:为什么|為什麼|为何|怎么会?|怎么样|什么时候|什麼時候|何时|几点|几号"
    "|多少钱?|多久|多大|多远|几个|在?哪里?|在?哪儿|谁|誰|什么意思|真的|确定|你?确定|还有|还有别的|然后|具体)"
    "[呢吗嗎么啊的了]*|(?:请|能|可以)?(?:再|更)?(?:详细|具体)(?:一?点|些)?(?:说说|说明|解释|讲讲)?(?:一下|吗)?"
    "|(?:请|能|可以)?(?:解释|举个?例子?|多说)(?:一?点|一下|说明)?吗?"
    "|(?:それ|で|じゃあ)?[はって、]*(?:なぜ|何故|どうして|なんで|いつ|どこ|誰|だれ|いくら|いくつ|何時|本当"
    "|ほんと|具体的に|正確に)(?:ですか|です|ますか|なの|は|に|で|が|か|の)*+"
    "|(?:もっと|もう少し)?(?:詳しく|くわしく|説明して|例を挙げて|例えば)(?:は|教えて|お願い|ください|話して|します|して)*+"
    "|(?:그럼|그건|정확히|대체)?\\s*(?:왜|언제|어디|어디서|누가|누구|얼마|얼마나|몇\\s?시|정말|진짜|확실)"
    "(?:요|예요|이에요|인가요|해요?|입니까|였어요?|야)*+|(?:좀\\s?)?더\\s?(?:자세히|자세하게)?"
    "\\s?(?:말해|설명해|알려)?\\s?(?:줘|주세요|줄래)?(?:요)?|(?:예를\\s?들면|설명해\\s?줘|설명해\\s?주세요)"
    "|ทำไม|เมื่อไ(?:ห)?ร่?|ที่ไหน|ใคร|เท่าไ(?:ห)?ร่?|จริงหรือ|ขอรายละเอียด(?:เพิ่มเติม)?"
)
_ELLIPTICAL_JOINED = re.compile(
    r"\W*(?:and|or|what about|how about|und|oder|was ist mit|wie ist es mit|et|ou|y|e|och|og|ve"
    r"|peki|и|а|та)\b(?![-/&'’]\w)|[\s\W]*(?:那|还有|以及|では|じゃあ|それと|그럼|그리고|แล้ว)",
    re.IGNORECASE,
)
# "The port?", "退房时间呢？": a matter and a mark.
_ELLIPTICAL_MATTER = re.compile(
    rf"[\s\W]*(?:(?:(?![什谁誰哪几怎为])[{HAN_KANA_LETTERS}]){{1,8}}(?:呢|は)"
    rf"|[{HANGUL_LETTERS} ]{{1,12}}[은는]요?)\s*[?？]\s*"
)
_ELLIPTICAL_MARKED = re.compile(rf"[^{GLUED_LETTERS}]*[?؟;]\s*")
_ELLIPTICAL_GREETING = re.compile(
    r"\W*(?:how are (?:you|things)|hello|hi|hey|yes|no|ok|okay|hallo|wie geht'?s?(?: es dir)?|hola"
    r"|qué tal|salut|bonjour|ça va|ciao|come va|ja|nein|oui|sí|sim|da|да|нет|привет|你好吗?|在吗"
    r"|もしもし|안녕)\W*",
    re.IGNORECASE,
)
_ELLIPTICAL_SIGNS = re.compile(r"[\s\W]+\Z|\A[\s\W]+")


def is_elliptical(query: TextAnalysis) -> bool:
    """Whether a short message asks, or wishes for more, and names nothing that it is about.

    All of its words are stop words, question words, or such as go with any matter, of one language.

    Args:
        query: The message; O(its words), and nothing is looked at in a longer one.
    """
    if not _may_leave_unsaid(query):
        return False
    words = {fold_text(word) for word in split_words(query.body)}
    for language, empty in _ELLIPTICAL_EMPTY.items():
        if words <= empty:
            return query.asks or not words.isdisjoint(_ELLIPTICAL_WISHES[language])
    return _ELLIPTICAL_SCRIPT.fullmatch(_ELLIPTICAL_SIGNS.sub("", query.body)) is not None


def goes_on(query: TextAnalysis) -> bool:
    """Whether a short question adds a matter to the one before it: "And in Porto?", "The port?".

    Args:
        query: The message; nothing is looked at in a longer one.
    """
    if not _may_leave_unsaid(query) or not query.asks:
        return False
    body = query.body
    if _ELLIPTICAL_JOINED.match(body) or _ELLIPTICAL_MATTER.fullmatch(body):
        return True
    if query.words > ELLIPTICAL_MATTER_WORDS or not _ELLIPTICAL_MARKED.fullmatch(body):
        return False
    return not is_led_by_question([fold_text(word) for word in split_words(body)])


def _may_leave_unsaid(query: TextAnalysis) -> bool:
    """Whether a message is short enough to leave something unsaid, and no greeting."""
    short = 0 < query.words <= ELLIPTICAL_WORDS and len(query.body) <= _ELLIPTICAL_CHARACTERS
    return short and _ELLIPTICAL_GREETING.fullmatch(query.body) is None
