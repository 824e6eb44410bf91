"""Print how far estimates of token counts are off, by language and kind of text.

    python tests/bench/estimator_table.py

Compared: our estimate, characters // 4 and characters / 4 rounded up (what others use), against
o200k_base, and our cl100k estimate against cl100k_base. The vocabularies must be on this machine.
The texts are written for this table and were not used to fit the prices.
"""

from __future__ import annotations

import base64
import json
import math
import random
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "core"))

from eunoe.stages.counting.estimate import estimate_tokens
from eunoe.stages.counting.tokenizer import find_tokenizer

PROSE = {
    "English": (
        "We moved the reporting service to the new cluster last Thursday, and since then the "
        "nightly export takes twice as long as before. At first I suspected the network, "
        "because the old machines sat in the same rack as the database, but the traces say "
        "otherwise: almost all of the time is spent waiting for a lock that the backup job "
        "holds. Could you look at the schedule and tell me whether the two can be kept "
        "apart? I would rather not touch the retry logic again, since the last change there "
        "cost us a weekend.\n"
        'Grandmother\'s recipe asks for three eggs, a handful of walnuts and "enough" flour, '
        "which is not very helpful when you bake it for the first time. Start with two "
        "hundred grams, knead until the dough no longer sticks to your fingers, and let it "
        "rest under a towel while the oven warms up. It won't look like much, but don't "
        "worry; it rises late."
    ),
    "Chinese": (
        "上周四我们把报表服务迁移到了新的集群，从那以后每天晚上的导出任务花的时间比以前多了一倍。一开"
        "始我怀疑是网络的问题，因为旧机器和数据库放在同一个机柜里，但是跟踪记录显示并不是这样：大部分"
        "时间都花在等待备份任务持有的锁上。你能不能看一下时间安排，告诉我这两个任务能否错开执行？我不"
        "太想再改重试逻辑了，上次的改动让我们加了一个周末的班。\n"
        "奶奶的食谱上写着三个鸡蛋、一把核桃和“适量”的面粉，第一次做的人看了恐怕会一头雾水。先放两百"
        "克，揉到面团不再粘手，然后盖上毛巾，让它在烤箱预热的时候休息一会儿。看起来不怎么样，不过别担"
        "心，它发得比较晚。"
    ),
    "Chinese (trad.)": (
        "上週四我們把報表服務遷移到了新的叢集，從那以後每天晚上的匯出任務花的時間比以前多了一倍。一開"
        "始我懷疑是網路的問題，因為舊機器和資料庫放在同一個機櫃裡，但是追蹤紀錄顯示並不是這樣：大部分"
        "時間都花在等待備份任務持有的鎖上。你能不能看一下時間安排，告訴我這兩個任務能否錯開執行？\n"
        "奶奶的食譜上寫著三顆雞蛋、一把核桃和「適量」的麵粉，第一次做的人看了恐怕會一頭霧水。先放兩百"
        "克，揉到麵團不再黏手，然後蓋上毛巾，讓它在烤箱預熱的時候休息一會兒。"
    ),
    "Japanese": (
        "先週の木曜日にレポートサービスを新しいクラスターへ移しましたが、それ以来、毎晩のエクスポート"
        "に以前の二倍の時間がかかっています。最初はネットワークを疑いました。古いマシンはデータベース"
        "と同じラックに置かれていたからです。しかしトレースを見ると、時間のほとんどはバックアップ処理"
        "が握っているロックを待つことに費やされていました。スケジュールを確認して、二つの処理をずらせ"
        "るかどうか教えていただけますか。前回リトライ処理を変更したときは週末がつぶれたので、あそこに"
        "はもう触りたくありません。\n"
        "祖母のレシピには卵三個、くるみ一握り、そして小麦粉「適量」と書いてあり、初めて焼く人にはあま"
        "り役に立ちません。まず二百グラムから始めて、生地が指にくっつかなくなるまでこね、オーブンが温"
        "まるあいだ布巾をかけて休ませてください。"
    ),
    "Korean": (
        "지난주 목요일에 보고서 서비스를 새 클러스터로 옮겼는데, 그 뒤로 매일 밤 "
        "내보내기 작업이 예전보다 두 배나 오래 걸립니다. 처음에는 네트워크를 "
        "의심했습니다. 예전 서버들은 데이터베이스와 같은 랙에 있었기 때문입니다. 하지만 "
        "추적 기록을 보면 시간의 대부분은 백업 작업이 잡고 있는 잠금을 기다리는 데 "
        "쓰이고 있습니다. 일정을 살펴보고 두 작업을 서로 떼어 놓을 수 있는지 알려 "
        "주시겠어요? 재시도 로직은 다시 건드리고 싶지 않습니다.\n"
        '할머니의 요리법에는 달걀 세 개, 호두 한 줌, 그리고 밀가루 "적당히"라고 적혀 '
        "있어서 처음 굽는 사람에게는 별로 도움이 되지 않습니다. 이백 그램으로 시작해서 "
        "반죽이 손에 붙지 않을 때까지 치대고, 오븐이 데워지는 동안 수건을 덮어 쉬게 "
        "하세요."
    ),
    "Thai": (
        "เมื่อวันพฤหัสบดีที่แล้วเราย้ายบริการรายงานไปยั"
        "งคลัสเตอร์ใหม่ และตั้งแต่นั้นมาการส่งออกข้อมูล"
        "ทุกคืนใช้เวลานานกว่าเดิมถึงสองเท่า "
        "ตอนแรกฉันสงสัยว่าเป็นเพราะเครือข่าย "
        "เนื่องจากเครื่องเก่าอยู่ในตู้เดียวกับฐานข้อมูล"
        " แต่บันทึกการติดตามบอกว่าไม่ใช่ "
        "เวลาส่วนใหญ่หมดไปกับการรอล็อกที่งานสำรองข้อมูล"
        "ถืออยู่ ช่วยดูตารางเวลาแล้วบอกฉันหน่อยได้ไหมว่"
        "าสองงานนี้แยกเวลากันได้หรือไม่\n"
        "สูตรของคุณยายบอกว่าใช้ไข่สามฟอง "
        "วอลนัทหนึ่งกำมือ และแป้งพอประมาณ "
        "ซึ่งไม่ค่อยช่วยอะไรเลยสำหรับคนที่อบเป็นครั้งแร"
        "ก เริ่มจากสองร้อยกรัม นวดจนแป้งไม่ติดมือ "
        "แล้วคลุมด้วยผ้าพักไว้ระหว่างรอให้เตาร้อน"
    ),
    "Arabic": (
        "نقلنا خدمة التقارير إلى العنقود الجديد يوم "
        "الخميس الماضي، ومنذ ذلك الحين يستغرق التصدير "
        "الليلي ضعف الوقت الذي كان يستغرقه من قبل. في "
        "البداية شككت في الشبكة لأن الأجهزة القديمة "
        "كانت في الخزانة نفسها مع قاعدة البيانات، لكن "
        "السجلات تقول غير ذلك: معظم الوقت يضيع في "
        "انتظار قفل تمسك به مهمة النسخ الاحتياطي. هل "
        "يمكنك أن تنظر في الجدول وتخبرني إن كان من "
        "الممكن الفصل بين المهمتين؟ لا أريد أن ألمس "
        "منطق إعادة المحاولة مرة أخرى.\n"
        "تطلب وصفة جدتي ثلاث بيضات وحفنة من الجوز وما "
        "يكفي من الدقيق، وهذا لا يساعد كثيرا من يخبزها "
        "لأول مرة. ابدأ بمئتي غرام واعجن حتى لا يلتصق "
        "العجين بأصابعك، ثم اتركه يرتاح تحت منشفة حتى "
        "يسخن الفرن."
    ),
    "Hindi": (
        "पिछले गुरुवार को हमने रिपोर्ट सेवा को नए "
        "क्लस्टर पर भेज दिया, और तब से हर रात का "
        "निर्यात पहले से दोगुना समय लेता है। शुरू में "
        "मुझे नेटवर्क पर शक हुआ, क्योंकि पुरानी मशीनें "
        "डेटाबेस के साथ एक ही रैक में थीं, लेकिन लॉग "
        "कुछ और ही कहते हैं: लगभग सारा समय उस ताले के "
        "इंतज़ार में जाता है जो बैकअप का काम पकड़े "
        "रहता है। क्या आप समय-सारणी देखकर बता सकते हैं "
        "कि दोनों को अलग रखा जा सकता है या नहीं? मैं "
        "दोबारा कोशिश वाले हिस्से को फिर से छूना नहीं "
        "चाहता।\n"
        "दादी की विधि में तीन अंडे, मुट्ठी भर अखरोट और "
        "ज़रूरत भर आटा लिखा है, जो पहली बार बनाने वाले "
        "के लिए बहुत काम का नहीं है। दो सौ ग्राम से "
        "शुरू करें, तब तक गूँधें जब तक आटा हाथ से "
        "चिपकना बंद न कर दे।"
    ),
    "Russian": (
        "В прошлый четверг мы перенесли сервис отчётов на новый кластер, и с тех пор ночная "
        "выгрузка занимает вдвое больше времени, чем раньше. Сначала я подозревал сеть, "
        "потому что старые машины стояли в одной стойке с базой данных, но трассировка "
        "говорит о другом: почти всё время уходит на ожидание блокировки, которую держит "
        "резервное копирование. Не могли бы вы посмотреть расписание и сказать, можно ли "
        "развести эти две задачи? Логику повторных попыток мне бы больше трогать не "
        "хотелось, последнее изменение стоило нам выходных.\n"
        "В бабушкином рецепте указаны три яйца, горсть грецких орехов и «достаточно» муки, "
        "что не очень помогает тому, кто печёт впервые. Начните с двухсот граммов, месите, "
        "пока тесто не перестанет липнуть к пальцам, и дайте ему отдохнуть под полотенцем."
    ),
    "German": (
        "Am vergangenen Donnerstag haben wir den Berichtsdienst auf den neuen Cluster "
        "verschoben, und seitdem dauert der nächtliche Export doppelt so lange wie vorher. "
        "Zuerst hatte ich das Netzwerk im Verdacht, weil die alten Rechner im selben Schrank "
        "wie die Datenbank standen, aber die Aufzeichnungen sagen etwas anderes: Fast die "
        "ganze Zeit vergeht mit dem Warten auf eine Sperre, die die Datensicherung hält. "
        "Könntest du dir den Zeitplan ansehen und mir sagen, ob sich die beiden Aufgaben "
        "trennen lassen?\n"
        "Großmutters Rezept verlangt drei Eier, eine "
        "Handvoll Walnüsse und „genügend“ Mehl, was "
        "beim ersten Backen nicht gerade hilfreich "
        "ist. Fang mit zweihundert Gramm an und knete, "
        "bis der Teig nicht mehr an den Fingern klebt."
    ),
    "French": (
        "Jeudi dernier, nous avons déplacé le service de rapports vers la nouvelle grappe, "
        "et depuis, l'export de nuit prend deux fois plus de temps qu'avant. J'ai d'abord "
        "soupçonné le réseau, parce que les anciennes machines se trouvaient dans la même "
        "baie que la base de données, mais les traces disent autre chose : presque tout le "
        "temps se passe à attendre un verrou que tient la sauvegarde. Pourrais-tu regarder "
        "l'horaire et me dire si l'on peut séparer les deux tâches ?\n"
        "La recette de ma grand-mère demande trois œufs, une poignée de noix et « assez » de "
        "farine, ce qui n'aide guère quand on la prépare pour la première fois."
    ),
    "Spanish": (
        "El jueves pasado trasladamos el servicio de informes al nuevo clúster y desde "
        "entonces la exportación nocturna tarda el doble que antes. Al principio sospeché de "
        "la red, porque las máquinas antiguas estaban en el mismo armario que la base de "
        "datos, pero las trazas dicen otra cosa: casi todo el tiempo se pierde esperando un "
        "bloqueo que mantiene la copia de seguridad. ¿Podrías mirar el horario y decirme si "
        "se pueden separar las dos tareas?\n"
        "La receta de la abuela pide tres huevos, un puñado de nueces y harina «suficiente», "
        "lo que no ayuda mucho a quien la prepara por primera vez."
    ),
    "Vietnamese": (
        "Thứ năm tuần trước chúng tôi đã chuyển dịch "
        "vụ báo cáo sang cụm máy chủ mới, và từ đó "
        "việc xuất dữ liệu hằng đêm mất gấp đôi thời "
        "gian so với trước. Lúc đầu tôi nghi ngờ mạng, "
        "vì các máy cũ nằm cùng tủ với cơ sở dữ liệu, "
        "nhưng nhật ký cho thấy điều khác: hầu hết "
        "thời gian là để chờ một khóa mà tác vụ sao "
        "lưu đang giữ. Bạn có thể xem lịch và cho tôi "
        "biết có tách hai việc ra được không?"
    ),
    "Turkish": (
        "Geçen perşembe rapor hizmetini yeni kümeye taşıdık ve o zamandan beri gece yapılan "
        "dışa aktarma eskisinin iki katı kadar sürüyor. Önce ağdan şüphelendim, çünkü eski "
        "makineler veritabanıyla aynı dolaptaydı, ama kayıtlar başka bir şey söylüyor: "
        "zamanın neredeyse tamamı yedekleme işinin tuttuğu kilidi beklemekle geçiyor. "
        "Takvime bakıp iki işin birbirinden ayrılıp ayrılamayacağını söyler misin?"
    ),
    "Polish": (
        "W zeszły czwartek przenieśliśmy usługę raportów na nowy klaster i od tego czasu "
        "nocny eksport trwa dwa razy dłużej niż wcześniej. Najpierw podejrzewałem sieć, "
        "ponieważ stare maszyny stały w tej samej szafie co baza danych, ale ślady mówią co "
        "innego: prawie cały czas schodzi na czekaniu na blokadę, którą trzyma kopia "
        "zapasowa. Czy możesz spojrzeć na harmonogram i powiedzieć, czy da się rozdzielić te "
        "dwa zadania?"
    ),
}

