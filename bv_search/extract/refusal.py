"""An error of ours as text, for ways on which exceptions do not travel well."""

import json

from bv_search import errors
from bv_search.errors import BvError

FIELDS = ("where", "expected", "found", "do")


def error_to_json(error: BvError) -> str:
    told = {name: None if getattr(error, name) is None else str(getattr(error, name)) for name in FIELDS}
    return json.dumps({"kind": type(error).__name__, "what": error.what, **told})


def error_from_json(text: str) -> BvError:
    """The same kind of error, with the same line."""
    told = json.loads(text)
    kind = getattr(errors, told.pop("kind"), BvError)
    if kind is errors.UnknownName:  # its constructor makes the line itself
        kind = errors.UserError
    error: BvError = kind(told.pop("what"), **told)
    return error
