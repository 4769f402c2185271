"""A search space: a tree whose leaves are fixed values or distributions, conditional where choices nest.

A point of it is written in two ways: as a trial's *config* (what trains), and as *draws* (what searchers
see): the path of each parameter on the way to its number, for choices the option's index.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from bv_search.command import AUTO
from bv_search.document import Unreadable, load_yaml, read_plain
from bv_search.errors import SpaceError, UnknownName, UserError
from bv_search.scan.trial import TrialConfig
from bv_search.tune.distribution import (
    PARSERS,
    Choice,
    Distribution,
    Value,
    parse_distribution,
)

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE.parent / "search_spaces", PACKAGE / "search_spaces")  # a checkout; an installed wheel

OWN = "own"  # what a space is called that has no file
AUTO_BATCH = {False: 32, True: 256}
"""Windows a step, by whether a store keeps one token of each: 32 of those are a dozen tiny operations."""

MOST_CORNERS = 20_000
MOST_POINTS = 100_000
Draws = dict[str, Value]
Pick = Callable[[str, Distribution], Value]
Values = Callable[[str, Distribution], tuple[Value, ...]]
Config = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Space:
    name: str
    about: str
    document: Mapping[str, Any]  # as it stood in its file
    tree: Any = field(repr=False)
    start: tuple[Config, ...] = ()
    max_parameters: int | None = None  # of one copy of a head

    def draw(self, pick: Pick) -> Draws:
        """Ask `pick` for each parameter that its ancestors' draws make real."""
        draws: Draws = {}
        _draw(self.tree, "", pick, draws)
        return draws

    def config(self, draws: Mapping[str, Value]) -> Config:
        built: Config = _build(self.tree, "", draws)
        return built

    def draws(self, config: Config) -> Draws:
        """The draws that give a config: the way back, for starting points and resumed runs."""
        draws: Draws = {}
        if not _match(self.tree, config, "", draws):
            raise SpaceError("a point outside the space", where=self.name, found=config)
        return draws

    def points(self) -> Iterator[Draws]:
        """Every point, where all parameters are choices, and these are not too many."""
        if self.is_finite() and not self.is_enumerable():
            raise SpaceError(
                "too many points for a grid",
                where=self.name,
                expected=f"at most {MOST_POINTS:,}",
                do="use another searcher",
            )
        return _enumerate(self.tree, "", _options)

    def is_finite(self) -> bool:
        return not any(not isinstance(d, Choice) for d in self.parameters().values())

    def is_enumerable(self) -> bool:
        """Finite, with points that are few enough to be listed."""
        return self.is_finite() and _count(self.tree) <= MOST_POINTS

    def parameters(self) -> dict[str, Distribution]:
        found: dict[str, Distribution] = {}
        _collect(self.tree, "", found)
        return found

    def corners(self) -> Iterator[Config]:
        """Each option, and each bound of each number: enough to see what is wrong with a space.

        One top-level parameter at a time, with all that depends on it, beside the others' first values:
        heads do not depend on how they are trained, and all combinations would be too many to look at.
        """
        return map(self.config, self._corners(_edges))

    def typed_corners(self) -> list[TrialConfig]:
        return [TrialConfig.from_json(corner) for corner in self.corners()]

    def probes(self) -> Iterator[Draws]:
        """Corners, and beside them a step inside of them: what all that can be drawn is judged by."""
        return self._corners(_probes)

    def _corners(self, values: Values) -> Iterator[Draws]:
        first = {key: next(_enumerate(node, key, values)) for key, node in self.tree.items()}
        for key, node in self.tree.items():
            for draws in _enumerate(node, key, values):
                yield {**_merged(first), **draws}


