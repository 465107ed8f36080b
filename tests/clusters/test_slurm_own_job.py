"""What a pilot knows of the SLURM job that it is in, and of which cluster a batch is for."""

from __future__ import annotations

import pytest

from duckrow.clusters.known import cluster_of
from duckrow.clusters.port import JobFacts
from duckrow.clusters.slurm.cluster import SlurmCluster
from duckrow.clusters.slurm.own_job import facts_in
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.errors import UsageError
from duckrow.core.ports import Allocation
from tests.clusters.conftest import MakeBatch

OF_ARRAY = {"SLURM_JOB_ID": "14", "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "3"}


@pytest.mark.parametrize(
    ("variables", "facts"),
    [
        ({"SLURM_JOB_ID": "7"}, JobFacts("7")),
        (OF_ARRAY, JobFacts("12_3", array_index=3)),
        ({**OF_ARRAY, "SLURM_RESTART_COUNT": "2"}, JobFacts("12_3", array_index=3, restarts=2)),
        (
            {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_TMPDIR": "/scratch/7"},
            JobFacts("7", node="n1", scratch="/scratch/7"),
        ),
        (
            {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0,2", "SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "900"},
            JobFacts("7", allocation=Allocation("0,2", 4, 900)),
        ),
        (  # 0 is all, and nobody knows how much that is
            {"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "many", "SLURM_MEM_PER_NODE": "0"},
            JobFacts("7"),
        ),
    ],
)
def test_a_slurm_job_knows_itself_by_its_variables(variables: dict[str, str], facts: JobFacts) -> None:
    assert facts_in(variables) == facts


def test_a_batch_that_names_no_cluster_is_for_slurm_as_those_of_earlier_versions_are(make_batch: MakeBatch) -> None:
    request = ClusterRequest(sbatch=("--clusters=other",))
    assert "on" not in request.as_text().replace("--clusters=other", "").split('"')
    assert cluster_of(make_batch(1, request).request) == SlurmCluster("other")


def test_a_batch_for_a_cluster_that_this_duckrow_does_not_know_is_told(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(on="elsewhere"))
    assert batch.request.on == "elsewhere"  # it says so in its folder
    with pytest.raises(UsageError, match=r"knows no cluster 'elsewhere'\. It knows slurm"):
        cluster_of(batch.request)
