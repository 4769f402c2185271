"""A user's own tasks, as YAML."""

from collections.abc import Iterator

from tests.hostile.room import Case, Room, given

GOOD = "kind: classification\nlabels: [a, b]\ncolumns: {text: t, label: l}\n"


def _labelled(labels: str) -> str:
    return f"kind: classification\nlabels: {labels}\ncolumns: {{text: t, label: l}}"


TEXTS: dict[str, str | bytes] = {
    "a billion laughs": "labels: &a [x]\n"
    + "\n".join(f"k{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else '*a'] * 9)}]" for n in range(9)),
    "an anchor that holds itself": "kind: &a [*a]",
    "a field twice": GOOD + "kind: regression\n",
    "a column twice": "kind: classification\nlabels: [a, b]\ncolumns: {text: t, label: l, text: u}",
    "two million labels": f"kind: classification\nlabels: [{', '.join(map(str, range(2_000_000)))}]",
    "a label of 5,000 digits": _labelled(f"[a, {'9' * 5000}]"),
    "nested labels": f"kind: classification\nlabels: {'[' * 2000}{']' * 2000}",
    "labels that are lists": _labelled("[[a], [b]]"),
    "labels that are mappings": _labelled("[{a: 1}, {b: 1}]"),
    "a label that is null": _labelled("[a, ~]"),
    "a label that is nothing": _labelled("[a, '']"),
    "a label that is no number": _labelled("[.nan, .inf]"),
    "half a character in a label": _labelled('[a, "\\ud800"]'),
    "half a character in a name": GOOD + 'name: "\\udc80"',
    "a name that is a list": GOOD + "name: [a]",
    "a name that leads out": GOOD + "name: ../../etc",
    "a name of this project": GOOD + "name: mrpc",
    "a kind that is a list": "kind: [span]",
    "a kind that is a mapping": "kind: {a: 1}",
    "a metric that is a list": GOOD + "metric: [accuracy]",
    "a metric that is a mapping": GOOD + "metric: {a: 1}",
    "columns that are a list": "kind: classification\nlabels: [a, b]\ncolumns: [t, l]",
    "a column that is a number": "kind: classification\nlabels: [a, b]\ncolumns: {text: 1, label: l}",
    "text and label in one column": "kind: classification\nlabels: [a, b]\ncolumns: {text: t, label: t}",
    "a length of a million million": GOOD + "max_length: 1000000000000",
    "a length below zero": GOOD + "max_length: -5",
    "a length that is true": GOOD + "max_length: true",
    "a length that is no number": GOOD + "max_length: .nan",
    "a stride beyond the length": "kind: span\nmax_length: 64\nstride: 60",
    "a hub that is a list": GOOD + "hub: [a]",
    "nothing": "",
    "a word": "task",
    "bytes that are no text": b"kind: \xff",
    "a zero byte": "kind: \0",
    "an object of Python": "kind: !!python/name:os.system",
    "a day that is none": "kind: 2020-13-45",
    "a key that is a list": "? [a]\n: 1",
    "a key that is a number": "1: 2",
    "ten thousand brackets": "kind: " + "[" * 10_000,
    "20 MB": "# " + "x" * 20_000_000,
}


def _extract(room: Room, task: str) -> list[str]:
    data = str(room.small.data)
    words = ["extract", "--task", task, "--encoder", str(room.small.stage), "--data", data]
    return [*words, "--out", "out", "--workers", "0"]


def _written(room: Room, text: str | bytes) -> list[str]:
    return _extract(room, room.write("task.yaml", text))


def _cases() -> Iterator[Case]:
    for name, text in TEXTS.items():
        yield Case(name=name, make=given(_written, text))
    yield Case(name="a pipe", make=lambda room: _extract(room, room.pipe("task.yaml")))
    yield Case(name="nowhere", make=lambda room: _extract(room, "nowhere.yaml"))


TASKS = tuple(_cases())
