"""What the tools answered in the long chat: tables, logs and files of the bakery's server."""

# ruff: noqa: E501, ISC004
from __future__ import annotations

import json
from collections.abc import Callable

BREADS = """
K-1001;Doppelbrötchen;60;0,85;A,A1;B
K-1002;Kaisersemmel;55;0,55;A,A1;B
K-1003;Mohnbrötchen;65;0,80;A,A1;B
K-1004;Sesambrötchen;65;0,80;A,A1,N;B
K-1005;Roggenbrötchen;70;0,85;A,A1,A2;B
K-1006;Laugenbrezel;85;0,95;A,A1;B
K-1007;Laugenstange;95;1,20;A,A1;B
K-1008;Butterbrezel;120;1,90;A,A1,G;B
K-1009;Pfand;0;0,00;;T
K-1010;Bauernbrot 1 kg;1000;5,10;A,A1,A2;B
K-1011;Bauernbrot 2 kg;2000;9,60;A,A1,A2;B
K-1012;Holzapfel-Laib;1250;6,90;A,A1,A2;B
K-1013;Hausbrot;750;4,30;A,A1,A2;B
K-1014;Vollkornbrot;1000;5,60;A,A2;B
K-1015;Dinkelvollkorn;1000;6,40;A,A4;B
K-1016;Weißbrot;500;3,20;A,A1;B
K-1017;Roggenmischbrot 1 kg;1000;5,20;A,A1,A2;B
K-1018;Roggenmischbrot 1 kg;1000;5,40;A,A1,A2;B
K-1019;Roggenmischbrot 500 g;500;2,90;A,A1,A2;B
K-1020;Diverses;0;0,00;;T
K-1021;Walnussbrot;750;5,90;A,A1,A2,H3;B
K-1022;Sonnenblumenbrot;750;4,90;A,A1,A2;B
K-1023;Leinsamenbrot;750;4,90;A,A1,A2;B
K-1024;Kartoffelbrot;1000;5,20;A,A1;B
K-1025;Ciabatta;350;3,40;A,A1;B
K-1026;Baguette;300;2,60;A,A1;B
K-1027;Olivenbrot;400;4,20;A,A1;B
K-1028;Zwiebelbrot;500;3,90;A,A1,A2;B
K-1029;Toastbrot;500;3,60;A,A1,G;B
K-1030;Rosinenbrot;500;4,40;A,A1,G;B
K-1031;Rabatt;0;0,00;;T
K-1032;Hefezopf;600;5,80;A,A1,C,G;B
K-1033;Kürbiskernbrot;;5,30;A,A1,A2;B
K-1034;Rosinenschnecke;110;2,10;A,A1,C,G;B
K-1035;Nussschnecke;115;2,30;A,A1,C,G,H1;B
K-1036;Mohnschnecke;115;2,20;A,A1,C,G;B
K-1037;Apfeltasche;120;2,20;A,A1,G;B
K-1038;Quarktasche;120;2,30;A,A1,C,G;B
K-1039;Streuseltaler;130;2,20;A,A1,C,G;B
K-1040;Umbuchung;0;0,00;;T
K-1041;Zimtschnecke;110;2,20;A,A1,C,G;B
K-1042;Krapfen;75;1,60;A,A1,C,G;B
K-1043;Gutschein alt;0;0,00;;T
K-1044;Butterhörnchen;70;1,50;A,A1,G;B
K-1045;Apfelsaft 0,7 l;700;2,80;;G
K-1046;Mineralwasser 0,5 l;500;1,40;;G
K-1047;Storno;0;0,00;;T
K-1048;Semmelbrösel 500 g;500;2,40;A,A1;B
""".strip().split("\n")