def parse_space(document: Mapping[str, Any], name: str, *, one_token: bool = False) -> Space:
    """The space for a store of one token a window, or of many: `batch: auto` is settled by that."""
    _refuse_bad_keys(document, name)
    unknown = sorted(document.keys() - {"about", "max_parameters", "space", "start"})
    if unknown:
        raise SpaceError(f"no key {unknown[0]!r}", where=name, expected="about, max_parameters, space, start")
    about, inside, start = document.get("about", ""), document.get("space"), document.get("start", [])
    limit = document.get("max_parameters")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise SpaceError("bad max_parameters", where=name, expected="a number above 0", found=repr(limit))
    if not isinstance(about, str):
        raise SpaceError("bad description", where=f"{name}: about", expected="a text", found=repr(about))
    if not isinstance(inside, dict) or not inside:
        raise SpaceError("no space in it", where=name, expected="space: {head: …, learning_rate: …}")
    if not isinstance(start, list) or not all(isinstance(point, dict) for point in start):
        raise SpaceError(
            "bad starting points",
            where=f"{name}: start",
            expected="a list of configs, [{head: …}, …]",
            found=repr(start),
        )
    batch = AUTO_BATCH[one_token]
    inside, start = _settled(inside, batch), [_settled(point, batch) for point in start]
    document = {**document, "space": inside, **({"start": start} if start else {})}
    tree = _parse(inside, f"{name}: space")
    if not isinstance(tree, dict):
        raise SpaceError("a distribution as the whole space", where=name, expected="space: {head: …}")
    _refuse_many(tree, name)
    space = Space(
        name=name, about=about, document=dict(document), tree=tree, start=tuple(start), max_parameters=limit
    )
    _prove(space)
    return space


def _settled(point: dict[str, Any], batch: int) -> dict[str, Any]:
    return {**point, "batch": batch} if point.get("batch") == AUTO else point


def _refuse_many(tree: dict[str, Any], name: str) -> None:
    """Each corner is looked at, and choices inside of each other multiply."""
    most = max(tree, key=lambda key: _count(tree[key]))
    found = _count(tree[most])
    if found > MOST_CORNERS:
        raise SpaceError(
            "too many combinations to look at",
            where=f"{name}: space.{most}",
            expected=f"at most {MOST_CORNERS:,} options and bounds, multiplied where they meet",
            found=f"{found:.3g}" if found > 10**15 else f"{found:,}",
            do="draw numbers from bounds, as by randint, or split the space",
        )


def _count(node: Any) -> int:
    """How many probes there are."""
    if isinstance(node, dict):
        return math.prod(map(_count, node.values()))
    if isinstance(node, Choice):
        return sum(map(_count, node.options))
    return len(node.probes()) if isinstance(node, Distribution) else 1


def _refuse_bad_keys(node: Any, where: str) -> None:
    """YAML reads some words as no text: `on` and `no` are truth values, `1` a number."""
    below = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, value in below:
        if isinstance(node, Mapping) and not isinstance(key, str):
            raise SpaceError("bad key", where=where, expected="a name", found=repr(key))
        _refuse_bad_keys(value, where)


def _prove(space: Space) -> None:
    """A bad head or setting is found now, not by the trial that first draws it."""
    for number, config in enumerate(space.start, start=1):
        where = f"{space.name}: start {number}"
        if (fault := _fault(config)) is not None:
            raise _moved(fault, where, fault.do) from fault
        try:
            space.draws(config)
        except SpaceError as error:
            raise SpaceError("a starting point outside the space", where=where, found=config) from error
    for draws in space.probes():
        if (fault := _fault(space.config(draws))) is not None:
            raise _moved(fault, space.name, fault.do or _advice(space, draws, fault)) from fault


def _fault(config: Config) -> UserError | None:
    try:
        TrialConfig.from_json(config)
    except UserError as error:
        return error
    return None


def _moved(fault: UserError, where: str, do: str | None) -> SpaceError:
    return SpaceError(fault.what, where=where, expected=fault.expected, found=fault.found, do=do)


def _advice(space: Space, draws: Draws, fault: UserError) -> str | None:
    """What to use where a value is refused for how it is drawn, not for its bounds."""

    def stays(path: str, value: Value) -> bool:
        other = _fault(space.config({**draws, path: value}))
        return other is not None and other.what == fault.what

    parameters = space.parameters()
    for path, value in draws.items():
        name, edges, whole = parameters[path].name, parameters[path].edges(), math.ceil(value)
        if type(value) is float and stays(path, float(whole)) and not stays(path, whole):
            return f"{name} draws fractions: use randint, quniform with a whole step, or choice"
        if value not in edges and not stays(path, edges[0]):
            return f"{name} draws others too: use quniform with a step that fits, or choice"
    return None


def _parse(node: Any, where: str) -> Any:
    if isinstance(node, dict) and len(node) == 1 and (name := next(iter(node))) in PARSERS:
        distribution = parse_distribution(name, node[name], where)
        if isinstance(distribution, Choice):
            options = [_parse(o, f"{where}, option {n + 1}") for n, o in enumerate(distribution.options)]
            return Choice(tuple(options))
        return distribution
    if isinstance(node, dict):
        _refuse_misspelled(node, where)
        return {key: _parse(value, f"{where}.{key}") for key, value in node.items()}
    if isinstance(node, list):
        raise SpaceError("a bare list", where=where, expected=f"choice: {node}", found=node)
    return node


