"""The lists of commands of docs/cluster.md."""

import re
from dataclasses import dataclass

from tests.cluster.hosts import REPOSITORY

PAGE = REPOSITORY / "docs" / "cluster.md"


@dataclass(frozen=True, kw_only=True)
class Line:
    command: str
    comment: str

    @property
    def beside(self) -> bool:
        """Goes on while the next ones are typed."""
        return "another terminal" in self.comment

    @property
    def again(self) -> bool:
        return self.comment.startswith("again")


def read_list(heading: str) -> list[Line]:
    """The lines of shell under a heading of the page."""
    text = PAGE.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    lines = [line[4:] for line in section.replace("\\\n", " ").splitlines() if line.startswith("    ")]
    parts = [line.partition(" # ") for line in lines]
    return [Line(command=" ".join(command.split()), comment=comment.strip()) for command, _, comment in parts]
