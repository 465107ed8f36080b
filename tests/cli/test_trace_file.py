"""Traces: duckrow's own log, and the columns of public ones."""

from __future__ import annotations

import json

import pytest

from duckrow.cli.options.trace_file import read_trace
from duckrow.core.errors import UsageError
from duckrow.core.simulation.trace_job import TraceJob, parse_simulated_gpus

MB = 80 * 1024


def read(text: str) -> list[TraceJob]:
    return read_trace(text, "t.csv", MB).jobs


def test_a_table_with_plain_columns() -> None:
    jobs = read("submit,duration,gpus,memory,command\n100,10m,2,20G,python a.py\n40,90,,,\n")
    assert jobs == [TraceJob(0.0, 90.0), TraceJob(60.0, 600.0, 2, 20 * 1024, "python a.py")]


def test_the_columns_of_helios() -> None:
    head = "job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    row = "1,u1,4,16,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:05:00,2020-04-01 00:15:00,600,300\n"
    cpu_only = "2,u1,0,16,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:05:00,2020-04-01 00:15:00,600,300\n"
    assert read(head + cpu_only + row) == [TraceJob(0.0, 600.0, 4)]


def test_the_columns_of_alibaba_count_in_percent_of_a_gpu() -> None:
    head = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
    rows = "a,worker,1,Terminated,1000.0,1600.0,600,29,50.0,T4\nb,worker,1,Terminated,1030.0,,600,29,200,T4\n"
    assert read(head + rows) == [TraceJob(0.0, 600.0, 1, MB // 2, "a")]
    assert read(head + rows.replace("1030.0,,", "1030.0,1090.0,"))[1] == TraceJob(30.0, 60.0, 2, None, "b")


def test_what_duckrow_lists_itself() -> None:
    done = {"id": 1, "state": "done", "outcome": "succeeded", "command": "python a.py", "created_at": 1e9, "gpus": None}
    listed = [
        {**done, "duration_s": 60.5, "peak_memory_mb": 1000},
        {**done, "id": 2, "outcome": "failed", "duration_s": 1.0},
        {**done, "id": 3, "state": "queued", "outcome": None, "duration_s": None},
    ]
    assert read(json.dumps(listed)) == [TraceJob(0.0, 60.5, 1, 1000, "python a.py")]


def test_a_job_that_ran_in_a_cpu_slot_had_no_gpu() -> None:
    done = {"state": "done", "outcome": "succeeded", "created_at": 1e9, "gpus": None, "duration_s": 60.0}
    listed = [{**done, "devices": devices} for devices in (["0"], ["cpu3"], ["0", "1"])]
    trace = read_trace(json.dumps(listed), "t.json", MB)
    assert ([job.gpus for job in trace.jobs], trace.left_out) == ([1, 2], 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("duration,gpus\n5,1.5\n", "line 2: 1.5 GPUs are not possible. For a part of a GPU, name the column plan_gpu"),
        ("start_time,end_time\n1,2\n30,20\n", "line 3: it ends before it starts"),
        ("", "line 1: no column says how long"),
        ("a,b\n1,2\n", "line 1: no column says how long jobs ran.* Its columns: a, b"),
        ("submit,duration\n1,2\n3\n", "line 3: 1 columns, but the first line names 2"),
        ("submit,duration\n1,2\n3,soon\n", "line 3: 'soon' is not a time"),
        ("submit,duration\nyesterday,2\n", "line 2: 'yesterday' is not a time for submit"),
        ("duration,gpus\n5,many\n", "line 2: 'many' is not a number for gpus"),
        ("duration,gpus\n5,-1\n", "line 2: '-1' is not a number for gpus"),
        ("duration,memory\n5,much\n", "line 2: "),
        ("submit,duration\n", "no finished job"),
        ("[1, 2]", "not a list of jobs"),
        ("[{", "neither a CSV nor JSON"),
    ],
)
def test_a_bad_trace_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read(text)


def test_gpus_are_written_with_their_number_and_memory() -> None:
    assert parse_simulated_gpus("8xH100-80G")[:2] == (8, 80 * 1024)
    assert parse_simulated_gpus("4x24G")[:2] == (4, 24 * 1024)
    for wrong in ("H100", "8xH100", "0x24G", "8x0G"):
        with pytest.raises(UsageError, match=r"8xH100-80G|can be simulated"):
            parse_simulated_gpus(wrong)


def test_jobs_that_are_left_out_are_counted() -> None:
    told = read_trace("duration,gpus\n60,1\n60,0\n0,1\n", "t.csv", MB)
    assert (len(told.jobs), told.left_out) == (1, 2)
    listed = [{"duration_s": 60, "state": "done", "outcome": outcome} for outcome in ("succeeded", "failed", "killed")]
    told = read_trace(json.dumps(listed), "t.json", MB)
    assert (len(told.jobs), told.left_out) == (1, 2)


def test_columns_that_are_not_separated_by_commas_are_said_to_be() -> None:
    with pytest.raises(UsageError, match="separate the columns by commas, not like this: submit;duration"):
        read_trace("submit;duration\n0;60\n", "t.csv", MB)
