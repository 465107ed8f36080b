"""The fake libnvidia-ml.so.1, asked by the real nvidia-ml-py in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import fake_nvml
from tests.conftest import until
from tests.fake_nvml import FakeGpus, NoCompiler, Place
from tests.fake_nvml.asking import MB, Nvml
from tests.fake_nvml.fakegpu import started
from tests.fake_nvml.library import library_or_skip

pytest_plugins = ("tests.fake_nvml.plugin",)


# -- devices --------------------------------------------------------------------------------------------------------


def test_a_gpu_is_what_the_file_says(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add("NVIDIA GeForce RTX 4090", 24_000)
    gpus.add(memory_mb=80_000, reserved_mb=500, utilization=30, temperature=61, power_w=300, pci="00000001:C1:00.0")
    assert nvml("nvmlDeviceGetCount()") == 2
    assert nvml("nvmlDeviceGetName(gpu(0))") == "NVIDIA GeForce RTX 4090"
    assert nvml("nvmlDeviceGetName(gpu(1))") == "NVIDIA H200"
    assert nvml("nvmlDeviceGetUUID(gpu(1))") == gpus.uuid(1) != gpus.uuid(0)
    assert nvml("[nvmlDeviceGetIndex(gpu(1)), nvmlDeviceGetMinorNumber(gpu(1))]") == [1, 1]
    assert nvml("nvmlDeviceGetUtilizationRates(gpu(1))") == {"gpu": 30, "memory": 15}
    assert nvml("nvmlDeviceGetTemperature(gpu(1), NVML_TEMPERATURE_GPU)") == 61
    assert nvml("nvmlDeviceGetTemperatureV(gpu(1), NVML_TEMPERATURE_GPU)") == 61
    assert nvml("nvmlDeviceGetPowerUsage(gpu(1))") == 300_000
    assert nvml("nvmlDeviceGetComputeMode(gpu(1)) == NVML_COMPUTEMODE_DEFAULT") is True
    pci = nvml("nvmlDeviceGetPciInfo(gpu(1))")
    assert (pci["busId"], pci["busIdLegacy"]) == ("00000001:C1:00.0", "0001:C1:00.0")
    assert (pci["domain"], pci["bus"], pci["device"]) == (1, 0xC1, 0)


def test_what_the_driver_reserves_is_used_to_the_first_question_and_apart_in_the_second(
    gpus: FakeGpus, nvml: Nvml
) -> None:
    gpus.add(memory_mb=1000, reserved_mb=100)
    gpus.allocate(os.getpid(), 0, 300)
    first = nvml("nvmlDeviceGetMemoryInfo(gpu(0))")
    assert first == {"total": 1000 * MB, "free": 600 * MB, "used": 400 * MB}
    second = nvml("nvmlDeviceGetMemoryInfo(gpu(0), version=nvmlMemory_v2)")
    del second["version"]
    assert second == {"total": 1000 * MB, "reserved": 100 * MB, "free": 600 * MB, "used": 300 * MB}
    assert nvml("nvmlDeviceGetMemoryInfo(gpu(0), version=7)") == "NVMLError_ArgumentVersionMismatch"


def test_a_gpu_is_found_by_uuid_and_by_bus(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    gpus.add()
    assert nvml(f"nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID({gpus.uuid(1)!r}))") == 1
    assert nvml("nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId('00000000:02:00.0'))") == 1
    assert nvml("nvmlDeviceGetHandleByUUID('GPU-none')") == "NVMLError_NotFound"
    assert nvml("nvmlDeviceGetHandleByPciBusId('00000000:09:00.0')") == "NVMLError_NotFound"
    assert nvml("gpu(2)") == "NVMLError_InvalidArgument"
    assert nvml("nvmlDeviceGetName(None)") == "NVMLError_InvalidArgument"


def test_the_driver_tells_its_versions(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    gpus.driver("535.129.03", cuda=12020)
    gpus.add()
    assert nvml("nvmlDeviceGetCount()") == 2
    assert nvml("[nvmlSystemGetDriverVersion(), nvmlSystemGetNVMLVersion()]") == ["535.129.03", "12.535.129.03"]
    assert nvml("[nvmlSystemGetCudaDriverVersion(), nvmlSystemGetCudaDriverVersion_v2()]") == [12020, 12020]
    assert nvml("nvmlSystemGetProcessName(os.getpid())") == sys.executable
    assert nvml("nvmlSystemGetProcessName(4194304)") == "NVMLError_NotFound"
    assert nvml("nvmlErrorString(NVML_ERROR_GPU_IS_LOST)") == "GPU is lost"


@pytest.mark.parametrize(
    ("driver", "error"), [("missing", "NVMLError_DriverNotLoaded"), ("mismatch", "NVMLError_LibRmVersionMismatch")]
)
def test_without_a_fitting_driver_nothing_begins(gpus: FakeGpus, nvml: Nvml, driver: str, error: str) -> None:
    gpus.add()
    assert nvml("nvmlShutdown()") is None
    gpus.driver(driver)
    assert nvml("nvmlInit()") == error
    assert nvml("nvmlDeviceGetCount()") == "NVMLError_Uninitialized"
    gpus.driver()
    assert nvml("[nvmlInit(), nvmlInit(), nvmlShutdown(), nvmlDeviceGetCount()]") == [None, None, None, 1]
    assert nvml("[nvmlShutdown(), nvmlDeviceGetCount()]") == "NVMLError_Uninitialized"
    assert nvml("nvmlShutdown()") == "NVMLError_Uninitialized"


def test_without_a_folder_there_is_no_driver(gpus: FakeGpus, nvml: Nvml, tmp_path: Path) -> None:
    assert nvml(f"look_at({str(tmp_path)!r})") == "NVMLError_DriverNotLoaded"


def test_older_symbols_answer_too(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(memory_mb=1000)
    gpus.allocate(os.getpid(), 0, 300)
    nvml("(count := c_uint()) and None")
    assert nvml("[pynvml.nvmlLib.nvmlDeviceGetCount(byref(count)), count]") == [0, 1]
    assert nvml("[pynvml.nvmlLib.nvmlInit(), pynvml.nvmlLib.nvmlInit_v2()]") == [0, 0]
    assert nvml("pids(nvmlDeviceGetComputeRunningProcesses_v2(gpu(0)))") == [os.getpid()]
    nvml("(array := (c_ulonglong * 4)()) and None")
    first = "pynvml.nvmlLib.nvmlDeviceGetComputeRunningProcesses(gpu(0), byref(count), array)"
    assert nvml(f"[{first}, list(array)]") == [0, [os.getpid(), 300 * MB, 0, 0]]


def test_a_mistake_in_the_file_is_not_passed_over(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(temprature=40)
    assert nvml("nvmlDeviceGetCount()") == "NVMLError_Unknown"
    gpus.change(0, temprature=None, mig="2:100")
    assert nvml("nvmlDeviceGetCount()") == "NVMLError_Unknown"
    gpus.change(0, mig=None, uuid="GPX-1")
    assert nvml("nvmlDeviceGetCount()") == "NVMLError_Unknown"
    gpus.change(0, uuid="GPU-1")
    assert nvml("nvmlDeviceGetCount()") == 1


# -- memory and processes -------------------------------------------------------------------------------------------


def test_memory_follows_living_processes(gpus: FakeGpus, nvml: Nvml, holder: subprocess.Popen[bytes]) -> None:
    gpus.add(memory_mb=1000)
    gpus.add(memory_mb=1000)
    gpus.allocate(holder.pid, 1, 300)
    gpus.allocate(os.getpid(), 1, 50)
    assert (nvml.used_mb(0), nvml.used_mb(1), gpus.used_mb(1)) == (0, 350, 350)
    assert nvml.pids(0) == []
    assert nvml.pids(1) == sorted([holder.pid, os.getpid()])
    gpus.allocate(holder.pid, 1, 700)
    assert nvml.used_mb(1) == 750
    gpus.free(os.getpid(), 1)
    assert nvml.used_mb(1) == 700
    entry = nvml("nvmlDeviceGetComputeRunningProcesses(gpu(1))")[0]
    assert entry["usedGpuMemory"] == 700 * MB
    assert entry["gpuInstanceId"] == entry["computeInstanceId"] == 0xFFFFFFFF


def test_who_dies_holds_nothing_even_before_it_is_buried(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    with subprocess.Popen(["sleep", "600"]) as child:
        gpus.allocate(child.pid, 0, 300)
        assert nvml.pids() == [child.pid]
        child.kill()
        until(lambda: started(child.pid) is None, "the child to be a zombie")
        assert (nvml.used_mb(), nvml.pids(), gpus.used_mb(0)) == (0, [], 0)
    assert (nvml.used_mb(), gpus.used_mb(0)) == (0, 0)


def test_a_later_process_with_the_same_number_holds_nothing(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    start = started(os.getpid())
    assert start
    file = gpus.folder.path / "allocations" / f"{os.getpid()}.0"
    file.write_text(f"300 start={start - 1}")
    assert (nvml.used_mb(), gpus.used_mb(0)) == (0, 0)
    file.write_text(f"300 start={start}")
    assert (nvml.used_mb(), gpus.used_mb(0)) == (300, 300)
    file.write_text("200")
    assert (nvml.used_mb(), gpus.used_mb(0)) == (200, 200)


def test_memory_may_be_anybodys_and_nobodys(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(memory_mb=1000, unowned_mb=20)
    gpus.allocate(1, 0, 300)
    assert nvml.pids() == [1]
    assert (nvml.used_mb(), gpus.used_mb(0)) == (320, 320)
    with pytest.raises(ValueError, match="there is no process"):
        gpus.allocate(4_194_304, 0, 1)


def test_a_process_is_in_the_lists_of_its_kind(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    lists = [f"pids(nvmlDeviceGet{kind}RunningProcesses(gpu(0)))" for kind in ("Compute", "Graphics", "MPSCompute")]
    me = os.getpid()
    for kind, where in {
        "compute": [[me], [], []],
        "graphics": [[], [me], []],
        "both": [[me], [me], []],
        "mps": [[me], [], [me]],
    }.items():
        gpus.allocate(me, 0, 100, kind=kind)
        assert [nvml(question) for question in lists] == where, kind
        assert nvml.used_mb() == 100


def test_a_list_that_is_too_small_is_told_its_size(gpus: FakeGpus, nvml: Nvml, holder: subprocess.Popen[bytes]) -> None:
    gpus.add()
    for pid in (1, os.getpid(), holder.pid):
        gpus.allocate(pid, 0, 10)
    nvml("(count := c_uint(2)) and (array := (pynvml.c_nvmlProcessInfo_t * 3)()) and None")
    question = "pynvml.nvmlLib.nvmlDeviceGetComputeRunningProcesses_v3(gpu(0), byref(count), array)"
    assert nvml(f"[{question}, count, array[0].pid]") == [7, 3, 0]
    assert nvml(f"[{question}, count, array[0].pid]") == [0, 3, 1]


def test_processes_keep_a_gpu_busy(gpus: FakeGpus, nvml: Nvml, holder: subprocess.Popen[bytes]) -> None:
    gpus.add(utilization=10)
    assert nvml("nvmlDeviceGetProcessUtilization(gpu(0), 0)") == "NVMLError_NotFound"
    gpus.allocate(holder.pid, 0, 300, util=40)
    assert nvml("nvmlDeviceGetUtilizationRates(gpu(0)).gpu") == 50
    samples = nvml("nvmlDeviceGetProcessUtilization(gpu(0), 0)")
    assert [(sample["pid"], sample["smUtil"]) for sample in samples] == [(holder.pid, 40)]
    gpus.allocate(os.getpid(), 0, 300, util=90)
    assert nvml("nvmlDeviceGetUtilizationRates(gpu(0)).gpu") == 100


# -- GPUs that misbehave --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("switch", "expression", "answer"),
    [
        ("lost", "gpu(0)", "NVMLError_GpuIsLost"),
        ("no_memory", "nvmlDeviceGetMemoryInfo(gpu(0))", "NVMLError_NotSupported"),
        ("no_memory", "nvmlDeviceGetMemoryInfo(gpu(0), nvmlMemory_v2)", "NVMLError_NotSupported"),
        ("no_processes", "nvmlDeviceGetComputeRunningProcesses(gpu(0))", "NVMLError_NotSupported"),
        ("no_processes", "nvmlDeviceGetGraphicsRunningProcesses(gpu(0))", "NVMLError_NotSupported"),
        ("no_processes", "nvmlDeviceGetProcessUtilization(gpu(0), 0)", "NVMLError_NotSupported"),
        ("no_permission", "nvmlDeviceGetComputeRunningProcesses(gpu(0))", "NVMLError_NoPermission"),
        ("no_permission", "nvmlDeviceGetMemoryInfo(gpu(0)).used >> 20", 300),
        ("no_pids", "nvmlDeviceGetComputeRunningProcesses(gpu(0))", []),
        ("no_pids", "nvmlDeviceGetMemoryInfo(gpu(0)).used >> 20", 300),
        ("no_process_memory", "nvmlDeviceGetComputeRunningProcesses(gpu(0))[0].usedGpuMemory", None),
        ("nonsense", "(m := nvmlDeviceGetMemoryInfo(gpu(0))).used > m.total", True),
        ("nonsense", "nvmlDeviceGetUtilizationRates(gpu(0)).gpu", 1000),
        ("nonsense", "nvmlDeviceGetTemperature(gpu(0), 0)", 65535),
        ("nonsense", "nvmlDeviceGetComputeRunningProcesses(gpu(0))[0].usedGpuMemory", 1 << 60),
    ],
)
def test_a_gpu_misbehaves_as_it_is_told(
    gpus: FakeGpus, nvml: Nvml, switch: str, expression: str, answer: object
) -> None:
    gpus.add(memory_mb=1000)
    gpus.allocate(os.getpid(), 0, 300)
    gpus.change(0, **{switch: True})
    assert nvml(expression) == answer
    gpus.change(0, **{switch: False})
    assert (nvml.used_mb(), nvml.pids()) == (300, [os.getpid()])


def test_a_gpu_falls_off_the_bus_while_it_is_watched_and_the_others_stay(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add("A")
    gpus.add("B")
    nvml("(handle := gpu(0)) and None")
    assert nvml("nvmlDeviceGetName(handle)") == "A"
    gpus.change(0, lost=True)
    assert nvml("nvmlDeviceGetName(handle)") == nvml("gpu(0)") == "NVMLError_GpuIsLost"
    assert nvml(f"nvmlDeviceGetHandleByUUID({gpus.uuid(0)!r})") == "NVMLError_GpuIsLost"
    assert nvml("[nvmlDeviceGetCount(), nvmlDeviceGetName(gpu(1))]") == [2, "B"]


def test_a_gpu_that_is_gone_is_not_even_counted(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add("A")
    gpus.add("B", memory_mb=1000)
    gpus.allocate(os.getpid(), 1, 300)
    nvml("(handle := gpu(0)) and None")
    gpus.change(0, gone=True)
    assert nvml("nvmlDeviceGetName(handle)") == "NVMLError_GpuIsLost"
    assert nvml("[nvmlDeviceGetCount(), nvmlDeviceGetName(gpu(0)), nvmlDeviceGetIndex(gpu(0))]") == [1, "B", 0]
    assert nvml.used_mb(0) == 300
    assert nvml(f"nvmlDeviceGetHandleByUUID({gpus.uuid(0)!r})") == "NVMLError_NotFound"


def test_in_a_container_processes_have_other_numbers(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(hidden_pids=True)
    gpus.add(hidden_pids=70_000)
    gpus.allocate(os.getpid(), 0, 300, util=5)
    gpus.allocate(os.getpid(), 1, 300)
    assert nvml.pids(0) == [os.getpid() + 1_000_000]
    assert nvml.pids(1) == [os.getpid() + 70_000]
    assert nvml("nvmlDeviceGetProcessUtilization(gpu(0), 0)[0].pid") == os.getpid() + 1_000_000


def test_any_call_can_be_made_to_fail(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add("A", fail="nvmlDeviceGetName:3,nvmlDeviceGetMemoryInfo_v2:999,nvmlDeviceGetHandleByIndex:4")
    gpus.add("B", fail="nvmlDeviceGetName:3,nvmlDeviceGetMemoryInfo_v2:999")
    assert nvml("gpu(0)") == "NVMLError_NoPermission"
    assert nvml("nvmlDeviceGetName(gpu(1))") == "NVMLError_NotSupported"
    assert nvml("nvmlDeviceGetMemoryInfo(gpu(1), nvmlMemory_v2)") == "NVMLError_Unknown"
    assert nvml("nvmlDeviceGetMemoryInfo(gpu(1)).used") == 0
    gpus.driver(fail="nvmlDeviceGetCount:10")
    assert nvml("nvmlDeviceGetCount()") == "NVMLError_Timeout"


def test_calls_are_counted(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(mig=[500])
    nvml("nvmlDeviceGetCount()")
    gpus.record_calls()
    nvml("[nvmlDeviceGetCount(), nvmlDeviceGetUUID(gpu(0)), nvmlDeviceGetUUID(mig(0, 0))]")
    assert Counter(call.function for call in gpus.calls()) == {
        "nvmlDeviceGetCount_v2": 1,
        "nvmlDeviceGetHandleByIndex_v2": 2,
        "nvmlDeviceGetMigDeviceHandleByIndex": 1,
        "nvmlDeviceGetUUID": 2,
    }
    assert {call.pid for call in gpus.calls()} == {nvml.process.pid}
    assert [call.place for call in gpus.calls()[-3:]] == [None, Place(0), Place(0, 0)]
    gpus.record_calls()
    assert gpus.calls() == []


# -- MIG ------------------------------------------------------------------------------------------------------------


def test_a_gpu_is_divided(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(mig=[20_096, 20_096, 10_000])
    gpus.allocate(os.getpid(), 0, 300, mig=1)
    assert nvml("[nvmlDeviceGetCount(), nvmlDeviceGetMigMode(gpu(0))]") == [1, [1, 1]]
    assert nvml("nvmlDeviceGetMaxMigDeviceCount(gpu(0))") == 7
    assert nvml("[nvmlDeviceGetMemoryInfo(mig(0, i)).total >> 20 for i in range(3)]") == [20_096, 20_096, 10_000]
    assert nvml("[nvmlDeviceGetMemoryInfo(mig(0, i)).used >> 20 for i in range(3)]") == [0, 300, 0]
    assert nvml("mig(0, 3)") == "NVMLError_NotFound"
    assert nvml.used_mb() == gpus.used_mb(0) == gpus.used_mb(0, mig=1) == 300
    uuids = nvml("[nvmlDeviceGetUUID(mig(0, i)) for i in range(3)]")
    assert uuids == [gpus.uuid(0, mig) for mig in range(3)]
    assert len(set(uuids)) == 3
    assert all(uuid.startswith("MIG-") and len(uuid) == 40 for uuid in uuids)
    assert nvml("nvmlDeviceGetName(mig(0, 0))") == "NVIDIA H200 MIG 1g.20gb"
    assert nvml("nvmlDeviceGetAttributes(mig(0, 2)).memorySizeMB") == 10_000


def test_an_instance_knows_its_gpu_and_its_processes(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    gpus.add(mig=[1000, 1000])
    gpus.allocate(os.getpid(), 1, 300, mig=1)
    nvml(f"(instance := nvmlDeviceGetHandleByUUID({gpus.uuid(1, 1)!r})) and None")
    assert nvml("nvmlDeviceIsMigDeviceHandle(instance).value") == 1
    assert nvml("nvmlDeviceIsMigDeviceHandle(gpu(1)).value") == 0
    assert nvml("nvmlDeviceGetIndex(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance))") == 1
    assert nvml("[nvmlDeviceGetGpuInstanceId(instance), nvmlDeviceGetComputeInstanceId(instance)]") == [2, 0]
    whole = nvml("nvmlDeviceGetComputeRunningProcesses(gpu(1))")
    assert whole == nvml("nvmlDeviceGetComputeRunningProcesses(instance)")
    assert [(entry["pid"], entry["gpuInstanceId"], entry["computeInstanceId"]) for entry in whole] == [
        (os.getpid(), 2, 0)
    ]
    assert nvml("nvmlDeviceGetComputeRunningProcesses(mig(1, 0))") == []
    assert nvml("nvmlDeviceGetUtilizationRates(gpu(1))") == "NVMLError_NotSupported"
    assert nvml("nvmlDeviceGetUtilizationRates(instance)") == "NVMLError_NotSupported"
    gpus.change(1, mig=[1000])
    assert nvml("nvmlDeviceGetUUID(instance)") == "NVMLError_NotFound"


def test_a_gpu_that_is_not_divided_says_so(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    gpus.add(mig=[])
    assert nvml("nvmlDeviceGetMigMode(gpu(0))") == "NVMLError_NotSupported"
    assert nvml("nvmlDeviceGetMigMode(gpu(1))") == [0, 0]
    assert nvml("[nvmlDeviceGetMaxMigDeviceCount(gpu(i)) for i in range(2)]") == [0, 0]
    assert nvml("mig(0, 0)") == "NVMLError_NotSupported"
    assert nvml("mig(1, 0)") == "NVMLError_NotFound"
    assert nvml("nvmlDeviceGetGpuInstanceId(gpu(1))") == "NVMLError_NotSupported"


# -- the build ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fake_nvml_library")
def test_the_library_is_built_once_however_many_want_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    builds = []
    compile_ = fake_nvml._compile

    def count_and_compile(source: Path, target: Path) -> None:
        builds.append(target)
        compile_(source, target)

    monkeypatch.setattr(fake_nvml, "_compile", count_and_compile)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ThreadPoolExecutor(4) as workers:
        paths = list(workers.map(lambda _: fake_nvml.shared_object(), range(4)))
    assert set(paths) == set(builds)
    assert len(builds) == 1


def test_without_a_compiler_a_laptop_skips_and_ci_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(NoCompiler, match="needs a C compiler"):
        fake_nvml.shared_object()
    with pytest.raises(pytest.skip.Exception, match="needs a C compiler"):
        library_or_skip()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="needs a C compiler"):
        library_or_skip()


def test_a_library_that_others_could_have_put_there_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"duckrow-fake-nvml-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        fake_nvml.shared_object()
