"""A search space: a tree whose leaves are fixed values or distributions, conditional where choices nest.

A point of it is written in two ways: as a trial's *config* (what trains), and as *draws* (what searchers
see): the path of each parameter on the way to its number, for choices the option's index.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from bv_search.errors import SpaceError, UserError
from bv_search.scan.trial import TrialConfig
from bv_search.tune.distribution import (
    PARSERS,
    Choice,
    Distribution,
    QUniform,
    RandInt,
    Value,
    parse_distribution,
)

Draws = dict[str, Value]
Pick = Callable[[str, Distribution], Value]
Config = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Space:
    name: str
    about: str
    source: Mapping[str, Any]  # as it stood in its file
    tree: Any = field(repr=False)
    start: tuple[Config, ...] = ()

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
        """Every point, where all parameters are choices."""
        return _enumerate(self.tree, "", _options)

    def is_finite(self) -> bool:
        return not any(not isinstance(d, Choice) for d in self.parameters().values())

    def parameters(self) -> dict[str, Distribution]:
        found: dict[str, Distribution] = {}
        _collect(self.tree, "", found)
        return found

    def corners(self) -> Iterator[Config]:
        """Each option, and each bound of each number: enough to see what is wrong with a space.

        One top-level parameter at a time, with all that depends on it, beside the others' first values:
        heads do not depend on how they are trained, and all combinations would be too many to look at.
        """
        first = {key: next(_enumerate(node, key, _edges)) for key, node in self.tree.items()}
        for key, node in self.tree.items():
            for draws in _enumerate(node, key, _edges):
                yield self.config({**_merged(first), **draws})


def parse_space(source: Mapping[str, Any], name: str) -> Space:
    unknown = sorted(source.keys() - {"about", "space", "start"})
    if unknown:
        raise SpaceError(f"no key {unknown[0]!r}", where=name, expected="about, space, start")
    if not isinstance(source.get("space"), dict):
        raise SpaceError("no space in it", where=name, expected="space: {head: …, learning_rate: …}")
    start = source.get("start", [])
    if not isinstance(start, list):
        raise SpaceError("bad starting points", where=f"{name}: start", expected="a list of configs")
    tree = _parse(source["space"], f"{name}: space")
    if not isinstance(tree, dict):
        raise SpaceError("a distribution as the whole space", where=name, expected="space: {head: …}")
    space = Space(
        name=name,
        about=str(source.get("about", "")),
        source=dict(source),
        tree=tree,
        start=tuple(start),
    )
    _prove(space)
    return space


def _prove(space: Space) -> None:
    """A bad head or setting is found now, not by the trial that first draws it."""
    for config in (*space.start, *space.corners()):
        try:
            TrialConfig.from_json(config)
        except UserError as error:
            raise SpaceError(
                error.what, where=space.name, expected=error.expected, found=error.found, do=error.do
            ) from error
    for number, config in enumerate(space.start):
        try:
            space.draws(config)
        except SpaceError as error:
            where = f"{space.name}: start {number + 1}"
            raise SpaceError("a starting point outside the space", where=where, found=config) from error


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
        draws[path] = _exact(node, pick(path, node))


def _exact(distribution: Distribution, value: Value) -> Value:
    if isinstance(distribution, QUniform):
        return distribution.rounded(value)
    return int(value) if isinstance(distribution, RandInt) else float(value)


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
        draws[path] = value
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


def _enumerate(
    node: Any, path: str, values: Callable[[str, Distribution], tuple[Value, ...]]
) -> Iterator[Draws]:
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
