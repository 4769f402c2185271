"""Options of a command: the fields of its config, by name, type and default, and what stands beside the type.

    trials: Annotated[int | None, Option("heads to try", read=positive_int)] = None

is `--trials N`. A field without an `Option` is none of the command line's.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, MISSING, Field, dataclass, fields
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from bv_search.errors import UnknownName
from bv_search.files import home_path
from bv_search.words import duration, integer, number, score, size, spell_size

Config = TypeVar("Config")

READERS: dict[Any, Callable[[str], Any]] = {str: str, int: integer, float: number, Path: home_path}
"""By a field's type, where its option has no reader of its own."""

METAVARS: dict[Any, str] = {
    size: "SIZE",
    duration: "TIME",
    score: "SCORE",
    int: "N",
    float: "F",
    Path: "FOLDER",
}
"""What stands for a value in help, by its reader or type, where its option has nothing of its own."""


@dataclass(frozen=True)
class Option:
    help: str  # with the default where that is no value, such as "(default: all cores)"
    _: KW_ONLY
    read: Callable[[str], Any] | None = None  # a word → what it means, or refused by `words`
    metavar: str | tuple[str, ...] | None = None
    choices: Sequence[str] | None = None
    count: int | str | None = None  # of words, each read by itself: 2, or + for some
    name: str | None = None  # where it is not that of the field
    positional: bool = False
    group: str | None = None  # the title that it stands under


TaskOption = Annotated[str, Option("name of a task, or a YAML file that defines one")]
EncoderOption = Annotated[str, Option("a transformers folder, or a name on the Hub (NAME or NAME@REVISION)")]
DataOption = Annotated[
    str | None, Option("local folder or file of the task; without it, from the Hub", metavar="PATH")
]
OutOption = Annotated[Path, Option("folder for all of it")]
"""What several commands ask for."""


@dataclass(frozen=True, kw_only=True)
class ConfigOption:
    """An option as it stands in a config."""

    option: Option
    field: "Field[Any]"
    hint: Any  # the field's type

    @property
    def is_flag(self) -> bool:
        return self.option.read is None and bool in self._types()

    @property
    def name(self) -> str:
        """As it is typed; a flag says that something is otherwise than it would be."""
        if self.option.positional:
            return str(self.option.metavar or self.field.name.upper())
        no = "no-" if self.is_flag and self.field.default is not False else ""
        return self.option.name or f"--{no}{self.field.name.replace('_', '-')}"

    def add_to(self, parser: Any) -> None:
        settings: dict[str, Any] = {"help": self._help(), "default": self.field.default}
        if self.is_flag:
            settings["action"] = "store_true" if self.field.default is False else "store_false"
        else:
            settings |= {"type": self._reader(), "nargs": self._count(), "metavar": self._metavar()}
        if self.option.choices is not None:
            settings["choices"] = [str(choice) for choice in self.option.choices]
        if self.option.positional:
            parser.add_argument(self.field.name, **settings)
        else:
            required = self.field.default is MISSING
            parser.add_argument(self.name, dest=self.field.name, required=required, **settings)

    def _types(self) -> tuple[Any, ...]:
        members = get_args(self.hint) if isinstance(self.hint, UnionType) else (self.hint,)
        parts = (get_args(each) if get_origin(each) is tuple else (each,) for each in members)
        return tuple(chain.from_iterable(parts))

    def _reader(self) -> Callable[[str], Any]:
        if self.option.choices is not None:
            known: dict[str, Any] = {str(choice): choice for choice in self.option.choices}
            return lambda word: known.get(word, word)  # what is no choice, argparse refuses
        return self.option.read or next(READERS[each] for each in self._types() if each in READERS)

    def _count(self) -> int | str | None:
        some = get_origin(self.hint) is tuple and self.option.read is None
        return self.option.count or ("+" if some else None)

    def _metavar(self) -> str | tuple[str, ...] | None:
        if self.option.metavar is not None or self.option.choices is not None:
            return self.option.metavar
        found = (METAVARS[each] for each in (self.option.read, *self._types()) if each in METAVARS)
        return next(found, None)

    def _help(self) -> str:
        told = self.is_flag or self.field.default in (MISSING, None, "", ()) or "(default" in self.option.help
        return self.option.help if told else f"{self.option.help} (default: {self._default()})"

    def _default(self) -> str:
        """As it would be typed."""
        default: Any = self.field.default
        if self.option.read is size:
            return spell_size(default)
        return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def options_of(config: type) -> Iterator[ConfigOption]:
    """In the order of the fields."""
    hints = get_type_hints(config, include_extras=True)
    for each in fields(config):
        hint = hints[each.name]
        if get_origin(hint) is Annotated:
            yield ConfigOption(option=hint.__metadata__[0], field=each, hint=hint.__origin__)


def add_options(parser: ArgumentParser, config: type) -> None:
    groups: dict[str | None, Any] = {None: parser}
    for each in options_of(config):
        title = each.option.group
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        each.add_to(groups[title])


def fill(config: type[Config], said: Namespace) -> Config:
    """The config that was asked for; it refuses what cannot be."""
    values = {each.field.name: getattr(said, each.field.name) for each in options_of(config)}
    return config(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )


def check_choices(config: Any) -> None:
    """Those that Python asked for; the command line has none but these."""
    for each in options_of(type(config)):
        value, choices = getattr(config, each.field.name), each.option.choices
        if value is not None and choices is not None and value not in choices:
            raise UnknownName(each.field.name, value, choices)


def given(config: Any) -> dict[str, str]:
    """Fields that are not as their defaults are, and the options that say so."""
    return {
        each.field.name: each.name
        for each in options_of(type(config))
        if getattr(config, each.field.name) != each.field.default
    }