STREETS = (
    ("Am Anger 4", "96197"), ("Brunnengasse 7", "96142"), ("Dorfstraße 12", "96142"),
    ("Eichenweg 3", "96215"), ("Feldstraße 21", "96114"), ("Gartenweg 5", "96142"),
    ("Hauptstraße 33", "96215"), ("Im Winkel 2", "96197"), ("Kirchplatz 9", "96142"),
    ("Lindenallee 14", "96215"), ("Mühlweg 1", "96114"), ("Neue Gasse 6", "96197"),
    ("Obere Straße 18", "96142"),
)  # fmt: skip
NAMES = (
    "Ilse Hartung", "Samuel Adebayo", "Petra Öttl", "Karl Wimmer", "Hatice Yılmaz", "Georg Pfister",
    "Renate Graf", "Tomasz Nowak", "Birgit Sauer", "Anton Ruß", "Claire Dubois", "Franz Hofmann",
    "Maria Lopez", "Uwe Schenk", "Elif Demir", "Johann Beck", "Sabine Roth", "Peter Völk",
    "Nadine Kaiser", "Martin Stöhr", "Olga Petrova", "Ludwig Baier", "Eva Zeitler", "Ralf Kunz",
    "Monika Haas", "Dieter Amon",
)  # fmt: skip


def rows(*values: dict[str, object]) -> str:
    return json.dumps({"rows": values, "count": len(values)}, ensure_ascii=False)


def schema() -> str:
    tables = {
        "customer": "id:bigint name:text street:text postcode:text phone:text email:text "
        "last_order:date consent:boolean note:text created_at:timestamptz",
        "delivery_slot": "id:bigint day:date starts:time ends:time places:integer taken:integer",
        "order_line": "id:bigint order_id:bigint product_id:bigint pieces:integer unit_cents:integer "
        "tax_rate:integer sliced:boolean",
        "orders": "id:bigint customer_id:bigint placed_at:timestamptz kind:text postcode:text "
        "delivery_day:date total_cents:integer paid_at:timestamptz payment_event:text note:text",
        "product": "id:bigint till_number:text name:text grams:integer price_cents:integer "
        "tax_rate:integer allergens:text sold_online:boolean picture:text",
        "voucher": "code:text value_cents:integer open_cents:integer valid_until:date sold_at:date",
    }
    return rows(
        *(
            {"table_name": table, "column_name": name, "data_type": kind}
            for table, columns in tables.items()
            for name, kind in (column.split(":") for column in columns.split())
        )
    )


def products() -> str:
    broken = [line.replace("ß", "\\xdf") for line in BREADS]
    return "Nummer;Bezeichnung;Gramm;Preis;Allergene;Gruppe\n" + "\n".join(broken)


def import_dry() -> str:
    lines = []
    for line in BREADS:
        number, name, _, price, _, _ = line.split(";")
        why = "price 0,00" if price == "0,00" else "superseded" if number == "K-1017" else ""
        lines.append(f"skip {number} {name}: {why}" if why else f"add  {number} {name} {price}")
    tail = [
        "warning: K-1015 'Dinkelvollkorn 1000 g': longer than a label line (24)",
        "warning: K-1033 'Kürbiskernbrot': no weight",
        "dry run: 41 to add, 0 to change, 7 skipped, 2 warnings",
    ]
    return "\n".join([*lines, *tail])


def sales() -> str:
    pieces = (
        ("Doppelbrötchen", 4212), ("Laugenbrezel", 3120), ("Holzapfel-Laib", 1377),
        ("Roggenmischbrot 1 kg", 1104), ("Mohnbrötchen", 1032), ("Dinkelvollkorn", 871),
        ("Walnussbrot", 799), ("Kaisersemmel", 788), ("Bauernbrot 2 kg", 702),
        ("Kürbiskernbrot", 655), ("Ciabatta", 597), ("Rosinenschnecke", 571),
        ("Baguette", 502), ("Hefezopf", 455), ("Vollkornbrot", 431), ("Krapfen", 402),
        ("Butterhörnchen", 391), ("Weißbrot", 377), ("Zimtschnecke", 341), ("Apfeltasche", 302),
    )  # fmt: skip
    prices = {line.split(";")[1]: float(line.split(";")[3].replace(",", ".")) for line in BREADS}
    lines = [
        f"{place:3d}  {name:24s} {count:6d} pieces  {count * prices[name]:10.2f} EUR  "
        f"weekdays Mo-Sa {' '.join(str(count * share // 100) for share in (13, 14, 15, 16, 19, 23))}"
        for place, (name, count) in enumerate(pieces, 1)
    ]
    return "\n".join(["rank article                   sold           turnover", *lines])


