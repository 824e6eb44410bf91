"""A small thesaurus of everyday English: words that stand for the same kind of thing.

A question asks for "sports", the answer says "tennis". Each group gives its words one more index
term, in question and message alike. The groups are general knowledge, short, and never needed: a
word without a group is matched by its stem as ever.
"""

from __future__ import annotations

from functools import cache

from eunoe.stages.scoring.stemming import stem_english

# Groups are parted by bars; a word may stand in several; the first word names the group.
_CONCEPT_GROUPS = """
sport athletic athlete tennis football soccer basketball baseball volleyball golf hockey swim
ski surf rugby cricket boxing gymnastics cycling running jogging marathon skate snowboard
badminton climbing rowing wrestling bowling fencing team tournament match league | martial_arts
martial karate judo taekwondo kickboxing boxing aikido mma kungfu jiu jitsu wrestling | exercise
workout fitness gym yoga pilates run jog walk hike cardio weights training stretch swim bike
aerobics crossfit treadmill | pet animal dog cat puppy kitten rabbit hamster turtle fish bird
parrot lizard snake horse guinea pup kitty doggo | animal wildlife lion tiger elephant bear wolf
fox deer monkey gorilla whale dolphin shark eagle owl zoo safari cow pig sheep goat chicken duck
frog insect butterfly dinosaur | food dish meal eat cook cuisine recipe dinner lunch breakfast
brunch snack restaurant soup salad pasta pizza burger sandwich sushi taco curry rice noodle
steak chicken fish bread cheese egg vegetable ramen stew barbecue bbq | dessert sweet cake
cookie pie chocolate ice cream icecream cupcake brownie tart pudding candy donut pastry muffin
bake baking bakery | drink beverage coffee tea juice wine beer cocktail soda water smoothie milk
latte espresso | fruit apple banana orange berry strawberry blueberry mango grape peach pear
melon lemon lime pineapple | vegetable carrot tomato potato onion spinach broccoli lettuce
pepper cucumber bean kale | diet vegan vegetarian nutrition healthy calorie protein gluten dairy
organic weight | music song band concert album musician singer sing guitar piano violin drum
drums instrument jazz rock pop rap classical melody tune playlist genre festival | instrument
guitar piano violin drum drums flute clarinet cello trumpet saxophone bass keyboard ukulele |
book novel read author story literature fiction fantasy memoir biography poem poetry library
writer bookstore series | film movie cinema show series episode television netflix actor actress
director documentary anime watch screen trilogy | game gaming videogame video console xbox
playstation nintendo board chess card puzzle tournament player esports | art paint painting draw
drawing sketch sculpture pottery ceramic artist gallery canvas museum exhibit craft watercolor
photography mural | craft pottery knit knitting sew sewing crochet woodwork woodworking origami
embroidery quilt clay diy | dance ballet salsa hiphop tango choreography dancer waltz | hobby
interest pastime activity leisure enjoy fun gardening fishing hiking photography cooking
collecting painting reading puzzle camping swimming pottery running dancing knitting
volunteering museum surfing skating chess sketching singing blogging baking crafting journaling
| outdoors nature hike camp trail mountain forest park lake river beach waterfall campfire woods
picnic kayak | travel trip journey vacation visit tour flight airport hotel abroad destination
cruise roadtrip tourist sightseeing passport explore | place city country town state village
location region geographical area uk usa america england france italy spain germany japan china
india mexico canada brazil australia greece ireland california florida texas hawaii alaska
europe asia africa london paris rome tokyo york chicago seattle miami barcelona berlin mountain
beach island castle | country usa america england france italy spain germany japan china india
mexico canada brazil australia greece portugal ireland scotland sweden norway thailand korea
egypt turkey switzerland | city london paris rome tokyo york boston chicago seattle miami
barcelona berlin madrid amsterdam toronto sydney dublin vancouver houston dallas philadelphia |
beach ocean sea coast island surf sand shore seaside | mountain peak summit hill climb hike ski
| family parent mother father brother sister sibling son daughter child wife husband spouse
cousin uncle aunt grandmother grandfather niece nephew relative | partner husband wife spouse
boyfriend girlfriend fiance fiancee marriage marry married wedding engaged engagement
relationship dating date single divorce breakup romantic | friend buddy pal bestie friendship
roommate acquaintance mate | child baby toddler infant teen son daughter kindergarten | person
mentor coach advisor teacher professor instructor tutor counselor guide | job work career
profession occupation employ employer employee company office boss colleague coworker position
role hire interview promotion salary internship | profession teacher doctor nurse lawyer
engineer programmer developer designer chef artist writer actor accountant manager scientist
journalist musician photographer | business startup store shop company entrepreneur owner client
customer sales brand marketing | money cost price pay budget salary income expense loan debt
save savings invest investment financial bank dollar cheap expensive afford fee | purchase buy
shop shopping order store get bought | school college university class course student study
degree major education graduate teacher exam homework lesson campus semester professor tuition |
subject math mathematics science physics chemistry biology history economics psychology
literature computer engineering philosophy | degree bachelor master phd diploma certificate
certification graduate | learn study practice skill train teach lesson course | health doctor
hospital medicine illness sick disease pain injury surgery therapy therapist flu cold fever
headache allergy asthma medical symptom diagnosis clinic | injury hurt sprain broken fracture
knee ankle bruise pain accident | allergy allergic asthma dairy lactose peanut gluten | mental
anxiety stress depression therapy counseling therapist meditation mindfulness burnout mood |
relax relaxing calm peaceful unwind destress rest meditation spa bath nap stress outlet escape
soothe therapy yoga decompress | emotion feel happy sad angry excited nervous anxious scared
proud grateful worried disappointed frustrated upset lonely joy | fear afraid scared phobia
worry anxious nervous | sleep insomnia nap bed bedtime tired rest awake dream | home house
apartment room kitchen bedroom garden yard rent move neighbor neighborhood furniture mortgage |
move relocate moved relocation | vehicle car truck bike motorcycle bus train van drive driver
suv auto automobile | transport bus train subway plane flight taxi uber car bike walk commute |
weather rain snow sun sunny storm wind cold hot heat temperature cloudy forecast | disaster
flood fire hurricane earthquake storm tornado | season spring summer autumn fall winter |
holiday christmas halloween thanksgiving easter newyear birthday festival celebrate celebration
party anniversary | event party wedding concert festival conference workshop meeting fundraiser
fair parade ceremony celebration gala webinar speech exhibition show rally seminar retreat
meetup competition | charity volunteer donate donation fundraiser nonprofit shelter homeless
community help cause | religion church god faith pray prayer spiritual christian muslim jewish
buddhist bible mosque temple | politics government election vote president mayor party policy
law campaign political | military army navy veteran soldier war marine | patriotic country flag
veteran military serve service | lgbtq gay lesbian transgender queer pride bisexual gender |
clothes clothing shirt dress shoe shoes jacket coat hat jeans pants sweater outfit fashion wear
necklace ring jewelry | jewelry necklace ring bracelet earring pendant | color colour red blue
green yellow purple pink black white orange brown | plant flower tree garden rose tulip
sunflower gardening seed grow leaf succulent | technology computer laptop phone tablet software
hardware internet device gadget robot | phone call text message iphone android smartphone |
social instagram facebook twitter tiktok youtube blog post podcast channel follower influencer
media | award prize trophy medal win competition contest achievement honor certificate | goal
plan dream hope aim aspire aspiration ambition objective target want | advice suggest suggestion
recommend recommendation tip advise guidance should | problem issue challenge difficulty trouble
obstacle struggle error bug fail failure setback | solution fix solve resolve workaround patch |
change update modify switch shift revise adjust | decide decision choose choice option pick
select prefer | start begin launch initiate commence | finish complete end done accomplish
achieve | deadline due date schedule timeline milestone calendar sprint | meeting call
appointment session discussion interview sync | improve increase boost enhance better optimize
improvement | reduce decrease lower cut drop | test testing coverage unittest pytest qa | deploy
deployment release production server hosting heroku docker render | database sql sqlite postgres
postgresql mysql mongodb table schema query column | security authentication login password
encryption auth token access hash vulnerability lockout role permission authorization csrf |
library package framework dependency module flask django react bootstrap | interface ui ux
design layout button page frontend | performance speed latency fast slow response cache optimize
| document documentation report draft paper essay article write manuscript | number count total
amount how_many | personality kind caring thoughtful brave shy outgoing honest generous creative
confident patient funny friendly supportive | body head hand foot leg arm knee back heart skin
hair eye face | skin skincare serum makeup lotion cream sunscreen beauty | nationality american
british italian french spanish german japanese chinese mexican indian korean swedish greek |
language english spanish french german italian japanese chinese korean learn fluent duolingo
translate | age old young birthday years born | live reside living home hometown based | crime
police steal stolen arrest lawyer court jail prison legal | death die passed funeral grief loss
lost mourning | gift present surprise souvenir | collect collection collector memorabilia
figurine | symbol necklace tattoo flag cross pendant represent emblem meaningful token charm |
appearance hair tall short beard glasses look wear haircut | ingredient flour sugar butter oil
salt milk coconut vanilla garlic cream spice herb almond | furniture couch sofa chair table desk
lamp shelf bed rug blanket pillow | space star planet moon astronomy galaxy telescope rocket
universe | team coach player teammate captain league season | visa immigration passport permit
embassy consulate | audience reader viewer follower listener | nickname name called call |
residence address street neighborhood suburb | meal breakfast lunch dinner brunch supper |
childhood kid grew youth young memory nostalgia | memory memories remember keepsake album photo
scrapbook | luck fortune superstition | volunteer shelter homeless donate community soup | hire
recruit employ staff | buy purchase bought order acquire | destroy damage break broken ruin |
lose lost missing misplace | teach teacher lesson tutor instruct mentor workshop | perform
performance stage show concert theater audition | photography camera photo lens shoot portrait |
cleaning clean laundry wash tidy chores | repair fix mend maintenance | build construct assemble
| internet wifi network online website web | email mail message inbox newsletter | privacy
secret confidential personal | wine beer alcohol drunk bar pub cocktail | smoke smoking
cigarette vape quit | weight diet lose slim calorie gym | baby pregnant pregnancy birth newborn
| adopt adoption foster agency orphan | marriage wedding honeymoon bride groom anniversary
"""


@cache
def _concept_table() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for group in _CONCEPT_GROUPS.split("|"):
        words = group.split()
        label = "\u00a7" + words[0]
        for word in words:
            for part in word.split("_"):
                stem = stem_english(part)
                if label not in table.get(stem, ()):
                    table[stem] = (*table.get(stem, ()), label)
    return table


def concepts_of(term: str) -> tuple[str, ...]:
    """Labels of the groups that a stem belongs to; labels start with a section sign."""
    return _concept_table().get(term, ())


@cache
def _concept_members_table() -> dict[str, tuple[str, ...]]:
    members: dict[str, list[str]] = {}
    for stem, labels in _concept_table().items():
        for label in labels:
            members.setdefault(label, []).append(stem)
    return {label: tuple(stems) for label, stems in members.items()}


def concept_members(label: str) -> tuple[str, ...]:
    """Stems of the words of a group; empty for what is no label of a group."""
    return _concept_members_table().get(label, ())
