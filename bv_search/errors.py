"""Everything that can go wrong, as one tree.

    BvError                  our failure: exit status 1
    └── UserError            the user's input: one clear line, exit status 2
        ├── UnknownName      a task, space, searcher … that does not exist
        ├── DataError        a data file that cannot be used
        ├── SpaceError       a search space that cannot be used
        ├── EncoderError     an encoder or stage that cannot be used
        ├── StoreError       a store that is absent, damaged or does not fit
        ├── HeadError        a saved head that cannot be used
        ├── RunError         a run folder that cannot be used
        └── OutputError      a place that cannot be written

A message says what, where, expected, found and what to do, on one line of a length that can be read, whatever
stands in the input.
"""

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 470  # characters of a message; with the command's name before it a line has at most 500
SHORT = 85  # of each of its parts, where it would be longer


class BvError(Exception):
    """What went wrong, where, what was expected, what was found, what to do next."""

    exit_status = 1

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        expected: object = None,
        found: object = None,
        do: str | None = None,
    ) -> None:
        self.what, self.where, self.expected, self.found, self.do = what, where, expected, found, do
        super().__init__(self._line())

    def __reduce__(self) -> tuple[object, ...]:
        """Of what is told only its text: an error of an HTTP client holds what cannot be pickled."""
        told = {name: _text(getattr(self, name)) for name in ("where", "expected", "found")}
        return _rebuild, (type(self), self.__dict__ | told)

    def _line(self) -> str:
        line = self._joined(LONGEST)
        return line if len(line) <= LONGEST else self._joined(SHORT)

    def _joined(self, limit: int) -> str:
        what, where = shown(self.what, limit), shown(self.where, limit)
        line = what if self.where is None else f"{where}: {what}"
        if self.expected is not None:
            line += f"; expected {shown(self.expected, limit)}"
        if self.found is not None:
            line += f"; found {shown(self.found, limit)}"
        if self.do is not None:
            line += f"; {shown(self.do, limit)}"
        return line.rstrip()


def shown(value: object, limit: int) -> str:
    """A text on one line, its middle left out where it is too long, and nothing in it that moves a cursor."""
    text = str(value)
    if len(text) > 4 * limit:  # most of it is not looked at
        text = f"{text[: 2 * limit]} … {text[-limit:]}"
    text = "".join(each if each.isprintable() else _spelled(each) for each in " ".join(text.split()))
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3 - 3].rstrip()} … {text[-(limit // 3) :].lstrip()}"


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _rebuild(kind: type[BvError], state: dict[str, object]) -> BvError:
    """Errors cross process borders (Ray pickles them), and keyword-only arguments do not by themselves."""
    error = kind.__new__(kind)
    error.__dict__.update(state)
    Exception.__init__(error, error._line())
    return error


class UserError(BvError):
    exit_status = 2


class UnknownName(UserError):
    """A name that is not in a registry, with the nearest one that is."""

    def __init__(self, kind: str, name: object, known: Iterable[str], do: str | None = None) -> None:
        names = sorted(known)
        near = get_close_matches(str(name), names, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else None
        super().__init__(
            f"no {kind} named {str(name)!r}",
            expected=f"one of {', '.join(names)}",
            do=" ".join(filter(None, [advice, do])) or None,
        )


class DataError(UserError): ...


class SpaceError(UserError): ...


class EncoderError(UserError): ...


class StoreError(UserError): ...


class HeadError(UserError): ...


class RunError(UserError): ...


class OutputError(UserError): ...
