"""What a page shows, each block beside what is printed today: on its own machine, or in the block's scene."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.pages.arounds import AROUND
from tests.pages.machine import machine, own_network
from tests.pages.reading import Block, blocks
from tests.pages.scenes import SCENES, played
from tests.pages.walk import walk


def told_by_walk(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Types the whole page."""
    around = AROUND[name]
    with ExitStack() as stack:
        made = stack.enter_context(machine(folder))
        if around.has_own_network:
            stack.enter_context(own_network(made))
        yield from walk(name, around, made)


def told_in_scene(block: Block, folder: Path) -> str:
    with machine(folder, SCENES[block.scene].gpus) as made, played(block.scene, made):
        return block.retold(made.retold)


def told_by_page(name: str, folder: Path) -> list[tuple[str, str]]:
    told = []
    for number, block in enumerate(blocks(name)):
        if block.scene:
            (own := folder / str(number)).mkdir()
            told.append((block.body, told_in_scene(block, own)))
    (own := folder / "page").mkdir()
    return [*told, *told_by_walk(name, own)]