CODE = '''
def read_orders(path: Path, *, since: date | None = None) -> list[Order]:
    """Read the orders of a file, newest first."""
    orders = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                order = Order.parse(json.loads(line))
            except (KeyError, ValueError) as error:
                raise OrderError(f"{path}:{number}: {error}") from error
            if since is None or order.placed_at.date() >= since:
                orders.append(order)
    return sorted(orders, key=lambda order: order.placed_at, reverse=True)


class OrderTable {
    constructor(rows = []) { this.rows = rows; this.selected = null; }
    render(root) {
        root.innerHTML = this.rows
            .map((row) => `<tr class="${row.late ? 'late' : ''}"><td>${row.id}</td></tr>`)
            .join("");
        root.querySelectorAll("tr").forEach((tr, i) => {
            tr.addEventListener("click", () => this.select(this.rows[i].id));
        });
    }
}
'''

WORDS = "harbour violin ledger Berlin maple quarter rotate cabin signal Oslo pepper thread".split()


def generated() -> dict[str, str]:
    """Texts that have a form rather than a language."""
    r = random.Random(11)
    record = [
        {
            "id": r.randrange(10**6),
            "customer": f"{r.choice(WORDS)} {r.choice(WORDS)}",
            "total": round(r.uniform(1, 900), 2),
            "paid": r.random() < 0.5,
            "tags": r.sample(WORDS, 3),
            "shippedAt": None,
        }
        for _ in range(25)
    ]
    table = "\n".join(
        f"| {r.choice(WORDS)} | {r.randint(1, 9999)} | {r.uniform(0, 99):.2f} |" for _ in range(40)
    )
    return {
        "Code": CODE,
        "JSON, compact": json.dumps(record, separators=(",", ":")),
        "JSON, indented": json.dumps(record, indent=2),
        "JSON in JSON": json.dumps({"arguments": json.dumps(record)}),
        "Markdown table": "| Item | Count | Price |\n|------|------:|------:|\n" + table,
        "Base64": base64.b64encode(r.randbytes(1500)).decode(),
        "Hex ids": "\n".join(r.randbytes(20).hex() for _ in range(40)),
        "UUIDs": "\n".join(str(uuid.UUID(bytes=r.randbytes(16))) for _ in range(40)),
        "Digits": " ".join(str(r.randrange(10 ** r.randint(1, 10))) for _ in range(250)),
        "Emoji": "".join(r.choice("😀😂🥰👍🎉🔥🚀✅🧠🦊🌍🍕⚽🎸") for _ in range(300)),
        "Log lines": "\n".join(
            f"2025-11-{r.randint(1, 28):02d} {r.randint(0, 23):02d}:{r.randint(0, 59):02d}:07,"
            f"{r.randint(0, 999):03d} WARN [{r.choice(WORDS)}-{r.randint(1, 9)}] slow: "
            f"{r.randint(1, 9000)} ms"
            for _ in range(40)
        ),
    }


