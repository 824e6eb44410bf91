"""Word lists: stop words, months, words of time, person and place, by language."""

from __future__ import annotations

from eunoe.stages.scoring.folding import fold_text

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
MARK_DIGIT = 4096
MARK_DATED = 8192

WORD_STOPS: dict[str, str] = {
    "en": (
        "a an the and or but if then of to in on at for with from by as is are was were be "
        "been being am do does did doing done have has had having i you he she it we they me "
        "him her us them my your his its our their mine yours hers ours theirs this that "
        "these those there here what which who whom whose when where why how not no nor so "
        "than too very can could will would shall should may might must just about into over "
        "under again also s t m re ve ll d don doesn didn isn wasn aren won wouldn couldn "
        "shouldn im ive youre dont didnt please some any all both each such while during "
        "because until up down out off through between more most other own same only myself "
        "yourself himself herself itself ourselves themselves let lets us ever yet still "
        "let's i'm i've i'll i'd you're you've it's that's don't didn't doesn't can't won't "
        "isn't wasn't"
    ),
    "de": (
        "der die das den dem des ein eine einen einem einer eines und oder aber wenn dann von "
        "zu im in an am auf fur mit aus bei als ist sind war waren sein bin bist hat habe "
        "haben hatte wird werden wurde ich du er sie es wir ihr mich dich ihn uns euch mir "
        "dir ihm mein dein sein unser was welche welcher welches wer wem wen wann wo warum "
        "wie nicht kein keine auch noch nur so dass daß uber unter nach vor zum zur um durch "
        "schon sehr kann konnen mein meine meinen meiner bitte haben ihre ihren seine seinen"
    ),
    "fr": (
        "le la les un une des du de et ou mais si donc dans en au aux a pour par avec sur "
        "sous est sont etait etaient etre suis es ai as avons avez ont avait je tu il elle on "
        "nous vous ils elles me te se moi toi lui leur mon ton son ma ta sa mes tes ses notre "
        "votre nos vos leurs ce cet cette ces que qui quoi quel quelle quels quelles quand ou "
        "pourquoi comment ne pas plus aussi tres y qu c d l j n m t s est-ce cela ca"
    ),
    "es": (
        "el la los las un una unos unas y o pero si de del al a en con por para sin sobre es "
        "son era eran ser soy eres fue he has ha hemos han habia yo tu el ella nosotros "
        "vosotros ellos ellas me te se le les nos lo mi mis tus su sus nuestro nuestra que "
        "quien cual cuales cuando donde porque como no ni tambien muy mas ya este esta estos "
        "estas ese esa eso esto hay"
    ),
    "pt": (
        "o a os as um uma uns umas e ou mas se de do da dos das em no na nos nas ao aos por "
        "para com sem sobre foi sao era eram ser sou estou esta eu tu ele ela nos vos eles "
        "elas me te lhe lhes meu minha meus minhas seu sua seus suas que quem qual quais "
        "quando onde porque como nao nem tambem muito mais ja este isto isso voce tem ha"
    ),
    "it": (
        "il lo la i gli le un uno una e o ma se di del della dei degli delle da dal in nel "
        "nella con per su sul tra fra sono era erano essere sei siamo ho hai ha abbiamo hanno "
        "io tu lui lei noi voi loro mi ti si ci vi mio mia miei mie tuo tua suo sua nostro "
        "che chi quale quali quando dove perche come non anche molto piu gia questo questa "
        "questi queste quello al alla"
    ),
    "nl": (
        "de het een en of maar als dan van te in op aan voor met uit bij is zijn was waren "
        "ben heb hebt heeft had ik jij je hij zij ze wij we jullie mij hem haar ons mijn jouw "
        "ons wat welke wie wanneer waar waarom hoe niet geen ook nog dat die dit deze er"
    ),
    "ru": (
        "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по "
        "только ее мне было вот от меня еще нет о из ему теперь когда даже ну ли если уже или "
        "ни быть был него до вас мы их чем была сам себя где есть надо ней для тебя мой моя "
        "мои мое твой это этот эта эти кто какой какая какие почему который при об"
    ),
    "ar": (
        "في من على إلى الى عن مع هذا هذه ذلك التي الذي ما ماذا متى أين كيف هل لماذا و أو ثم "
        "لا لم لن كان كانت هو هي أنا انا أنت نحن هم أن إن قد كل"
    ),
    "he": (
        "של את על אל עם זה זו אני אתה את הוא היא אנחנו הם מה מי מתי איפה למה איך לא כן גם או "
        "אם כי היה הייתה יש אין"
    ),
    "hi": (
        "का के की को में से पर है हैं था थे थी और या यह वह मैं हम तुम आप ने क्या कब कहाँ कैसे "
        "क्यों भी नहीं हो कर एक इस उस मेरा मेरी मेरे"
    ),
}
WORD_TIME = frozenset(
    "yesterday today tonight tomorrow ago last next week weekend month year day night morning "
    "afternoon evening recently soon since until monday tuesday wednesday thursday friday saturday "
    "sunday weeks months years days hours minutes earlier later past upcoming spring summer autumn "
    "fall winter deadline date gestern heute morgen woche monat jahr tag hier aujourd'hui demain "
    "semaine mois annee jour ayer hoy manana semana mes ano dia ontem hoje ieri oggi domani "
    "settimana mese anno вчера сегодня завтра неделю месяц год день".split()
)
# January to December, parted by bars.
_WORD_MONTH_NAMES = """
january jan januar janvier enero janeiro gennaio января январь januari ocak stycznia styczen
styczniu ledna leden січня січень tammikuu tammikuuta tammikuussa يناير ינואר जनवरी |
february feb februar fevrier febrero fevereiro febbraio февраля февраль februari subat
lutego luty lutym unora лютого лютий helmikuu helmikuuta helmikuussa فبراير פברואר फरवरी |
march mar marz mars marzo marco марта март maart mart marca marzec marcu brezna березня
березень maaliskuu maaliskuuta maaliskuussa maret مارس מרץ मार्च |
april apr avril abril aprile апреля апрель nisan kwietnia kwiecien kwietniu dubna квітня
квітень huhtikuu huhtikuuta huhtikuussa ابريل אפריל अप्रैल |
may mai mayo maio maggio мая май mei mayis maja maj maju kvetna травня травень toukokuu
toukokuuta toukokuussa مايو מאי मई |
june jun juni juin junio junho giugno июня июнь haziran czerwca czerwiec czerwcu cervna
червня червень kesakuu kesakuuta kesakuussa يونيو יוני जून |
july jul juli juillet julio julho luglio июля июль temmuz lipca lipiec lipcu cervence липня
липень heinakuu heinakuuta heinakuussa يوليو יולי जुलाई |
august aug aout agosto августа август augusti augustus agustos sierpnia sierpien sierpniu
srpna серпня серпень elokuu elokuuta elokuussa agustus اغسطس אוגוסט अगस्त |
september sep sept septembre septiembre setembro settembre сентября сентябрь eylul wrzesnia
wrzesien wrzesniu zari вересня вересень syyskuu syyskuuta syyskuussa سبتمبر ספטמבר सितंबर |
october oct oktober octobre octubre outubro ottobre октября октябрь ekim pazdziernika
pazdziernik pazdzierniku rijna жовтня жовтень lokakuu lokakuuta lokakuussa اكتوبر אוקטובר
अक्टूबर |
november nov novembre noviembre novembro ноября ноябрь kasim listopada listopad listopadzie
листопада листопад marraskuu marraskuuta marraskuussa نوفمبر נובמבר नवंबर |
december dec dezember decembre diciembre dezembro dicembre декабря декабрь aralik grudnia
grudzien grudniu prosince грудня грудень joulukuu joulukuuta joulukuussa desember ديسمبر
דצמבר दिसंबर
"""
WORD_MONTHS = {
    name: number
    for number, names in enumerate(_WORD_MONTH_NAMES.split("|"), start=1)
    for name in names.split()
}
WORD_NUMERALS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty "
    "hundred thousand million once twice couple several dozen".split()
)
WORD_FIRST = frozenset(
    "i my me mine myself we our us i'm i've i'll i'd im ive ich mein meine mir mich wir je mon ma "
    "mes moi nous yo mi mis eu meu minha io mio mia я мой моя мне меня".split()
)
WORD_SECOND = frozenset(
    "you your yours du dein deine tu ton votre vous usted su voce seu вы ты ваш твой".split()
)
WORD_ANAPHORS = frozenset(
    "it that this them those these they he she him her its their such former latter "
    "das dies es sie ce cela ca celui eso esto ese isso isto questo quello это этот эта эти "
    "он она оно они его ее их им ней нем elle elles ils lui leur ella ellos ellas ele ela eles "
    "elas loro er ihn ihm hij zij ze ona oni jego jej nich він вона воно вони його її onu bunu "
    "هو هي ذلك هذا هذه הוא היא זה זאת".split()
)
WORD_PLACES = frozenset("at in from near city country town street home place visited".split())
WORD_QUESTIONS = frozenset(
    "what which who whom whose when where why how was wer wann wo warum wie welche que quoi quel "
    "quelle quand pourquoi comment quien cual cuando donde quem qual onde chi quale dove perche "
    "что кто когда где почему как какой".split()
)
WORD_STANDING = frozenset("always never from remember prefer rather please".split())
WORD_STOP_OF: dict[str, frozenset[str]] = {
    language: frozenset(map(fold_text, words.split())) for language, words in WORD_STOPS.items()
}
WORD_ANY_STOP = frozenset().union(*(WORD_STOP_OF[k] for k in ("en", "ru", "ar", "he", "hi")))
WORD_LANGUAGES = ("de", "fr", "es", "pt", "it", "nl")
