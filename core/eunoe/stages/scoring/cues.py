"""Cues in a text: does it ask, of which type, and does it point back at what was said before?"""

from __future__ import annotations

import re

CUE_RECALL = 1
CUE_HISTORY = 2
CUE_ANAPHOR = 4
CUE_ORDER = 8
CUE_SUMMARY = 16
CUE_ASSISTANT = 32
CUE_STANDING = 64
CUE_FOLLOW_UP = 128
CUE_WANTS = 256

_CUE_CHARACTERS = 4_000

_CUE_RECALL_PATTERN = re.compile(
    r"\b(?:remember|recall|remind(?:ed|s)?|earlier|previously|before that|last time|"
    r"(?:as|like) (?:i|we|you) (?:said|mentioned|discussed|told)|"
    r"(?:did|have|had) (?:i|we|you) (?:\w+ )?(?:ever|mention|say|said|tell|told|discuss|talk|ask|"
    r"agree|decide|suggest|recommend|provide|give|gave|share|work|integrate)\w*|"
    r"(?:i|we|you|you've|we've|i've) (?:\w+ )?(?:mentioned|discussed|talked about|said|"
    r"told (?:you|me)|agreed|decided|settled on|went over|brought up|suggested|recommended|shared)|"
    r"(?:our|across|throughout) (?:\w+ ){0,2}(?:conversations?|chats?|discussions?|sessions?"
    r"|requests|messages)|so far|over time|"
    r"(?:first|original) (?:question|message|request)|"
    r"erinner\w*|vorhin|früher|letztes mal|rappel\w*|souviens|plus tôt|la dernière fois|"
    r"recuerd\w*|la última vez|anterior\w*|lembr\w*|da última vez|ricord\w*|l'ultima volta|"
    r"herinner\w*|vorige keer|daarnet|zonet|minns du|tidigare|förra gången|husker du|tidligere|"
    r"sidste gang|pamięta(?:sz|cie)|przypomnij\w*|wcześniej|poprzedni\w*|ostatnim razem|"
    r"pamatuješ|připomeň|dříve|minule|muistatko|aiemmin|viimeksi|emlékszel|korábban|múltkor|"
    r"hatırl[ıa]\w*|daha önce|geçen sefer|demin|lần trước|trước đây|hồi nãy|nhớ không|"
    r"ingat|sebelumnya|terakhir kali|θυμάσαι|νωρίτερα|προηγουμένως)\b"
    r"|之前|上次|刚才|剛才|先前|以前|还记得|還記得|记得吗|前回|さっき|先ほど|覚えて|이전|지난번|아까|기억|"
    r"помни\w*|раньше|ранее|прошлый раз|напомни|пам'ята\w*|раніше|минулого разу|нагадай"
    r"|سابقا|تذكر|ذكّ?رني|من قبل|المرة الماضية|זוכר|תזכיר|קודם|पहले|याद|ก่อนหน้า|จำได้|เมื่อกี้",
    re.IGNORECASE,
)
_CUE_HISTORY_PATTERN = re.compile(
    r"\b(?:used to|originally|at first|initially|previous\w*|former\w*|earlier|old|chang\w*|"
    r"history|evolv\w*|over time)\b|原来|最初|以前|之前|сначала|раньше",
    re.IGNORECASE,
)
_CUE_ORDER_PATTERN = re.compile(
    r"\b(?:in (?:what |which )?order|the order|sequence|chronolog\w*|timeline|walk me through)\b"
    r"|顺序|時系列|順番",
    re.IGNORECASE,
)
_CUE_SUMMARY_PATTERN = re.compile(
    r"\b(?:summar\w+|overview|recap|progress\w*|comprehensive|zusammenfass\w*|resum\w*|riassu\w*)\b"
    r"|总结|總結|摘要|要約|요약|итог\w*",
    re.IGNORECASE,
)
_CUE_ASSISTANT_PATTERN = re.compile(
    r"\b(?:(?:did|have|had) you|you (?:said|told|mentioned|suggested|recommended|gave|wrote"
    r"|explained|listed|provided|proposed|showed)|your (?:answer|suggestion"
    r"|recommendation|advice|list|reply"
    r"|explanation|example)s?"
    r"|(?:hast|hattest) du|(?:haben|hatten) (?-i:Sie)|(?:du|(?-i:Sie)) (?:mir |uns )?(?:\w+ ){0,4}?"
    r"(?:gesagt|genannt|erwähnt|empfohlen|geraten|vorgeschlagen|gegeben|geschrieben|erklärt"
    r"|gezeigt|aufgelistet) (?:hast|hattest|haben|hatten)"
    r"|(?:sagtest|nanntest|empfahlst|meintest|schriebst|gabst) du"
    r"|(?:dein\w*|(?-i:Ihr)\w*) (?:antwort|vorschl[aä]g|empfehlung|rat\b|tipp|liste|erklärung"
    r"|beispiel)\w*"
    r"|(?:as|avais)[- ]tu|(?:avez|aviez)[- ]vous"
    r"|(?:tu|vous) (?:m'|nous )?(?:as|avais|avez|aviez) (?:dit|donné|cité|suggéré|recommandé"
    r"|conseillé|proposé|écrit|expliqué|montré)"
    r"|(?:ta|tes|votre|vos|ton) (?:réponse|suggestion|recommandation|conseil|liste|explication"
    r"|exemple)s?"
    r"|(?:dijiste|mencionaste|sugeriste|recomendaste|aconsejaste|propusiste|escribiste"
    r"|explicaste|mostraste|nos diste|me diste)|has (?:dicho|sugerido|recomendado|aconsejado"
    r"|propuesto|escrito|explicado|mostrado)"
    r"|tus? (?:respuesta|sugerencia|recomendaci[oó]n|consejo|lista|explicaci[oó]n|ejemplo)\w*"
    r"|você (?:me |nos )?(?:disse|mencionou|sugeriu|recomendou|deu|propôs|escreveu|explicou"
    r"|mostrou)|(?:tua|sua)s? (?:resposta|sugest|recomenda|lista|explica)\w*"
    r"|hai (?:detto|menzionato|suggerito|consigliato|raccomandato|dato|proposto|scritto|spiegato"
    r"|mostrato)|tu[aoe]i? (?:rispost|suggeriment|consigli|list|spiegazion|esempi)\w*"
    r"|(?:ты|вы) (?:\w+ ){0,2}?(?:сказал|говорил|упомянул|упоминал|предложил|посоветовал"
    r"|советовал|рекомендовал|порекомендовал|дал|написал|объяснил|показал|назвал|перечислил)\w*"
    r"|(?:heb|had) je (?:me |mij |ons )?(?:\w+ ){0,4}?(?:gezegd|genoemd|aangeraden|aanbevolen"
    r"|voorgesteld|gegeven|geschreven|uitgelegd|getoond)|had aangeraden"
    r"|(?:rekommenderade|föreslog|sa|sade|nämnde|gav|skrev|anbefalede|foreslog|sagde) du"
    r"|du (?:rekommenderade|föreslog|sa|sade|nämnde|gav|skrev|anbefalede|foreslog|sagde)"
    r"|(?:polec|zaproponow|poradz|radz|wspomn|poda|napisa|powiedz)\w*(?:łeś|łaś)"
    r"|(?:doporuč|navrh|poradi|zmíni|řek|da)\w*la? jsi|jsi (?:mi )?(?:\w+ )?(?:doporuč|navrh)\w*"
    r"|(?:suosittelit|ehdotit|sanoit|mainitsit|annoit|kirjoitit)|(?:ajánlottál|javasoltál|mondtál)"
    r"|(?:öner|söyle|tavsiye et|ver|yaz|bahset|anlat)\w*(?:din|dın|tin|tın|din mi|diğin|dığın)"
    r"|bạn (?:đã |vừa )?(?:gợi ý|đề xuất|giới thiệu|khuyên|nói|kể|đưa)"
    r"|(?:ти|ви) (?:\w+ ){0,2}?(?:сказа|казав|порад|радив|запропон|згад|написа|поясни|дав|назва)\w*"
    r"|(?:тво|ваш)\w* (?:ответ|совет|предложени|рекомендаци|спис|объяснени)\w*)\b"
    r"|[你您](?:之前|以前|刚才|剛才|刚刚|上次|先前|当时|曾).{0,6}?(?:说|說|推荐|推薦|建议|建議|提|告诉|告訴|给|給|写|寫|列)"
    r"|[你您](?:给|給|跟|向)?我?们?(?:说|說|推荐|推薦|建议|建議|提到|提|告诉|告訴|列出|写|寫)[过過的了]"
    r"|(?:言って|教えて|勧めて|すすめて|薦めて|提案して|挙げて|書いて)(?:くれた|くださった|下さった|いただいた)"
    r"|نصحتني|نصحتنا|اقترحت|أوصيتني?|قلت لي|ذكرت لي|أعطيتني|המלצת|הצעת|אמרת|נתת לי|כתבת"
    r"|(?:आपने|तुमने).{0,30}(?:सुझा|बताया|बताई|कहा|दिया|सलाह)|คุณ(?:เคย)?(?:แนะนำ|บอก|เสนอ|เขียน)"
    r"|(?:추천|제안|설명|말)해 ?(?:줬|주었|주셨|준)|알려 ?(?:줬|주었|주셨|준)",
    re.IGNORECASE,
)
_CUE_STANDING_PATTERN = re.compile(
    r"(?:^|[.!?]\s*+|\n[^\S\n]*+)(?:please )?(?:always|never|from now on|remember (?:to|that))\b"
    r"|\bi (?:would |really |always )?prefer\b|\bi'd (?:rather|prefer)\b",
    re.IGNORECASE,
)
_CUE_FOLLOW_UP_PATTERN = re.compile(
    r"\A\s*(?:(?:hm+|ok(?:ay)?|so|and|also|but|then|thanks|thank you|sure|yes|yeah|yep|no|great"
    r"|alright|right|cool|wait|well|perfect|awesome|nice|got it|good|sounds good|danke|merci"
    r"|gracias|obrigad[oa]|grazie|спасибо|ja|oui|da|да|нет)\b|好的|谢谢|謝謝|那|はい|ありがとう|네)",
    re.IGNORECASE,
)
_CUE_WANTS_PATTERN = re.compile(
    # "Tell me the port", "list what we agreed", not "show me how to" or "give me an example"
    r"(?:\A|[.!?;:,]\s*+|\n[^\S\n]*+|\b(?:please|now|then|and|just|can you|could you) )"
    r"(?:tell|show|give|send|read|list|repeat|quote|name|find|look up|fetch|print|state|spell)"
    r"(?: (?:me|us|him|her|them|out|again|up|back)){0,2} "
    r"(?:the|that|those|my|our|his|her|their|all|everything|what|which|when|where|who|whose) "
    # "the column that you prepared", "the file we sent"
    r"|\b(?:the|that|those|this|my|our|your) (?:[\w'-]+ ){1,4}(?:(?:that|which|who) )?"
    r"(?:i|we|you|they|he|she)(?:'d|'ve| had| have)? (?:\w+ed|set|made|wrote|built|gave|chose|sent"
    r"|put|took|kept|drew|left|found|bought|got|said|told|did|ran|saw|spoke)\b"
    # "she asks which form", "wants to know when"
    r"|\b(?:ask(?:s|ed|ing)?|wonder(?:s|ed|ing)?|wants? to know|needs? to know|forgot(?:ten)?"
    r"|find out|confirm) (?:\w+ ){0,3}(?:which|what|when|where|who|whom|whose|whether|how (?:much"
    r"|many|long|often))\b"
    r"|\b(?:hours|days|weeks|months|ages|a while|long) (?:ago|back)\b"
    r"|\b(?:sag|sage|nenn|nenne|zeig|zeige|gib|schick|lies) (?:mir|uns) (?:den|die|das|dem|alle|was"
    r"|welche\w*|wann|wo|wer|wie viele?|unsere?\w*|meine?\w*)\b"
    r"|\b(?:fragt|fragte|wissen) ?,? (?:welche\w*|was|wann|wo|wer|wem|ob|wie viele?)\b"
    r"|\b(?:den|die|das|der|dem) [\w-]+,? (?:den|die|das|der|dem) (?:ich|wir|du|sie|ihr|er)\b"
    r"|\bvor (?:\w+ )?(?:stunden|tagen|wochen|monaten)\b"
    r"|\b(?:dime|d[ií]game|mu[eé]strame|dame|recu[eé]rdame|l[eé]eme) (?:el|la|los|las|lo|mi|qu[eé]"
    r"|cu[aá]l\w*|cu[aá]ndo|d[oó]nde|qui[eé]n\w*|todo\w*)\b"
    r"|\bpregunta (?:qu[eé]|cu[aá]l\w*|cu[aá]ndo|d[oó]nde|qui[eé]n|cu[aá]nt\w+)\b"
    r"|\bque (?:\w+(?:amos|imos|aste|iste)|pusimos|hicimos|dijimos|hiciste|dijiste)\b"
    r"|\bhace (?:\w+ )?(?:horas|d[ií]as|semanas|meses)\b"
    r"|\b(?:dis|donne|montre|rappelle|lis)[- ]moi (?:le|la|les|l'|mon|ma|mes|ce|quel\w*|quand|où)"
    r"|\b(?:le|la|les) [\w-]+ que (?:nous avons|tu as|j'ai|vous avez|on a)\b"
    r"|\b(?:скажи|покажи|назови|перечисли|подскажи|дай)(?:те)? (?:мне )?\w+"
    r"|\A\W*(?:podaj|powiedz|pokaż|wymień|přečti|řekni|ukaž|skaż|söyle|göster|listele|kerro|näytä"
    r"|berätta|säg|fortæl|zeg|geef|toon|noem|diz|diga|mostra|dimmi|mostrami|elencami|ricordami"
    r"|mondd|mutasd|beri ?tahu|tunjukkan|cho (?:tôi|mình|tớ|em|anh|chị) (?:biết|xem)"
    r"|nhắc (?:tôi|mình)|πες μου|δείξε μου|розкажи|назви|покажи|скажи|أخبرني|اذكر لي|أعطني|قل لي"
    r"|תגיד|תגידי|תראה לי|תן לי|बताओ|बताइए|बताएं)\b"
    r"|\b(?:söyle|göster|söyler misin|hatırlat|yaz)\W*\Z|(?:बताओ|बताइए|बताएं|दिखाओ)\W*\Z"
    r"|\A\W*(?:บอก|ขอดู|ขอทราบ)|告诉我|告訴我|列出|念给我|提醒我|问.{0,6}(?:哪|什么|谁|几|多少|是否)"
    r"|教えて|見せて|알려|보여 ?[주줘]",
    re.IGNORECASE,
)
_CUE_PATTERNS = (
    (CUE_RECALL, _CUE_RECALL_PATTERN),
    (CUE_HISTORY, _CUE_HISTORY_PATTERN),
    (CUE_ORDER, _CUE_ORDER_PATTERN),
    (CUE_SUMMARY, _CUE_SUMMARY_PATTERN),
    (CUE_ASSISTANT, _CUE_ASSISTANT_PATTERN),
    (CUE_STANDING, _CUE_STANDING_PATTERN),
    (CUE_FOLLOW_UP, _CUE_FOLLOW_UP_PATTERN),
    (CUE_WANTS, _CUE_WANTS_PATTERN),
)
_CUE_JOINED = re.compile(r"\b(?:and|both|or|und|oder|et|ou|y|e|и)\b|&|和|と", re.IGNORECASE)
_CUE_KINDS = (
    ("when", re.compile(
        r"\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long ago|"
        r"wann|quand|cuando|cuándo|quando|wanneer|kiedy|kdy|milloin|mikor|ne zaman|kaçta|när"
        r"|hvornår|khi nào|bao giờ|πότε|коли|kapan)\b"
        r"|什么时候|何时|什麼時候|いつ|언제|когда|متى|מתי|कब|เมื่อไ", re.IGNORECASE)),
    ("how_many", re.compile(
        r"\b(?:how (?:many|much|long|often|old|far|big|tall)|what (?:is|was|are) the "
        r"(?:\w+ ){0,4}?(?:number|amount|total|average|count|price|cost|score|rate|percentage|age)|"
        r"wie ?viele?|combien|cu[aá]nt[oa]s?|quant[oia]s?|quante|hoeveel|ile|kolik|paljonko|montako"
        r"|kaç|hur (?:många|mycket)|hvor (?:mange|meget)|bao nhiêu|mấy|πόσ\w+|скільки|berapa)\b"
        r"|多少|几个|幾|いくつ|いくら|몇|сколько|كم|כמה|कितन", re.IGNORECASE)),
    ("who", re.compile(
        r"\b(?:who|whom|whose|wer|wen|wem|qui|qui[eé]n|quem|chi|kto|komu|kdo|kuka|kenen|vem|hvem"
        r"|хто|ποι[οό]ς|siapa)\b"
        r"|谁|誰|누구|кто|कौन", re.IGNORECASE)),
    ("where", re.compile(
        r"\b(?:where|what (?:city|country|town|place|state)|"
        r"which (?:cit|countr|town|place|state)\w*|wo|wohin|d[oó]nde|où|onde|dove|waar|gdzie|dokąd"
        r"|kde|missä|mistä|mihin|nere\w+|hvor|ở đâu|πού|де|куди|di ?mana)\b"
        r"|哪里|哪裡|どこ|어디|где|куда|أين|איפה|कहाँ", re.IGNORECASE)),
)  # fmt: skip


def find_cues(asked: str) -> int:
    """Combination of the ``CUE_*`` bits (all but CUE_ANAPHOR) of a question."""
    cues = 0
    for bit, pattern in _CUE_PATTERNS:
        if pattern.search(asked):
            cues |= bit
    return cues


def is_standing(body: str) -> bool:
    """Whether a text sets a rule or names a preference ("always ...", "I prefer ...")."""
    return _CUE_STANDING_PATTERN.search(body, 0, _CUE_CHARACTERS) is not None


def names_one_first(asked: str) -> bool:
    """Whether two names in a question are not joined ("A and B", "both"): the first is subject."""
    return _CUE_JOINED.search(asked) is None


def question_type(asked: str) -> str:
    """``when``, ``how_many``, ``who``, ``where`` or ``other``."""
    for kind, pattern in _CUE_KINDS:
        if pattern.search(asked):
            return kind
    return "other"