def access_log() -> str:
    pages = ("/", "/brote", "/brote/k-1012", "/korb", "/faq", "/static/site.css", "/brote/k-1021")
    phones = ("Mozilla/5.0 (iPhone)", "Mozilla/5.0 (Windows NT 10.0)", "Mozilla/5.0 (Android 15)")
    hooks = {4: (1, 200), 9: (2, 200), 10: (2, 400), 17: (3, 200), 18: (3, 400), 25: (4, 200)}
    hooks |= {31: (5, 200), 32: (5, 400), 38: (6, 200), 39: (6, 400), 44: (7, 200)}
    hooks |= {50: (8, 200), 51: (8, 400), 57: (9, 200)}
    lines = []
    for i in range(60):
        second = 7 * 3600 + i * 23 - (21 if i in hooks and hooks[i][1] == 400 else 0)
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        if i in hooks:
            event, status = hooks[i]
            what = f'"POST /hooks/pay?event=evt_30{event:02d}77 HTTP/2.0" {status}'
            who, agent = "198.51.100.8", "PayHook/3.1"
        else:
            what = f'"GET {pages[i * 5 % 7]} HTTP/2.0" 200'
            who, agent = f"198.51.100.{20 + i * 7 % 60}", phones[i % 3]
        took = 2.4 if i in hooks and hooks[i][1] == 200 and i + 1 in hooks else 0.09
        lines.append(
            f'{who} - - [12/Oct/2026:{clock} +0200] {what} {812 + i * 37} "{agent}" rt={took}'
        )
    return "\n".join(lines)


def grep_cutoff() -> str:
    return """\
/srv/shop/templates/basket.html:41:    <p class="hint">Bestellungen für morgen bis 17:00 Uhr.</p>
/srv/shop/templates/footer.html:12:    <li>Bestellschluss: 17 Uhr am Vorabend</li>
/srv/shop/templates/faq.html:27:    <dd>Bis 17:00 Uhr am Abend davor.</dd>
/srv/shop/templates/faq.html:63:    <dd>Ändern geht bis 17 Uhr, danach bitte anrufen.</dd>
/srv/shop/mail/confirmation.txt:9:Ändern oder absagen: bis 17:00 Uhr am Vorabend.
/srv/shop/mail/confirmation.txt:31:Nach 17 Uhr ist der Teig schon angesetzt.
/srv/shop/shop/rules.py:18:ORDER_UNTIL = time(17, 0)"""


def rules_tests() -> str:
    groups = (
        ("test_basket.py", "minimum fee_below_35 fee_free pickup_free voucher_after_minimum empty "
         "postcode_known postcode_unknown hold_ten_minutes hold_expires two_tabs rounding"),
        ("test_cutoff.py", "at_1529 at_1530 at_1531 sunday_sat_1059 sunday_sat_1100 clocks_forward "
         "clocks_back phone_clock_wrong texts_from_rules holiday past_day far_day"),
        ("test_invoice.py", "first_number no_gap rollback_keeps_number cancellation month_zip "
         "two_rates rounding_by_rate year_change address_missing"),
        ("test_limits.py", "loaves_100 loaves_101 rolls_free counter_share sold_out_text reopened"),
        ("test_pay_hook.py", "known_event unknown_event same_event_twice same_event_thrice wrong_sum "
         "bad_signature late_event refund"),
        ("test_products.py", "import_twice cp1252 decimal_comma price_zero superseded weight_missing "
         "label_line allergens_known tax_7 tax_19"),
        ("test_delivery.py", "four_postcodes monday_96197 sunday_pickup slots_full stops_limit "
         "driver_sheet route_back_in_time allergy_bold"),
        ("test_mail.py", "outbox_only no_address umlauts subject footer link unsubscribed language "
         "sender"),
    )  # fmt: skip
    names = [f"tests/{file}::test_{name} PASSED" for file, text in groups for name in text.split()]
    return "\n".join([*names, f"{len(names)} passed in 6.41s"])


