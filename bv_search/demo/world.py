"""The small world that the demonstration's text tells of: people, and kinds of facts about them."""

from dataclasses import dataclass


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PEOPLE = words("""
    Adela Amund Arvid Aurel Beda Birger Caspar Cecil Corin Dario Eirik Elin Enid Fabian Fenella Freya
    Gisela Gunnar Hadley Hedda Hilda Ida Isolde Jonas Kaspar Katrin Lars Linnea Ludo Maren Mikkel Nadia
    Nora Olaf Petra Quentin Roald Sabine Selma Silas Stellan Tarja Thea Torvald Valdis Vera Wanda Yrsa
""")

PLACES = words("""
    Alderbrook Ashford Blackmere Bramble Crowhill Dunmoor Elmsworth Foxglove Graywater Harrowgate
    Hazeldown Ironbridge Kestrel Larkspur Millbrook Netherby Oakhaven Ravenholm Saltmarsh Stonebridge
    Thornfield Westerly Whitecap Windmere
""")

TRADES = words("""
    baker barber blacksmith brewer butcher carter cobbler cooper ferryman fisher forester glazier hatter
    judge mason miller painter potter printer sailor surgeon tailor teacher
""")

COLOURS = words("""
    black blue brown copper crimson golden grey purple silver white
""")

PETS = words("""
    cat crow dog falcon ferret goat hare heron mule parrot pony raven
""")

INSTRUMENTS = words("""
    accordion bagpipe banjo bugle cello clarinet cymbal drum dulcimer flute guitar harp lute lyre
    mandolin organ piano piccolo viola whistle
""")

FLAVOURS = words("""
    baked boiled candied dried fried roasted salted smoked spiced stewed
""")

FOODS = words("""
    apples beans beets carrots cherries eel figs lentils mushrooms mussels pears plums trout turnips
""")

MONTHS = words("""
    January February March April May June July August September October November December
""")

YEARS = tuple(str(year) for year in range(1801, 1825))

ORIGINS = words("""
    ancient broken foreign painted polished rare royal tiny
""")

KEEPSAKES = words("""
    bells bottles buttons coins combs keys maps masks ribbons shells spoons stamps
""")

TERRORS = words("""
    bats caves darkness fog frost ghosts hail ladders lightning moths snakes spiders storms thunder wasps
    wolves
""")


@dataclass(frozen=True, kw_only=True)
class FactKind:
    """A kind of fact: its values (each part is drawn by itself), how it is told, how it is asked for."""

    parts: tuple[tuple[str, ...], ...]
    told: tuple[str, ...]
    asked: tuple[str, ...]


KINDS = {
    "home": FactKind(
        parts=(PLACES,),
        told=("{who} lives in {what}.", "The home of {who} is in {what}.", "{who} has a house in {what}."),
        asked=(
            "Where does {who} live?",
            "In which place is the home of {who}?",
            "Which town has the house of {who}?",
        ),
    ),
    "trade": FactKind(
        parts=(TRADES,),
        told=("{who} works as a {what}.", "The trade of {who} is {what}.", "{who} earns money as a {what}."),
        asked=("What does {who} work as?", "What is the trade of {who}?", "How does {who} earn money?"),
    ),
    "pet": FactKind(
        parts=(COLOURS, PETS),
        told=("{who} keeps a {what}.", "The pet of {who} is a {what}.", "{who} owns a {what}."),
        asked=("What pet does {who} own?", "Which animal does {who} keep?", "What is the pet of {who}?"),
    ),
    "music": FactKind(
        parts=(INSTRUMENTS,),
        told=(
            "{who} plays the {what}.",
            "The instrument of {who} is the {what}.",
            "{who} practises the {what}.",
        ),
        asked=(
            "Which instrument does {who} play?",
            "What is the instrument of {who}?",
            "What does {who} practise?",
        ),
    ),
    "dish": FactKind(
        parts=(FLAVOURS, FOODS),
        told=("{who} likes to eat {what}.", "The best dish of {who} is {what}.", "{who} often cooks {what}."),
        asked=(
            "What does {who} like to eat?",
            "What is the best dish of {who}?",
            "Which meal does {who} often cook?",
        ),
    ),
    "birth": FactKind(
        parts=(MONTHS, YEARS),
        told=(
            "{who} was born in {what}.",
            "The birth of {who} was in {what}.",
            "The life of {who} began in {what}.",
        ),
        asked=(
            "When was {who} born?",
            "What is the birth date of {who}?",
            "When did the life of {who} begin?",
        ),
    ),
    "hobby": FactKind(
        parts=(ORIGINS, KEEPSAKES),
        told=("{who} collects {what}.", "The hobby of {who} is {what}.", "{who} trades in {what}."),
        asked=(
            "What does {who} collect?",
            "What is the hobby of {who}?",
            "Which things does {who} trade in?",
        ),
    ),
    "fear": FactKind(
        parts=(TERRORS,),
        told=(
            "{who} is afraid of {what}.",
            "The great fear of {who} is {what}.",
            "{who} runs away from {what}.",
        ),
        asked=(
            "What is {who} afraid of?",
            "What is the great fear of {who}?",
            "From what does {who} run away?",
        ),
    ),
}
