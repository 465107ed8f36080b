"""Splits text into commands: one per line, without blank lines and comments; long lines can be continued."""

from __future__ import annotations

from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.shell_blocks import ShellBlocks
from duckrow.core.named_tuple import NamedTuple

LAST = "\0last"
"""In place of a run's name: the last run of the same file and folder."""


class ListForm(NamedTuple):
    """How a list of jobs is read: by default, a command per line."""

    format: str = "commands"  # or json
    delimiter: str | None = None
    blocks: bool = False


ONE_PER_LINE = ListForm()


def read_commands(text: str, form: ListForm) -> CommandList:
    """The whole of a list."""
    return CommandReader(form.delimiter, form.blocks).read(text, final=True)


class CommandReader:
    """Takes text as it arrives, gives commands as soon as they are complete.

    A line that ends in a backslash goes on in the next, as in a shell; with `blocks`, so do an `if`, a loop and a
    `case`, up to their end. With a delimiter, a command is all the lines up to a line that is just the delimiter.
    """

    def __init__(self, delimiter: str | None = None, blocks: bool = False) -> None:
        self._delimiter = delimiter
        self._blocks = ShellBlocks() if blocks else None
        self._partial = ""  # text after the last newline
        self._lines: list[str] = []  # lines of a command that is not complete
        self._begins = 0  # the number of the first of them
        self._read = 0  # how many lines were read
        self._is_first = True
        self.lines: list[int] = []  # the number of the first line of each command that was given last

    def read(self, text: str, final: bool = False) -> CommandList:
        """The commands that this completes, with their lines. `final`: nothing follows."""
        commands, lines = self.feed(text), self.lines
        return (
            CommandList([*commands, *self.finish()], [*lines, *self.lines]) if final else CommandList(commands, lines)
        )

    def feed(self, text: str) -> list[str]:
        if self._is_first and text:  # some editors begin a file with a mark that nobody sees
            self._is_first, text = False, text.removeprefix("\ufeff")
        *lines, self._partial = (self._partial + text).split("\n")
        has_parts = self._delimiter is not None or self._blocks is not None
        commands, self.lines = list[str](), list[int]()
        for line in lines:
            self._read += 1
            # Most lines are a command each, and there may be a million of them.
            if has_parts or self._lines or "#" in line or "\\" in line:
                command, begins = self._line(line), self._begins
            else:
                command, begins = line.rstrip(), self._read
            if command:
                commands.append(command)
                self.lines.append(begins)
        return commands

    def finish(self) -> list[str]:
        """The end of the input completes what was begun."""
        self._read += 1
        last = self._line(self._partial) if self._partial else None
        self._partial = ""
        last = last or self._complete()
        self.lines = [] if last is None else [self._begins]
        return [] if last is None else [last]

    def _line(self, line: str) -> str | None:
        line = line.removesuffix("\r")
        if not self._lines:
            self._begins = self._read
        if self._delimiter is not None:
            if line.strip() == self._delimiter:
                return self._complete()
            self._lines.append(line)
            return None
        if not self._lines and (not line.strip() or line.lstrip().startswith("#")):
            return None
        self._lines.append(line)
        is_open = self._blocks is not None and self._blocks.is_open_after(line)
        if is_open or _continues(line):
            return None
        return self._complete()

    def _complete(self) -> str | None:
        command = "\n".join(self._lines).rstrip()
        self._lines = []
        return command if has_code(command) else None


def _continues(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def has_code(command: str) -> bool:
    """Whether there is anything but blank lines and comments."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in command.split("\n"))


_BLOCKS = ("for ", "while ", "until ", "if ", "case ", "function ", "select ")
_PARTS = ("do", "done", "then", "else", "fi", "esac", "}", "{")


def program_in_place_of_list(path: str, text: str) -> str | None:
    """What to type instead, if a file that was given as a list of commands is a program."""
    name = path.rsplit("/", 1)[-1]
    first = text.split("\n", 1)[0]
    if name.endswith(".py") or (first.startswith("#!") and "python" in first):
        return f"{path} is a Python program, not a list of commands. To run it: duckrow run -- python {path}"
    if not first.startswith("#!") and not any(_is_of_block(line) for line in text.split("\n")):
        return None
    return (
        f"{path} is a script, not a list of commands. To run it as one job: duckrow run -- "
        f"sh {path}. If it is a list of jobs of several lines, name the line between them with --delimiter."
    )


def _is_of_block(line: str) -> bool:
    """Whether it only means something together with its neighbours; `for i in 1 2; do train $i; done` is complete."""
    words = line.strip().rstrip(";")
    if words in _PARTS:
        return True
    opens = words.startswith(_BLOCKS) and words.endswith(("do", "then", "in", "{"))
    return opens or words.endswith("() {")


def script_options(script: str, prefix: str = "#DUCKROW") -> str:
    """The options in the `#DUCKROW --gpus 2` lines of a script, a line each; they stand before its first command."""
    found = []
    for line in script.split("\n"):
        if line.rstrip() == prefix or line.startswith((prefix + " ", prefix + "\t", prefix + "-")):
            found.append(line[len(prefix) :].strip())
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return "\n".join(found)
