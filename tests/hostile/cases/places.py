"""Places, names and numbers given as options."""

import os
from collections.abc import Iterator

from tests.hostile.room import Case, Room, given


def _predict(room: Room, *more: str) -> list[str]:
    return ["predict", str(room.small.run.path), *more]


def _extract(room: Room, *more: str) -> list[str]:
    words = ["extract", "--task", "squad2-span", "--encoder", str(room.small.stage), "--workers", "0"]
    return [*words, "--data", str(room.small.data), *more]


def _on_device(room: Room, device: str) -> list[str]:
    data = str(room.small.data / "dev.json")
    return _predict(room, "--data", data, "--out", "o.json", "--device", device)


def _dry_run(room: Room, option: str, number: str) -> list[str]:
    return ["tune", "--dry-run", "--store", str(room.classes), "--space", "adapters", option, number]


def _shaped(room: Room, shape: str) -> list[str]:
    return ["tune", "--dry-run", "--space", "adapters", "--shape", shape]


def _circle(room: Room) -> str:
    (room.place / "a").symlink_to(room.place / "b")
    (room.place / "b").symlink_to(room.place / "a")
    return "a"


def _not_text(ending: str) -> str:
    return os.fsdecode(b"out\xff\xfe") + ending


def _full(room: Room) -> list[str]:
    (room.place / "full.json").symlink_to("/dev/full")
    return _predict(room, "--out", "full.json", "--overwrite")


def _cases() -> Iterator[Case]:
    yield Case(name="out: a full device", make=_full)
    yield Case(name="out: /dev/full", make=lambda room: _predict(room, "--out", "/dev/full"))
    yield Case(
        name="out: a name that is no text", make=lambda room: _predict(room, "--out", _not_text(".json"))
    )
    yield Case(name="out: a circle", make=lambda room: _predict(room, "--out", _circle(room) + "/o.json"))
    yield Case(name="out: a zero byte", make=lambda room: _predict(room, "--out", "a\0.json"))
    yield Case(name="out: a long name", make=lambda room: _predict(room, "--out", "x" * 300 + ".json"))
    yield Case(
        name="out: a pipe", make=lambda room: _predict(room, "--out", room.pipe("o.json"), "--overwrite")
    )
    yield Case(
        name="out: below a file", make=lambda room: _predict(room, "--out", room.write("f", "") + "/o.json")
    )
    yield Case(name="out: nobody's home", make=lambda room: _predict(room, "--out", "~nobody-at-all/o.json"))
    yield Case(
        name="data: nobody's home", make=lambda room: _predict(room, "--data", "~nobody-at-all/a.json")
    )
    yield Case(name="data: a circle", make=lambda room: _predict(room, "--data", _circle(room)))
    yield Case(name="run: nobody's home", make=lambda room: ["predict", "~nobody-at-all/run"])
    yield Case(name="run: a circle", make=lambda room: ["predict", _circle(room)])
    yield Case(name="run: a zero byte", make=lambda room: ["predict", "a\0b"])
    yield Case(name="run: a name that is no text", make=lambda room: ["predict", _not_text("")])
    yield Case(name="run: the null device", make=lambda room: ["predict", "/dev/null"])
    yield Case(name="member: a zero byte", make=lambda room: _predict(room, "--member", "a\0b"))
    yield Case(name="member: a way out", make=lambda room: _predict(room, "--member", "../../x"))
    yield Case(name="member: half a character", make=lambda room: _predict(room, "--member", "\udcff"))
    for device in ("meta", "magic", "", "cuda:99", "cpu:5:5", "xla", "\udcff"):
        yield Case(
            name=f"device: {device!a}",
            make=given(_on_device, device),
        )
    yield Case(name="encoder: nobody's home", make=lambda room: _encoder(room, "~nobody-at-all/e"))
    yield Case(name="encoder: a circle", make=lambda room: _encoder(room, _circle(room)))
    yield Case(name="encoder: a zero byte", make=lambda room: _encoder(room, "a\0b"))
    yield Case(name="encoder: a name that is no text", make=lambda room: _encoder(room, _not_text("")))
    yield Case(name="encoder: nothing", make=lambda room: _encoder(room, ""))
    yield Case(name="store: nobody's home", make=lambda room: _extract(room, "--out", "~nobody-at-all/s"))
    yield Case(name="store: a circle", make=lambda room: _extract(room, "--out", _circle(room) + "/s"))
    yield Case(name="store: a zero byte", make=lambda room: _extract(room, "--out", "a\0b"))
    yield Case(name="store: a name that is no text", make=lambda room: _extract(room, "--out", _not_text("")))
    yield Case(name="store: nothing", make=lambda room: _extract(room, "--out", ""))
    yield Case(name="store: a file", make=lambda room: _extract(room, "--out", room.write("f", "x")))
    for option in ("--threads", "--batch-tokens", "--seed", "--workers", "--block-size"):
        for number in ("-1", "1.5", "x", "9" * 5000 + ("GB" if option == "--block-size" else ""), "1e9"):
            yield Case(
                name=f"{option} {number[:5]}",
                make=given(_extract, "--out", "s", option, number),
            )
    yield Case(
        name="--threads a million", make=lambda room: _extract(room, "--out", "s", "--threads", "1000000")
    )
    for option in ("--trials", "--time-budget", "--pack", "--folds", "--generation", "--workers", "--memory"):
        for number in ("-1", "x", "9" * 5000 + {"--time-budget": "h", "--memory": "GB"}.get(option, "")):
            yield Case(
                name=f"tune {option} {number[:5]}",
                make=given(_dry_run, option, number),
            )
    for shape in ("0x0", "3", "x", "-3x8", "3x8x9", f"{'9' * 5000}x8", "1000000x1000000", "1000000000x8"):
        yield Case(
            name=f"tune --shape {shape[:16]}",
            make=given(_shaped, shape),
        )


def _encoder(room: Room, encoder: str) -> list[str]:
    words = ["extract", "--task", "squad2-span", "--encoder", encoder, "--workers", "0"]
    return [*words, "--data", str(room.small.data), "--out", "s"]


PLACES = tuple(_cases())
