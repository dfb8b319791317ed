"""Kinds of things that people ask about, and words for things of that kind.

Averaged word vectors know that a bicycle is a bike, but hardly that a Skoda is a car or asthma an
illness. Who asks "What car do I drive?" names the kind, and the answer a thing of that kind. The
words are English, into which everyday words of other languages are translated before.
"""

from __future__ import annotations

from collections.abc import Iterable

from theanine.retrieval.languages import stem

_KINDS = {
    # kind, as questions name it: things of that kind
    "car vehicle drive": (
        "audi bmw chevrolet dacia fiat ford honda hyundai jeep kia mazda mercedes mini nissan "
        "opel peugeot porsche renault seat skoda subaru suzuki tesla toyota van truck suv "
        "vauxhall volkswagen volvo vw motorbike motorcycle scooter"
    ),
    "bike bicycle cycle": ("bike bicycle cycle ebike trek brompton"),
    "illness disease sick condition diagnosis health medical ill suffer": (
        "adhd anemia anxiety arthritis asthma bronchitis cancer celiac cold covid depression "
        "diabetes eczema epilepsy fever flu hypertension infection insomnia leukemia lupus "
        "migraine pneumonia psoriasis stroke thyroid tumor ulcer cholesterol allergy "
        "sclerosis disorder"
    ),
    "medicine medication drug pill treatment": (
        "antibiotic antidepressant aspirin ibuprofen insulin metformin paracetamol penicillin "
        "statin tablet pill inhaler vitamin prescription therapy"
    ),
    "job work profession living occupation career employer employed": (
        "accountant actor architect artist baker banker barber barista builder butcher "
        "carpenter chef cleaner cook dancer dentist designer developer doctor driver editor "
        "electrician engineer farmer firefighter fisherman gardener hairdresser journalist "
        "judge lawyer librarian manager mechanic midwife musician nurse officer painter "
        "pharmacist photographer physicist pilot plumber policeman professor programmer "
        "psychologist receptionist salesman scientist secretary soldier surgeon tailor "
        "teacher therapist translator vet waiter waitress writer works worked job office "
        "company teaches sales freelance"
    ),
    "boss manager": ("boss manager supervisor director"),
    "food eat dish meal diet cuisine restaurant": (
        "apple bacon banana beans beef bread broccoli burger butter cake cheese chicken "
        "chocolate cookie curry dairy egg fish fruit gluten ham lactose lasagna meat milk "
        "mushroom nuts onion pancake pasta peanut pizza porridge pork potato rice salad "
        "salmon sandwich sausage seafood shellfish soup spaghetti spinach steak sugar sushi "
        "taco tofu tomato vegan vegetable vegetarian wheat yogurt salt kosher halal noodle "
        "ramen thai italian"
    ),
    "breakfast lunch dinner snack": (
        "cereal egg muesli oatmeal pancake porridge sandwich salad soup toast yogurt bread"
    ),
    "drink beverage": (
        "beer cider cocktail coffee espresso gin juice lemonade milk rum soda tea vodka water "
        "whiskey whisky wine smoothie"
    ),
    "pet animal creature": (
        "bird bee budgie bunny cat chicken cow dog donkey duck ferret fish goat goldfish "
        "guinea hamster hen horse kitten lizard mouse parrot pig pony puppy rabbit rat sheep "
        "snake spider tortoise turtle"
    ),
    "breed dog": (
        "beagle boxer bulldog chihuahua collie dachshund dalmatian husky labrador poodle pug "
        "retriever setter shepherd spaniel terrier puppy"
    ),
    "name called": ("call called name named nickname"),
    "color colour": (
        "beige black blue brown gold gray green grey orange pink purple red silver turquoise "
        "violet white yellow"
    ),
    "city town live country move moving home address birthplace abroad": (
        "address amsterdam athens australia austria barcelona belgium berlin boston brazil "
        "brussels canada chicago china copenhagen denmark dublin edinburgh egypt england "
        "finland flat france germany glasgow greece house iceland india ireland italy japan "
        "kenya lisbon live lived lives london madrid mexico milan moscow moved munich "
        "netherlands norway oslo paris poland porto portugal prague rome russia scotland "
        "seattle spain stockholm street sweden switzerland sydney tokyo toronto turkey vienna "
        "village wales warsaw york zurich born grew texas california florida nebraska "
        "apartment"
    ),
    "instrument music play band": (
        "accordion bass cello clarinet drums flute guitar harp harmonica keyboard organ piano "
        "saxophone trombone trumpet ukulele viola violin choir orchestra band"
    ),
    "sport exercise fitness workout": (
        "badminton baseball basketball boxing climbing cricket cycling football golf gym "
        "handball hiking hockey jogging judo karate marathon pilates rowing rugby running "
        "skating skiing soccer squash surfing swimming tennis triathlon volleyball wrestling "
        "yoga"
    ),
    "team club soccer football": (
        "arsenal barcelona bayern celtic chelsea city dortmund everton juventus lakers "
        "liverpool madrid manchester rangers tottenham united yankees"
    ),
    "language speak": (
        "arabic chinese danish dutch english finnish french german greek hebrew hindi italian "
        "japanese korean latin mandarin norwegian polish portuguese russian spanish swedish "
        "turkish ukrainian bilingual"
    ),
    "programming code coding": (
        "c++ golang java javascript kotlin php python ruby rust scala swift typescript vim "
        "emacs vscode"
    ),
    "subject study studied degree university college major": (
        "art biology business chemistry computer economics engineering geography history law "
        "linguistics literature math maths mathematics medicine music nursing philosophy "
        "physics politics psychology sociology thesis university graduated semester"
    ),
    "family sibling relative": (
        "aunt brother cousin dad daughter father grandfather grandma grandmother grandpa "
        "husband mom mother mum nephew niece parents sister son twin uncle wife"
    ),
    "children kids child baby": (
        "baby child children daughter kid kids newborn pregnant son toddler twins due"
    ),
    "partner married spouse relationship marry wedding": (
        "boyfriend bride divorced engaged fiance fiancé fiancée girlfriend groom husband "
        "married partner single widow wedding wife anniversary proposed separated"
    ),
    "friend": ("buddy friend mate pal roommate flatmate colleague neighbor"),
    "old age birthday born": (
        "age aged birthday born forty fifty sixty seventy thirty twenty turned turns years year"
    ),
    "when date day time": (
        "april august autumn christmas december easter evening fall february friday january "
        "july june march may monday month morning night november october saturday september "
        "spring summer sunday thursday today tomorrow tonight tuesday wednesday week weekend "
        "winter yesterday noon midnight ago since until pm am"
    ),
    "money cost price pay much rent salary earn": (
        "bucks cent dollar dollars euro euros expensive money paid pound pounds price rent "
        "salary usd"
    ),
    "hobby hobbies free spare interest": (
        "baking chess collect cooking dancing drawing fishing gardening hiking knitting music "
        "origami painting photography pottery puzzle reading sewing singing swimming travel "
        "writing"
    ),
    "book read reading author writer": (
        "author biography book fiction novel poem poetry read reading series story thriller"
    ),
    "movie film watch show tv series": (
        "actor cinema comedy documentary episode film horror movie netflix season series show "
        "thriller western"
    ),
    "fear afraid scared phobia scare frighten": (
        "afraid dread fear frightened hate horror panic phobia scared scares terrified anxious"
    ),
    "feel feeling mood emotion": (
        "afraid angry anxious bored depressed excited exhausted glad grateful happy lonely "
        "nervous proud relieved sad scared stressed tired upset worried"
    ),
    "travel trip vacation holiday": (
        "beach camping cruise flight flew hike hiking holiday hotel island road travel trip "
        "vacation visit visited"
    ),
    "transport commute get": ("boat bus car ferry metro plane subway taxi train tram walk bike"),
    "injury hurt injured pain": (
        "ache ankle arm back bone broke broken bruise elbow finger foot injured injury knee "
        "leg neck pain shoulder sprained surgery toe wrist"
    ),
    "allergic allergy intolerant": (
        "allergic allergy gluten intolerant lactose nuts peanut pollen"
    ),
    "computer laptop phone device": (
        "android chromebook dell iphone ipad lenovo linux mac macbook pc pixel samsung "
        "thinkpad windows laptop tablet"
    ),
    "religion faith believe": (
        "atheist bible buddhist catholic christian church hindu jewish mosque muslim "
        "protestant temple"
    ),
    "appointment meeting interview schedule": ("appointment interview meeting call scheduled"),
    "party vote politics": ("conservative democrat green labour liberal republican socialist vote"),
    "quit stop stopped gave": ("gave quit sold stopped"),
    "recommend suggest advise propose advice tip recommendation suggestion": (
        "recommend suggest advise propose advice tip recommendation suggestion"
    ),
    "gift present": ("gift present voucher"),
    "operation surgery operate": ("operation operated surgery surgeon"),
    "poem poetry verse": ("haiku limerick poem rhyme sonnet verse"),
    "math maths compute calculate arithmetic": (
        "divided equals minus multiplied percent plus sum times"
    ),
    "clothes clothing wear outfit": (
        "blouse boots cap coat dress gloves hat jacket jeans scarf shirt shoes shorts skirt "
        "sneakers socks suit sweater trousers uniform"
    ),
    "furniture": (
        "armchair bed bench bookcase bookshelf chair couch cupboard desk drawer lamp mattress "
        "shelf sofa stool table wardrobe"
    ),
    "plant flower tree garden herb": (
        "basil cactus daisy dahlia fern lavender lily mint oak orchid palm rosemary roses "
        "sage thyme tomato tulip violets willow"
    ),
    "tool": ("axe drill hammer ladder pliers sander saw screwdriver shovel wrench"),
    "weather": ("fog frost hail heat rain snow storm sunny wind"),
    "boat ship vessel": ("barge canoe catamaran dinghy ferry kayak sailboat sailing tanker yacht"),
    "plan planning dream goal future want wish": (
        "dream goal going hope plan planning saving someday thinking want wants wish"
    ),
}


def things_of(*kinds: str) -> frozenset[str]:
    """Return the words for things of the kinds that these words name, such as "pet"."""
    return frozenset(
        thing
        for names, things in _KINDS.items()
        if not {*names.split()}.isdisjoint(kinds)
        for thing in things.split()
    )


def _number_kinds(column: int) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for bit, (asked, things) in enumerate(_KINDS.items()):
        for word in (asked, f"{asked} {things}")[column].split():
            numbers[stem(word)] = numbers.get(stem(word), 0) | 1 << bit
    return numbers


KINDS = [1 << number for number in range(len(_KINDS))]
"""The bit of each kind."""
_asked, _met = _number_kinds(0), _number_kinds(1)


def kinds_asked(terms: Iterable[str]) -> int:
    """Return the kinds that the terms of a question name, one bit each."""
    return _union(_asked, terms)


def kinds_met(terms: Iterable[str]) -> int:
    """Return the kinds that the terms of a statement belong to or name, one bit each."""
    return _union(_met, terms)


def _union(kinds: dict[str, int], terms: Iterable[str]) -> int:
    result = 0
    for term in terms:
        result |= kinds.get(term, 0)
    return result
