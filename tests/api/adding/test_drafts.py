"""Jobs in GPUPeasy's form, before they are added."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.adding.drafts import DraftedJobs, read_drafts


def test_a_command_over_several_lines_is_one_program_without_a_shell(tmp_path: Path) -> None:
    text = f"multi;;\n{tmp_path}/out;;\npython3 args.py\n    --lr 0.1\n    --tag '#1 $HOME' *;;;"
    [draft] = read_drafts(DraftedJobs(text))[1]
    assert draft.problems == []
    assert draft.spec
    assert (draft.spec.name, draft.spec.outfile) == ("multi", f"{tmp_path}/out")
    assert draft.spec.command == "exec python3 args.py --lr 0.1 --tag '#1 $HOME' '*'"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("only;;two", "'only;;two' is not NAME;;OUTFILE;;COMMAND;;;"),
        ("a;;x.txt;;echo 'open;;;", "The command 'echo 'open' cannot be split into words: no closing quotation."),
    ],
)
def test_what_gpupeasy_refused_is_refused(text: str, problem: str) -> None:
    [draft] = read_drafts(DraftedJobs(text))[1]
    assert draft.problems == [problem]
    assert draft.spec is None


def test_a_name_without_a_letter_that_can_be_typed_is_that_of_the_command(tmp_path: Path) -> None:
    [draft] = read_drafts(DraftedJobs(f"日本語;;{tmp_path}/out;;python train.py;;;"))[1]
    assert draft.spec
    assert draft.spec.name == "train"
