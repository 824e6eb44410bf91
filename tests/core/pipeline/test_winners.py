"""Small chats with a known winner: what must be visible at a budget that holds a few messages.

Two hops, a pronoun, a fact that changed, an arc over three turns, and look-alikes before the fact,
in English, German, Spanish and Chinese.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ask import ask, sent_by
from judge import said
from strategies import assistant, user

POLICIES = ["relevance", "stable"]

SMALL_TALK = {
    "en": ("We watered the tulips on bench {0} and swept the yard.", "Lovely, bench {0} is done."),
    "de": ("Wir haben Beet {0} gegossen und den Hof gefegt.", "Schön, Beet {0} ist fertig."),
    "es": ("Regamos las flores del banco {0} y barrimos el patio.", "Bien, banco {0} terminado."),
    "zh": ("我们浇了第{0}排的郁金香，又扫了院子。", "好，第{0}排完成了。"),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Turns of a user with their answers, a question, and what must and need not be visible.

    ``early`` stands far back with small talk around each turn, ``late`` just before the question.
    """

    language: str
    early: tuple[str, ...]
    question: str
    must: tuple[str, ...]
    late: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    budget: int = 330

    def chat(self):
        said_by_user, answered = SMALL_TALK[self.language]
        messages = [{"role": "system", "content": "be brief"}]

        def talk(start, count):
            for i in range(start, start + count):
                messages.extend([user(said_by_user.format(i)), assistant(answered.format(i))])

        talk(0, 3)
        for k, text in enumerate(self.early):
            answer = self.answers[k] if k < len(self.answers) else "OK."
            messages.extend([user(text), assistant(answer)])
            if not self.answers:
                talk(10 + 3 * k, 2)
        talk(60, 14)
        for text in self.late:
            messages.extend([user(text), assistant("OK.")])
        return [*messages, user(self.question)]


NAMES = (
    "Oskar Paula Tom Vera Nils Mara Hugo Lena Axel Rosa Emil Ida Karl Nora Otto Ruth Sven Tilda "
    "Uwe Wanda Yann Zoe"
).split()
TOWNS = (
    "Bremen Rome Oslo Graz Lyon Split Cork Gent Turin Porto Basel Leeds Malaga Riga Tartu Varna "
    "Brno Cadiz Delft Evora Faro Genoa"
).split()
CHINESE_NAMES = (
    "王强 李娜 赵磊 孙悦 周涛 吴敏 郑凯 冯雪 蒋波 沈丽 韩冰 杨柳 朱江 秦岭 许仙 何静 吕布 张良"
).split()
CHINESE_TOWNS = (
    "北京 上海 成都 西安 南京 武汉 青岛 苏州 厦门 大连 天津 重庆 长沙 昆明 广州 深圳 合肥 福州"
).split()
FILES = (
    "permit badge visa policy bond ticket card pass deed will bill quote offer order note memo "
    "chart draft scan form"
).split()
MONTHS = ("March", "June", "July", "August", "October", "November", "December")
MESES = ("marzo", "junio", "julio", "agosto", "octubre", "noviembre", "diciembre")
YUE = ("三月", "六月", "七月", "八月", "十月", "十一月", "十二月")


