"""What no honest document has more of. They are looked at before work is done for it."""

DEPTH = 100  # levels of lists and mappings in each other
DIGITS = 64  # characters of a whole number
NODES = 20_000  # of a YAML document, each as often as aliases name it
YAML_BYTES = 1 << 20
DOCUMENT_BYTES = 256 << 20  # of JSON that describes something; data have no limit


class Unreadable(ValueError):
    """What a text holds that it may not; the caller knows what it was to be, and where it stands."""

    def __init__(self, what: str, *, line: int | None = None, column: int = 0, position: int = 0) -> None:
        self.what, self.line, self.column, self.position = what, line, column, position
        super().__init__(what)

    @property
    def found(self) -> str:
        """What, and in which line, where that is known."""
        return self.what if self.line is None else f"{self.what} at line {self.line}"
