"""What a page tells people to type: its blocks, and the commands in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
_FENCE = re.compile(
    r"^(?:<!-- scene: (?P<scene>[\w-]+) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'")


@dataclass(frozen=True)
class Block:
    language: str
    body: str
    scene: str  # the name of what it needs around it; empty: the page's own

    @property
    def is_typed(self) -> bool:
        return self.language in ("sh", "bash", "console") and not self.body.startswith("#!")

    def retold(self, told: Callable[[str], str]) -> str:
        """The same commands, with what each prints today."""
        return "".join(f"$ {command}\n{told(command)}" for command in self.commands())

    def commands(self) -> Iterator[str]:
        """Each with its further lines, and without the comment behind it."""
        lines = iter(self.body.replace("\\\n", " ").splitlines())
        for line in lines:
            if self.language == "console" and not line.startswith("$ "):
                continue
            line = re.sub(r"\s+#.*$", "", line.removeprefix("$ "))
            if found := _HERE_DOCUMENT.search(line):
                rest = [next(lines)]
                while rest[-1] != found[1]:
                    rest.append(next(lines))
                line = "\n".join([line, *rest])
            if line:
                yield line


def page(name: str) -> Path:
    return ROOT / name if (ROOT / name).exists() else DOCS / name


def blocks(name: str) -> list[Block]:
    found = _FENCE.finditer(page(name).read_text())
    return [Block(fence["language"], fence["body"], fence["scene"] or "") for fence in found]


def rewritten(name: str, bodies: dict[str, str]) -> str:
    """The page with other bodies for some blocks."""
    text = page(name).read_text()
    for before, now in bodies.items():
        assert text.count(before) == 1, f"{name} shows this twice:\n{before}"
        text = text.replace(before, now)
    return text


def pages_with_commands() -> list[str]:
    names = ["README.md", *sorted(path.name for path in DOCS.glob("*.md") if path.name != "README.md")]
    return [name for name in names if any(block.is_typed for block in blocks(name))]
