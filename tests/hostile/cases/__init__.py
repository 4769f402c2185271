"""All families of hostile inputs, by name."""

from tests.hostile.cases.data import DATA
from tests.hostile.cases.encoders import ENCODERS
from tests.hostile.cases.heads import HEADS
from tests.hostile.cases.journals import JOURNALS
from tests.hostile.cases.places import PLACES
from tests.hostile.cases.spaces import SPACES
from tests.hostile.cases.stores import STORES
from tests.hostile.cases.tasks import TASKS
from tests.hostile.room import Case

FAMILIES: dict[str, tuple[Case, ...]] = {
    "space": SPACES,
    "task": TASKS,
    "data": DATA,
    "store": STORES,
    "journal": JOURNALS,
    "head": HEADS,
    "encoder": ENCODERS,
    "place": PLACES,
}