def error_rows() -> list[tuple[str, int, float, float, float, float]]:
    """Kind of text, o200k tokens, then errors: ours, // 4, / 4 up, ours for cl100k."""
    o200k, cl100k = find_tokenizer("o200k"), find_tokenizer("cl100k")
    rows = []
    for kind, text in (PROSE | generated()).items():
        real, real_cl100k = o200k.count(text), cl100k.count(text)
        rows.append(
            (
                kind,
                real,
                estimate_tokens(text) / real - 1,
                len(text) // 4 / real - 1,
                math.ceil(len(text) / 4) / real - 1,
                estimate_tokens(text, "cl100k") / real_cl100k - 1,
            )
        )
    return rows


def main() -> int:
    """Print the table; 2 without vocabularies."""
    for family in ("o200k", "cl100k"):
        if not find_tokenizer(family).exact:
            print(f"no {family} vocabulary on this machine", file=sys.stderr)
            return 2
    rows = error_rows()
    print(f"{'text':18}{'tokens':>7}{'ours':>8}{'len//4':>8}{'len/4':>8}{'cl100k':>8}")
    for kind, real, *errors in rows:
        print(f"{kind:18}{real:7}" + "".join(f"{error:+8.1%}" for error in errors))
    worst = [max(abs(row[i]) for row in rows) for i in range(2, 6)]
    print(f"{'largest error':25}" + "".join(f"{error:8.1%}" for error in worst))
    return 0


if __name__ == "__main__":
    sys.exit(main())
