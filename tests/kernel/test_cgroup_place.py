"""Where cgroups for attempts can be made, for machines of every kind."""

from __future__ import annotations

import pytest

from duckrow.kernel.cgroup_place import CgroupPlace, find_place

PID = 4242
ROOT = "/sys/fs/cgroup"
MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
SERVICE = "/user.slice/user-1000.slice/user@1000.service/app.slice/duckrow.service"


class Kernel:
    """What its files say; groups are given as folders with the files that are not as usual."""

    def __init__(self, own: str, mounts: str = MOUNT, folder: str = "", writable: tuple[str, ...] = ()) -> None:
        self.files = {
            f"/proc/{PID}/cgroup": f"4:memory:/x\n0::{own}\n",
            "/proc/self/mountinfo": mounts,
            "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        }
        self.writable = set(writable)
        if folder:
            self.group(folder)
            self.files[f"{folder}/cgroup.procs"] = f"1\n{PID}\n"

    def group(self, folder: str, **files: str) -> Kernel:
        self.files.setdefault(f"{folder}/cgroup.procs", "")
        if folder != ROOT:
            self.files |= {f"{folder}/cgroup.events": "populated 1\n", f"{folder}/cgroup.kill": ""}
        self.files |= {f"{folder}/cgroup.{name}": text for name, text in files.items()}
        return self

    def ours(self, folder: str) -> Kernel:
        self.writable |= {folder, f"{folder}/cgroup.procs"}
        return self

    def read(self, path: str) -> str:
        return self.files.get(path, "")

    def exists(self, path: str) -> bool:
        return path in self.files

    def may_write(self, path: str) -> bool:
        return path in self.writable

    def place(self) -> CgroupPlace:
        return find_place(self, PID)


def test_a_delegated_service_has_groups_below_its_own() -> None:
    place = Kernel(SERVICE, folder=ROOT + SERVICE).ours(ROOT + SERVICE).place()
    assert place == CgroupPlace(ROOT + SERVICE, ROOT + SERVICE)
    assert place.way == f"its own cgroup (v2), below {ROOT}{SERVICE}"


def test_a_daemon_in_a_leaf_has_them_beside_it_and_their_memory_is_counted() -> None:
    base = ROOT + SERVICE
    kernel = Kernel(f"{SERVICE}/duckrow-host", folder=f"{base}/duckrow-host").ours(base)
    assert kernel.group(base).place() == CgroupPlace(base, f"{base}/duckrow-host")
    place = kernel.group(base, controllers="cpu memory pids\n").place()
    assert place.counts_memory
    assert place.way == f"its own cgroup (v2), which counts its memory, below {base}"


def test_memory_is_not_counted_where_our_own_group_would_have_to_be_empty() -> None:
    kernel = Kernel("/a", folder=f"{ROOT}/a").ours(f"{ROOT}/a")
    assert not kernel.group(f"{ROOT}/a", controllers="memory\n").place().counts_memory
    assert kernel.group(f"{ROOT}/a", subtree_control="memory\n").place().counts_memory


def test_root_may_be_in_the_root_of_the_hierarchy() -> None:
    kernel = Kernel("/", folder=ROOT).ours(ROOT)
    assert kernel.place() == CgroupPlace(ROOT, ROOT)
    kernel.files["/proc/sys/kernel/osrelease"] = "5.13.19\n"
    assert kernel.place().why_not == "this kernel has no cgroup.kill; Linux 5.14 brought it"


def test_the_hierarchy_of_a_hybrid_machine_is_found_where_it_is_mounted() -> None:
    mounts = (
        "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/my\\040unified rw shared:7 - cgroup2 cgroup2 rw\n"
    )
    folder = "/sys/fs/cgroup/my unified/a/b"
    assert Kernel("/a/b", mounts, folder).ours(folder).place().base == folder


def test_of_several_mounts_the_one_that_shows_our_own_group_is_taken() -> None:
    mounts = (
        "1 0 0:1 /docker/1 /other rw - cgroup2 cgroup2 rw\n"
        "2 0 0:1 /docker/12 /narrow rw - cgroup2 cgroup2 rw\n"
        "3 0 0:1 / /wide ro - cgroup2 cgroup2 rw\n"
    )
    assert Kernel("/docker/12/x", mounts, "/narrow/x").ours("/narrow/x").place().base == "/narrow/x"


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (Kernel("/", folder=ROOT), "you cannot write to /sys/fs/cgroup"),
        (Kernel("/a", folder=f"{ROOT}/a", writable=(f"{ROOT}/a",)), "you cannot write to /sys/fs/cgroup/a"),
        (Kernel("/", mounts="25 23 0:5 / /proc rw - proc proc rw\n"), "cgroup v2 is not mounted"),
        (Kernel("/../../a"), "its own cgroup is outside of what is mounted here"),
        (Kernel("/", mounts=MOUNT.replace(" / /sys", " /../.. /sys")), "its own cgroup is outside of what is mounted"),
        # Another group of the same name: our process is not in it, so it is not ours.
        (Kernel("/a").group(f"{ROOT}/a").ours(f"{ROOT}/a"), "its own cgroup is outside of what is mounted here"),
    ],
)
def test_where_no_group_can_be_had_the_reason_is_told(kernel: Kernel, reason: str) -> None:
    place = kernel.place()
    assert place.why_not.startswith(reason)
    assert place.way == f"process table (no cgroup available: {place.why_not})"


def test_a_kernel_without_the_second_version_is_told() -> None:
    kernel = Kernel("/")
    kernel.files[f"/proc/{PID}/cgroup"] = "4:memory:/x\n1:name=systemd:/\n"
    assert kernel.place().why_not == "this kernel has no cgroup v2"


def test_a_kernel_that_cannot_kill_a_group_is_told() -> None:
    kernel = Kernel("/a", folder=f"{ROOT}/a").ours(f"{ROOT}/a")
    del kernel.files[f"{ROOT}/a/cgroup.kill"]
    assert kernel.place().why_not == "this kernel has no cgroup.kill; Linux 5.14 brought it"
