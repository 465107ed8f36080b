"""`duckrow submit`: lists of jobs, and what is wrong with them."""

from __future__ import annotations

from tests.cli.typed.dry_duckrow import DryDuckrow


def test_a_wrong_line_of_a_list_is_named_and_nothing_of_the_list_is_submitted(duckrow: DryDuckrow) -> None:
    duckrow("up", "--slots", "2")
    for line, said in (
        (
            '{"command": "a", "gpus": 4}',
            "line 3: This job can never start. It asks for 4 GPUs, but there is none here, ",
        ),
        ('{"command": "a", "gpus": 4}', 'only 2 CPU slots. Omit "gpus". Nothing was submitted.'),
        ('{"command": "a", "gpu_mem": 0}', 'line 3: "gpu_mem" must be more than 0.'),
        ('{"cmd": "a"}', "line 3: A job is written as"),
        ("a", "line 3: This line is not JSON"),
    ):
        text = f'{{"command": "true"}}\n\n{line}\n'
        refused = duckrow("submit", "--format", "json", "--file", "-", stdin=text, ok=False)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    refused = duckrow("submit", "--file", "-", stdin="true\na\0b\n", ok=False)
    assert refused.stderr.startswith("duckrow: line 2: The command")
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(0,)]
