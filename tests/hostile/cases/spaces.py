"""Search spaces, as YAML: what a loader can be made to do."""

from collections.abc import Iterator

from tests.hostile.room import Case, Room, given

HEAD = "head: {kind: adapter, size: 4}"


def _bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join([*lines, f"space: {{{HEAD}, learning_rate: *i}}"])


def _of_head(text: str) -> str:
    return f"space: {{{HEAD}, {text}}}"


def _product(options: int, settings: int) -> str:
    """Few words, and options to the power of settings of corners."""
    choices = ", ".join(f"x{number}: {{choice: {list(range(options))}}}" for number in range(settings))
    return f"space: {{head: {{kind: adapter, size: 4, {choices}}}}}"


def _grid(options: int) -> str:
    rates = [number / 10_000 for number in range(1, options + 1)]
    choices = ", ".join(
        f"{name}: {{choice: {rates}}}" for name in ("learning_rate", "weight_decay", "dropout")
    )
    return f"space: {{{HEAD}, {choices}}}"


TEXTS: dict[str, str | bytes] = {
    "a billion laughs": _bomb(),
    "an anchor that holds itself": f"space: &a {{{HEAD}, learning_rate: *a}}",
    "a list that holds itself": _of_head("learning_rate: &a {choice: [0.1, *a]}"),
    "a hundred million convolutions": "space: {head: {kind: cnn, depth: 100000000}}",
    "a hundred million blocks": "space: {head: {kind: xception-mod, blocks: 100000000}}",
    "a million options": _of_head(f"learning_rate: {{choice: [{', '.join(['0.1'] * 1_000_000)}]}}"),
    "a hundred thousand keys": _of_head(", ".join(f"k{n}: 1" for n in range(100_000))),
    "ten thousand brackets": _of_head(f"learning_rate: {'[' * 10_000}{']' * 10_000}"),
    "five hundred braces": _of_head(f"learning_rate: {'{a: ' * 500}1{'}' * 500}"),
    "brackets without end": "space: " + "[" * 100_000,
    "deep by indentation": "space:\n" + "\n".join(" " * n + "a:" for n in range(1, 900)),
    "a number of 5,000 digits": _of_head(f"passes: {'9' * 5000}"),
    "a bound of 5,000 digits": _of_head(f"passes: {{randint: [1, {'9' * 5000}]}}"),
    "a bound of 400 digits": _of_head(f"passes: {{randint: [1, {'9' * 400}]}}"),
    "a hexadecimal number of 5,000 digits": _of_head(f"passes: 0x{'f' * 5000}"),
    "a number in base sixty": _of_head(f"passes: 1{':59' * 3000}"),
    "a key twice": f"space: {{{HEAD}, learning_rate: 0.1, learning_rate: 0.2}}",
    "a space twice": f"space: {{{HEAD}}}\nspace: {{{HEAD}, passes: 3}}",
    "a setting of a head twice": "space: {head: {kind: adapter, size: 4, size: 8}}",
    "a merge key": f"base: &b {{learning_rate: 0.1}}\nspace: {{{HEAD}, <<: *b}}",
    "half a character": _of_head('learning_rate: "\\ud800"'),
    "a zero byte": _of_head("learning_rate: \0"),
    "a bell": _of_head("learning_rate: \a"),
    "colours of a terminal": _of_head('learning_rate: "\\e[31mred"'),
    "a line break in a key": _of_head('"a\\nb": 1'),
    "bytes that are no text": b"space: {head: \xff\xfe}",
    "UTF-16": "space: {head: 1}".encode("utf-16"),
    "nothing": "",
    "a comment": "# nothing",
    "a word": "space",
    "a list": "[1, 2]",
    "a number": "3",
    "null": "~",
    "no space": "about: nothing",
    "a space that is a list": "space: [1]",
    "a space that is null": "space:",
    "an empty space": "space: {}",
    "an unknown key": f"spaces: {{{HEAD}}}",
    "an object of Python": "space: !!python/object/apply:os.system [true]",
    "an unknown tag": "space: !thing {a: 1}",
    "bytes by a tag": _of_head("learning_rate: !!binary aGVsbG8="),
    "a set by a tag": _of_head("learning_rate: !!set {a, b}"),
    "a key that is a list": "space: {? [a] : 1}",
    "a key that is a number": "space: {1: 2}",
    "a key that is a truth value": "space: {on: 2}",
    "a key that is null": "space: {~: 2}",
    "an anchor that is nowhere": _of_head("learning_rate: *nowhere"),
    "two documents": f"space: {{{HEAD}}}\n---\nspace: {{{HEAD}}}",
    "a quote without end": 'space: {head: "adapter}',
    "a tab for an indent": "space:\n\thead: 1",
    "a day that is none": _of_head("learning_rate: 2020-13-45"),
    "a day": _of_head("learning_rate: 2020-11-05"),
    "a rate that is no number": _of_head("learning_rate: .nan"),
    "a rate without end": _of_head("learning_rate: .inf"),
    "a bound that is no number": _of_head("learning_rate: {uniform: [0.1, .nan]}"),
    "a bound without end": _of_head("learning_rate: {loguniform: [0.1, .inf]}"),
    "a rate of 1e400": _of_head("learning_rate: 1.0e+400"),
    "a step of next to nothing": _of_head("learning_rate: {quniform: [0.1, 0.2, 1.0e-300]}"),
    "a step of zero": _of_head("learning_rate: {quniform: [0.1, 0.2, 0]}"),
    "bounds the wrong way round": _of_head("learning_rate: {uniform: [0.2, 0.1]}"),
    "one bound": _of_head("learning_rate: {uniform: [0.2]}"),
    "bounds that are words": _of_head("learning_rate: {uniform: [low, high]}"),
    "a choice of nothing": _of_head("learning_rate: {choice: []}"),
    "a choice of a mapping": _of_head("learning_rate: {choice: {a: 1}}"),
    "a choice of lists": _of_head("learning_rate: {choice: [[1], [2]]}"),
    "a distribution that is none": _of_head("learning_rate: {normal: [0, 1]}"),
    "a head that is a word": "space: {head: adapter}",
    "a head that is null": "space: {head: ~}",
    "a kind that is a list": "space: {head: {kind: [a]}}",
    "a kind that is a mapping": "space: {head: {kind: {a: b, c: d}}}",
    "a kind that is none": "space: {head: {kind: nothing}}",
    "a size below zero": "space: {head: {kind: adapter, size: -1}}",
    "a size that is true": "space: {head: {kind: adapter, size: true}}",
    "ten to the tenth corners": _product(10, 10),
    "two to the fortieth corners": _product(2, 40),
    "a start that is a word": f"space: {{{HEAD}}}\nstart: x",
    "a start of words": f"space: {{{HEAD}}}\nstart: [x]",
    "a start outside": f"space: {{{HEAD}}}\nstart: [{{head: {{kind: adapter, size: 5}}}}]",
    "a hundred thousand starts": f"space: {{{HEAD}}}\nstart: [{', '.join(['{}'] * 100_000)}]",
    "an about that is a list": f"space: {{{HEAD}}}\nabout: [1]",
    "a limit below zero": f"space: {{{HEAD}}}\nmax_parameters: -1",
    "a limit that is a fraction": f"space: {{{HEAD}}}\nmax_parameters: 1.5",
    "20 MB of blanks": "space:" + " " * 20_000_000,
    "a word of 20 MB": f"space: {{head: {'x' * 20_000_000}}}",
    "a comment of 20 MB": f"# {'x' * 20_000_000}\nspace: 1",
    "a bad word of 100,000 letters": f"space: {{head: {{kind: {'x' * 100_000}}}}}",
}