def with_facts(others, *facts):
    """The facts among the others: one near the end, one in the middle."""
    others = list(others)
    for place, fact in zip((len(others) - 5, len(others) // 2), facts, strict=False):
        others.insert(place, fact)
    return tuple(others)


def by_turns(pattern, first, second):
    return [pattern.format(a, second[k % len(second)]) for k, a in enumerate(first)]


TWO_HOP = {
    "en": Case(
        language="en",
        early=with_facts(
            by_turns("{0} lives in {1}.", NAMES, TOWNS),
            "Ingrid lives in Kiel.",
            "My sister is called Ingrid.",
        ),
        question="Where does my sister live?",
        must=("My sister is called Ingrid.", "Ingrid lives in Kiel."),
        budget=170,
    ),
    "de": Case(
        language="de",
        early=with_facts(
            by_turns("{0} wohnt in {1}.", NAMES, TOWNS),
            "Ingrid wohnt in Kiel.",
            "Meine Schwester heißt Ingrid.",
        ),
        question="Wo wohnt meine Schwester?",
        must=("Meine Schwester heißt Ingrid.", "Ingrid wohnt in Kiel."),
        budget=190,
    ),
    "zh": Case(
        language="zh",
        early=with_facts(
            by_turns("{0}住在{1}。", CHINESE_NAMES, CHINESE_TOWNS),
            "陈静住在杭州。",
            "我妹妹叫陈静。",
        ),
        question="我妹妹住在哪里？",
        must=("我妹妹叫陈静。", "陈静住在杭州。"),
        budget=130,
    ),
}
PRONOUN = {
    "en": Case(
        language="en",
        early=with_facts(
            by_turns("The {0}.pdf expires in {1}.", FILES, MONTHS), "The lease.pdf expires in May."
        ),
        late=("I am looking at lease.pdf right now.",),
        question="When does it expire?",
        must=("The lease.pdf expires in May.",),
        budget=150,
    ),
    "es": Case(
        language="es",
        early=with_facts(
            by_turns("El {0}.pdf caduca en {1}.", FILES, MESES), "El contrato.pdf caduca en mayo."
        ),
        late=("Ahora miro contrato.pdf otra vez.",),
        question="¿Cuándo caduca eso?",
        must=("El contrato.pdf caduca en mayo.",),
        budget=160,
    ),
    "zh": Case(
        language="zh",
        early=with_facts(by_turns("{0}.pdf{1}到期。", FILES, YUE), "lease.pdf五月到期。"),
        late=("我正在看lease.pdf。",),
        question="那个文件什么时候到期？",
        must=("lease.pdf五月到期。",),
        budget=110,
    ),
}
VALUES = tuple(range(10, 75, 5))
UPDATED = {
    "en": Case(
        language="en",
        early=(
            "The delivery limit is 5 loaves.",
            *(f"The delivery limit is now {n} loaves." for n in VALUES),
            "The delivery limit is now 75 loaves.",
        ),
        question="What is the delivery limit now?",
        must=("The delivery limit is now 75 loaves.",),
        budget=150,
    ),
    "de": Case(
        language="de",
        early=tuple(f"Die Liefergrenze ist jetzt {n} Brote." for n in (5, *VALUES, 75)),
        question="Wie hoch ist die Liefergrenze jetzt?",
        must=("jetzt 75 Brote",),
        budget=160,
    ),
    "zh": Case(
        language="zh",
        early=tuple(f"现在的配送上限是{n}个面包。" for n in (5, *VALUES, 75)),
        question="现在的配送上限是多少？",
        must=("上限是75个面包",),
        budget=110,
    ),
}

HISTORY = {
    "en": Case(
        language="en",
        early=UPDATED["en"].early,
        question="What was the delivery limit originally, and what is it now?",
        must=("The delivery limit is 5 loaves.", "The delivery limit is now 75 loaves."),
        budget=200,
    ),
    "de": Case(
        language="de",
        early=UPDATED["de"].early,
        question="Wie hoch war die Liefergrenze ursprünglich, und wie hoch ist sie jetzt?",
        must=("jetzt 5 Brote", "jetzt 75 Brote"),
        budget=200,
    ),
    "zh": Case(
        language="zh",
        early=UPDATED["zh"].early,
        question="配送上限最初是多少，现在是多少？",
        must=("上限是5个面包", "上限是75个面包"),
        budget=150,
    ),
}

ARC = {
    "en": Case(
        language="en",
        early=(
            "Which oven should the bakery buy?",
            "And if we bake twice a day?",
            "What about the guarantee?",
        ),
        answers=(
            "The Wachtel oven fits the bakery: 84 loaves.",
            "Then take the model with two decks.",
            "Five years, parts and labour.",
        ),
        question="Which oven did you recommend for the bakery, how many decks, what guarantee?",
        must=("Wachtel oven", "two decks", "Five years"),
        budget=180,
    ),
    "de": Case(
        language="de",
        early=(
            "Welchen Ofen soll die Bäckerei kaufen?",
            "Und wenn wir zweimal am Tag backen?",
            "Was ist mit der Garantie?",
        ),
        answers=(
            "Der Wachtel passt zur Bäckerei: 84 Laibe.",
            "Dann das Modell mit zwei Etagen.",
            "Fünf Jahre auf Teile und Arbeit.",
        ),
        question="Welchen Ofen hattest du der Bäckerei empfohlen, mit wie vielen Etagen "
        "und welcher Garantie?",
        must=("Wachtel", "zwei Etagen", "Fünf Jahre"),
        budget=180,
    ),
    "zh": Case(
        language="zh",
        early=("面包房该买哪个烤箱？", "如果一天烤两次呢？", "保修怎么样？"),
        answers=("瓦赫特尔烤箱适合面包房。", "那就选双层的型号。", "五年，包括零件和人工。"),
        question="你之前推荐面包房买哪个烤箱，几层，保修多久？",
        must=("瓦赫特尔烤箱", "双层", "五年"),
        budget=120,
    ),
}

LOOK_ALIKES = {
    "en": Case(
        language="en",
        early=(
            *("What is the port of the staging database?",) * 7,
            "The port of the staging database is 5433.",
        ),
        question="What is the port of the staging database?",
        must=("is 5433",),
        budget=160,
    ),
    "es": Case(
        language="es",
        early=(
            *("¿Cuál es el puerto de la base de datos de pruebas?",) * 7,
            "El puerto de la base de datos de pruebas es 5433.",
        ),
        question="¿Cuál es el puerto de la base de datos de pruebas?",
        must=("es 5433",),
        budget=170,
    ),
    "zh": Case(
        language="zh",
        early=(*("测试数据库的端口是多少？",) * 7, "测试数据库的端口是5433。"),
        question="测试数据库的端口是多少？",
        must=("是5433",),
        budget=100,
    ),
}

FAMILIES = {
    "two hops": TWO_HOP,
    "pronoun": PRONOUN,
    "updated": UPDATED,
    "history": HISTORY,
    "arc": ARC,
    "look-alikes": LOOK_ALIKES,
}


def cases():
    for family, of_language in FAMILIES.items():
        for language, case in of_language.items():
            for policy in POLICIES:
                yield pytest.param(case, policy, id=f"{family}-{language}-{policy}")


@pytest.mark.parametrize(("case", "policy"), list(cases()))
def test_the_winner_is_visible(case: Case, policy: str):
    answer = ask(case.chat(), case.budget, policy=policy)
    text = "\n".join(map(said, sent_by(answer)[:-1]))
    assert answer.report.tokens_after <= case.budget
    assert [must for must in case.must if must not in text] == []


def test_the_budget_holds_a_few_messages_only():
    for family, of_language in FAMILIES.items():
        for case in of_language.values():
            chat = case.chat()
            sizes = [len(said(m)) // 3 for m in chat]
            seen = [d for d in ask(chat, case.budget).report.decisions if d.fate != "dropped"]
            assert sum(sizes) >= 1.5 * case.budget, family
            assert len(seen) < 0.6 * len(chat), family