def load_test() -> str:
    return """\
users  requests  median ms  p95 ms  p99 ms  errors  connections
   10     2,391        92     140     181       0           11
   50    11,004       151     288     402       0           49
  100    17,310       379     655     910       0           60
  200     9,122     3,104   9,871  15,020     366           60
errors at 200: psycopg.OperationalError: FATAL: sorry, too many clients already (366)"""


def load_test_after() -> str:
    return """\
users  requests  median ms  p95 ms  p99 ms  errors  connections
   10     2,402        71      96     120       0            6
   50    11,870        80     121     166       0           17
  100    23,015       112     190     251       0           20
  200    41,220       210     377     480       0           20"""


def vouchers() -> str:
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    codes = [
        "".join(letters[i * 7919**k % 1_000_003 // 7 % 24] for k in range(1, 9))
        for i in range(3, 14)
    ]
    return "\n".join(["code,value_eur,valid_until", *(f"{c},20,2029-12-31" for c in codes)])


def backups() -> str:
    lines = [
        "NEXT                         LEFT     LAST                         UNIT",
        "Tue 2026-10-13 02:30:00 CEST 14h left Mon 2026-10-12 02:30:04 CEST shop-backup.timer",
        "Tue 2026-10-13 06:11:32 CEST 18h left Mon 2026-10-12 06:48:10 CEST apt-daily-upgrade.timer",
        "Tue 2026-10-13 00:00:00 CEST 12h left Mon 2026-10-12 00:00:02 CEST logrotate.timer",
        "",
    ]
    lines += [
        f"-rw-r----- 1 shop shop {18_100_222 + day * 41_777} Oct {day:2d} 02:31 shop-2026-10-{day:02d}.dump"
        for day in range(6, 13)
    ]
    return "\n".join([*lines, "/dev/sda1 mounted at / (one disk)"])


def restore() -> str:
    return """\
dump 18.4 MB, sha256 5b0e...c91f, encrypted, sent to the box in 6.2 s
restore into holzapfel_try: ok in 44.9 s
product 41 rows, sum 9f13 = 9f13
customer 300 rows, sum 77aa = 77aa
orders 0 rows
voucher 200 rows, sum 0c3e = 0c3e
total 52 s"""


def test_orders() -> str:
    made = []
    for i, name in enumerate(NAMES):
        street, postcode = STREETS[i % len(STREETS)]
        made.append((postcode, street, i, name))
    return rows(
        *(
            {
                "id": 1900 + i,
                "name": name,
                "street": street + ("" if i < 13 else " a"),
                "postcode": postcode,
                "total_cents": 1250 + i * 173 % 2600,
            }
            for postcode, street, i, name in sorted(made)
        )
    )


def route() -> str:
    order = {"96142": 0, "96215": 1, "96114": 2, "96197": 3}
    stops = sorted((order[STREETS[i % 13][1]], i) for i in range(26))
    lines, minute = ["start 06:00 Weißenbrunn, bakery"], 360
    for number, (_, i) in enumerate(stops, 1):
        minute += 7 if number in (12, 19) else 4 if number % 3 else 5
        street, postcode = STREETS[i % 13]
        clock = f"{minute // 60:02d}:{minute % 60:02d}"
        lines.append(f"{number:2d}  {clock}  {postcode}  {street:18s} {NAMES[i]}")
    return "\n".join(
        [*lines, "back 08:02, 34.6 km, longest leg 7.0 km (Steinach), 13 min to spare"]
    )


def images() -> str:
    small = {"k-1021_2": "1200x1600", "k-1030_1": "1440x1080", "k-1044_1": "1536x2048"}
    sold = [b.split(";")[0].lower() for b in BREADS if b.split(";")[5] != "T" and "K-1017" not in b]
    lines = []
    for place, number in enumerate(sold):
        for shot in (1, 2):
            name = f"{number}_{shot}"
            if name == "k-1006_2":
                continue
            size = small.get(name, ("4032x3024", "3840x2160", "2048x1536")[(place + shot) % 3])
            lines.append(
                f"{'BAD' if name in small else 'ok ':3s} {name}.jpg {size} {410 + place * 13} kB"
            )
    return "\n".join([*lines, f"{len(lines)} pictures, {len(small)} bad"])


def printer() -> str:
    head = """\
scheduler is running
device for theke: ipp://192.0.2.31/ipp/print
printer theke disabled since Wed 21 Oct 2026 05:12:40 - Unable to locate printer
theke-311 shop 41984 Wed 21 Oct 2026 05:12:38
theke-312 shop 39936 Wed 21 Oct 2026 05:27:02
theke-313 shop 40960 Wed 21 Oct 2026 05:41:15
theke-314 shop 38912 Wed 21 Oct 2026 05:55:44
"""
    lines = [
        f"Oct 21 05:{12 + i // 2:02d}:{20 + 30 * (i % 2):02d} teig cupsd[811]: theke: connection to "
        f"192.0.2.31:631 timed out, attempt {i + 1}, job theke-{311 + i // 10} kept"
        for i in range(36)
    ]
    tail = [
        "Oct 21 05:31:02 teig avahi-daemon[602]: theke.local now at 192.0.2.37 (was 192.0.2.31)",
        "Oct 21 05:31:03 teig cupsd[811]: theke: address in the queue is fixed, not followed",
    ]
    return head + "\n".join([*lines, *tail])


def soft_opening() -> str:
    made, total = [], 0
    for i in range(64):
        number = 2001 + i
        day = 22 + i * 5 // 64
        cents = 2140 if number == 2048 else 1210 + (i * 397) % 2010
        made.append((number, f"2026-10-{day}T{7 + i % 8:02d}:{i * 7 % 60:02d}:00+02:00", cents))
        total += cents
    delivered = {i for i in range(64) if i % 3 == 2} | {1, 3}
    drift = 141_260 - total
    codes = ("96142", "96215", "96114", "96142")
    return rows(
        *(
            {
                "id": number,
                "placed_at": placed,
                "kind": "delivery" if i in delivered else "pickup",
                "postcode": "96197" if number == 2048 else codes[i % 4],
                "total_cents": cents + (drift // 63 if number != 2048 else 0)
                + (drift % 63 if i == 0 else 0),
                "lines": 2 + i % 4,
            }
            for i, (number, placed, cents) in enumerate(made)
        )
    )  # fmt: skip


def pay_hook() -> str:
    return '''\
"""Answers the payment company: one event, one booking."""

import hmac
import json
import os
from hashlib import sha256

from shop.db import connect
from shop.mail import write_confirmation
from shop.web import Request, Response

SECRET = os.environ["PAY_HOOK_SECRET"]  # from /etc/holzapfel/pay.env
KNOWN_KINDS = ("payment.succeeded", "payment.failed", "refund.succeeded")


def is_genuine(body: bytes, signature: str) -> bool:
    """The company signs each body with the shared secret."""
    made = hmac.new(SECRET.encode(), body, sha256).hexdigest()
    return hmac.compare_digest(made, signature)


def answer(request: Request) -> Response:
    if not is_genuine(request.body, request.headers.get("X-Pay-Signature", "")):
        return Response(401, "bad signature")
    event = json.loads(request.body)
    if event["kind"] not in KNOWN_KINDS:
        return Response(200, "not for us")
    with connect() as database:
        seen = database.one(
            "select 1 from payment_event where event_id = %s", [event["id"]]
        )
        if seen:
            return Response(400, "event was handled before")
        order = database.one(
            "select id, total_cents, paid_at from orders where id = %s for update",
            [event["order"]],
        )
        if order is None:
            return Response(404, "no such order")
        if event["kind"] == "payment.succeeded":
            if event["amount"] != order["total_cents"]:
                database.run(
                    "insert into oddity (order_id, text) values (%s, %s)",
                    [order["id"], f"paid {event['amount']}, due {order['total_cents']}"],
                )
                return Response(200, "noted")
            database.run("update orders set paid_at = now() where id = %s", [order["id"]])
        elif event["kind"] == "refund.succeeded":
            database.run("update orders set paid_at = null where id = %s", [order["id"]])
        database.run("insert into payment_event (event_id) values (%s)", [event["id"]])
    write_confirmation(order["id"])  # takes about two seconds
    return Response(200, "ok")'''


def rules_file() -> str:
    return '''\
"""Every rule of the shop in one place; all texts take their numbers from here."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
POSTCODES = ("96142", "96197", "96215", "96114")
NO_DELIVERY = {"96197": (0,)}  # postcode -> weekdays, Monday is 0
MINIMUM_CENTS = 1200
DELIVERY_CENTS = 390
FREE_FROM_CENTS = 3500
LOAVES_A_DAY = 168
LOAVES_ONLINE = 100
STOPS_A_DAY = 30
HOLD_MINUTES = 10
ORDER_UNTIL = time(15, 30)
SUNDAY_UNTIL = ("Sat", time(11, 0))


@dataclass(frozen=True)
class Refusal:
    """Why an order cannot be placed, in words for the customer."""

    text: str


def order_closes(delivery_day: date) -> datetime:
    """The moment after which nobody can order for this day."""
    evening = delivery_day - timedelta(days=1)
    until = SUNDAY_UNTIL[1] if delivery_day.weekday() == 6 else ORDER_UNTIL
    return datetime.combine(evening, until, BERLIN)


def may_deliver(postcode: str, placed_at: datetime, delivery_day: date) -> Refusal | None:
    if postcode not in POSTCODES:
        return Refusal("Dorthin liefern wir leider nicht.")
    if placed_at.weekday() in NO_DELIVERY.get(postcode, ()):
        return Refusal("Montags fahren wir dort nicht hin. Abholen geht immer.")
    if delivery_day.weekday() == 6:
        return Refusal("Sonntags gibt es Brötchen nur zum Abholen.")
    if placed_at >= order_closes(delivery_day):
        return Refusal("Dafür ist es schon zu spät, der Teig ist angesetzt.")
    return None


def delivery_fee(goods_cents: int) -> int:
    """The minimum counts before a voucher."""
    return 0 if goods_cents >= FREE_FROM_CENTS else DELIVERY_CENTS'''


RESULTS: dict[str, Callable[[], str]] = {
    "schema": schema,
    "products": products,
    "import_dry": import_dry,
    "import_real": lambda: "41 added, 0 changed, 7 skipped\nsecond run: 0 added, 0 changed",
    "sales": sales,
    "access_log": access_log,
    "pay_hook": pay_hook,
    "pay_tests": lambda: "........                                     [100%]\n8 passed in 0.52s",
    "grep_cutoff": grep_cutoff,
    "rules_tests": rules_tests,
    "load_test": load_test,
    "load_test_after": load_test_after,
    "vouchers": vouchers,
    "backups": backups,
    "restore": restore,
    "customers": lambda: rows(
        {"year": 2022, "count": 38}, {"year": 2023, "count": 44}, {"year": 2024, "count": 61},
        {"year": 2025, "count": 82}, {"year": 2026, "count": 75},
    ),
    "deleted": lambda: "DELETE 113",
    "test_orders": test_orders,
    "route": route,
    "images": images,
    "printer": printer,
    "printer_fixed": lambda: "theke-311 printed\ntheke-312 printed\ntheke-313 printed\ntheke-314 printed",
    "altered": lambda: "ALTER TABLE",
    "soft_opening": soft_opening,
    "rules_file": rules_file,
    "customer_2048": lambda: rows(
        {"name": "Ilse Hartung", "street": "Am Anger 4", "postcode": "96197",
         "phone": "09576 555 0142"},
    ),
}  # fmt: skip