def _refuse_misspelled(node: dict[str, Any], where: str) -> None:
    """No setting is a list, so a lone key with one is a distribution that does not exist."""
    if len(node) == 1 and isinstance(next(iter(node.values())), list):
        parse_distribution(next(iter(node)), None, where)


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _draw(node: Any, path: str, pick: Pick, draws: Draws) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            _draw(value, _join(path, key), pick, draws)
    elif isinstance(node, Choice):
        index = draws[path] = int(pick(path, node))
        _draw(node.options[index], _join(path, index), pick, draws)
    elif isinstance(node, Distribution):
        draws[path] = node.exact(pick(path, node))


def _build(node: Any, path: str, draws: Mapping[str, Value]) -> Any:
    if isinstance(node, dict):
        return {key: _build(value, _join(path, key), draws) for key, value in node.items()}
    if isinstance(node, Choice):
        index = int(draws[path])
        return _build(node.options[index], _join(path, index), draws)
    return draws[path] if isinstance(node, Distribution) else node


def _match(node: Any, value: Any, path: str, draws: Draws) -> bool:
    if isinstance(node, dict):
        if not isinstance(value, dict) or node.keys() != value.keys():
            return False
        return all(_match(node[key], value[key], _join(path, key), draws) for key in node)
    if isinstance(node, Choice):
        for index, option in enumerate(node.options):
            below: Draws = {}
            if _match(option, value, _join(path, index), below):
                draws |= {path: index, **below}
                return True
        return False
    if isinstance(node, Distribution):
        if not node.holds(value):
            return False
        draws[path] = node.exact(value)
        return True
    return type(node) is type(value) and bool(node == value)


def _collect(node: Any, path: str, found: dict[str, Distribution]) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            _collect(value, _join(path, key), found)
    elif isinstance(node, Distribution):
        found[path] = node
        if isinstance(node, Choice):
            for index, option in enumerate(node.options):
                _collect(option, _join(path, index), found)


def _edges(path: str, distribution: Distribution) -> tuple[Value, ...]:
    return distribution.edges()


def _probes(path: str, distribution: Distribution) -> tuple[Value, ...]:
    return distribution.probes()


def _merged(parts: Mapping[str, Draws]) -> Draws:
    return {path: value for part in parts.values() for path, value in part.items()}


def _options(path: str, distribution: Distribution) -> tuple[Value, ...]:
    if not isinstance(distribution, Choice):
        raise SpaceError(
            f"{path} is {distribution.name}, which has no end of values",
            expected="choice or grid in every place",
            do="use another searcher, or list the values",
        )
    return distribution.edges()


def _enumerate(node: Any, path: str, values: Values) -> Iterator[Draws]:
    if isinstance(node, dict):
        below = [list(_enumerate(value, _join(path, key), values)) for key, value in node.items()]
        for draws in product(*below):
            yield {path: value for part in draws for path, value in part.items()}
    elif isinstance(node, Choice):
        for index in values(path, node):
            for below_index in _enumerate(node.options[int(index)], _join(path, index), values):
                yield {path: index, **below_index}
    elif isinstance(node, Distribution):
        for value in values(path, node):
            yield {path: value}
    else:
        yield {}


def find_space(name: str | Mapping[str, Any], *, one_token: bool = False) -> Space:
    """A shipped space by its name, one in a YAML file, or what stands in such a file."""
    if not isinstance(name, str):
        return parse_space(_plain(name), OWN, one_token=one_token)
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = shipped_spaces().get(name, path)
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownName("space", name, shipped_spaces(), do="or name a .yaml file")
    return _read_space(path, one_token=one_token)


def shipped_spaces() -> dict[str, Path]:
    folder = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _plain(space: Mapping[str, Any]) -> dict[str, Any]:
    """As it would come from a file: a run keeps it as text."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(space, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SpaceError(
            "holds what no file could", where=OWN, expected="numbers, texts, lists and dicts", found=error
        ) from error
    return plain


def _read_space(path: Path, *, one_token: bool) -> Space:
    try:
        document = load_yaml(read_plain(path, SpaceError))
    except Unreadable as error:
        raise SpaceError("cannot be read", where=path, expected="YAML", found=error.found) from error
    if not isinstance(document, dict):
        raise SpaceError("is not a search space", where=path, expected="a mapping with the key space")
    return parse_space(document, path.stem, one_token=one_token)