def _cases() -> Iterator[Case]:
    for name, text in TEXTS.items():
        yield Case(name=name, make=given(_written, text))
    yield Case(name="a grid of a thousand million", make=_large_grid)
    yield Case(name="a pipe", make=lambda room: dry_run(room.pipe("space.yaml")))
    yield Case(name="a folder", make=_folder)
    yield Case(name="a link to itself", make=lambda room: dry_run(_circle(room, "space.yaml")))
    yield Case(name="a device", make=_device)
    yield Case(name="nowhere", make=lambda room: dry_run("nowhere.yaml"), says="does not exist")
    yield Case(name="a name with a zero byte", make=lambda room: dry_run("a\0b.yaml"))
    yield Case(name="a name of 5,000 letters", make=lambda room: dry_run("x" * 5000 + ".yaml"))


def dry_run(space: str) -> list[str]:
    return ["tune", "--dry-run", "--shape", "3x8", "--space", space]


def _written(room: Room, text: str | bytes) -> list[str]:
    return dry_run(room.write("space.yaml", text))


def _large_grid(room: Room) -> list[str]:
    words = ["tune", "--dry-run", "--store", str(room.classes), "--searcher", "grid"]
    return [*words, "--space", room.write("space.yaml", _grid(1000))]


def _folder(room: Room) -> list[str]:
    (room.place / "space.yaml").mkdir()
    return dry_run("space.yaml")


def _circle(room: Room, name: str) -> str:
    (room.place / name).symlink_to(room.place / name)
    return name


def _device(room: Room) -> list[str]:
    (room.place / "space.yaml").symlink_to("/dev/zero")
    return dry_run("space.yaml")


SPACES = tuple(_cases())
