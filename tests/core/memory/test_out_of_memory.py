"""Which ends of an attempt are an end of its memory."""

from __future__ import annotations

import textwrap

import pytest

from duckrow.core.memory.out_of_memory import memory_wanted_mb, ran_out_of_memory

PROGRESS = [f"epoch 1 step {step} loss 2.{step:03d}" for step in range(300)]

TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.65 GiB"
    " of which 11.06 MiB is free. Process 4711 has 15.50 GiB memory in use. Including non-PyTorch memory, this process"
    " has 7.80 GiB memory in use. Of the allocated memory 7.10 GiB is allocated by PyTorch, and 194.87 MiB is reserved"
    " by PyTorch but unallocated. If reserved but unallocated memory is large try setting"
    " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory"
    " Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)
TORCH_1 = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already"
    " allocated; 3.03 GiB free; 1.24 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try"
    " setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and"
    " PYTORCH_CUDA_ALLOC_CONF"
)
DIRECT_CAUSE = "The above exception was the direct cause of the following exception:"
WHILE_HANDLING = "During handling of the above exception, another exception occurred:"


def traceback(exception: str, source: str = "loss.backward()", prefix: str = "") -> list[str]:
    stack = [
        "Traceback (most recent call last):",
        '  File "/home/me/train.py", line 31, in <module>',
        "    main()",
        '  File "/home/me/train.py", line 12, in main',
        f"    {source}",
        "    ^^^^^^^^^^^^^^^",
    ]
    return [prefix + line for line in [*stack, *exception.splitlines()]]


def then(*parts: list[str] | str) -> list[str]:
    """Logs behind each other, with an empty line between them."""
    return [line for part in parts for line in [*([part] if isinstance(part, str) else part), ""]][:-1]


CHILD_FAILED = [
    *traceback("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "sys.exit(main())"),
    "=" * 60,
    "train.py FAILED",
    "Root Cause (first observed failure):",
    "[0]:",
    "  rank      : 0 (local_rank: 0)",
    "  exitcode  : 1 (pid: 78970)",
    "=" * 60,
]
XLA_DUMP = [
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes",
    "BufferAssignment OOM Debugging.",
    "BufferAssignment stats:",
    "             parameter allocation:  372.76MiB",
    "              constant allocation:    48.5KiB",
    "        maybe_live_out allocation:    9.64GiB",
    "     preallocated temp allocation:    4.44GiB",
    "                 total allocation:   14.44GiB",
    "Peak buffers:",
    *[
        line
        for n in range(15)
        for line in (f"\tBuffer {n}:", "\t\tSize: 506.25MiB", "\t\tShape: f32[64,1080]", "\t\t====")
    ],
]
VLLM = "(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718] "
BOX = [
    "╭───────────────────── Traceback (most recent call last) ──────────────────────╮",
    "│ /home/me/train.py:31 in <module>                                             │",
    "│ ❱ 31 │   raise RuntimeError('CUDA error: out of memory')                      │",
    "╰──────────────────────────────────────────────────────────────────────────────╯",
]

GPU = {
    "PyTorch": traceback(TORCH),
    "PyTorch 2.0": traceback(TORCH.replace("torch.Out", "torch.cuda.Out").replace("capacity", "capacty")),
    "PyTorch 1": traceback(TORCH_1),
    "PyTorch with colours": traceback(f"\x1b[31m\x1b[1m{TORCH}\x1b[0m"),
    "PyTorch, an asynchronous error": traceback(
        "torch.AcceleratorError: CUDA error: out of memory\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be"
        " incorrect.\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
    ),
    "PyTorch, cudaMallocAsync": traceback(
        "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
        "Currently allocated     : 15.16 GiB\nRequested               : 512.00 KiB\nDevice limit            : 15.99 GiB"
    ),
    "PyTorch from C++": [
        "terminate called after throwing an instance of 'c10::OutOfMemoryError'",
        "  what():  CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB",
        "Exception raised from malloc at ../c10/cuda/CUDACachingAllocator.cpp:1144 (most recent call first):",
        "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7fa6d3bd2d62 in libc10.so)",
        "Aborted (core dumped)",
    ],
    "ROCm": traceback(TORCH.replace("CUDA out", "HIP out").replace("PYTORCH_CUDA", "PYTORCH_HIP")),
    "DataParallel": traceback(
        "torch.cuda.OutOfMemoryError: Caught OutOfMemoryError in replica 1 on device 1.\n"
        'Original Traceback (most recent call last):\n  File "/lib/parallel_apply.py", line 64, in _worker\n'
        f"    output = module(*input, **kwargs)\n{TORCH}"
    ),
    "rich": [*BOX, *textwrap.wrap(TORCH, 80)],
    "a task group": [
        "  + Exception Group Traceback (most recent call last):",
        '  |   File "/home/me/train.py", line 3, in <module>',
        "  |     asyncio.run(main())",
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
        "  +-+---------------- 1 ----------------",
        *traceback(TORCH, prefix="    | "),
        "    +------------------------------------",
    ],
    "Hydra": [
        "Error executing job with overrides: ['lr=0.1']",
        *then(traceback(TORCH), "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."),
    ],
    "torchrun": then(traceback(TORCH, prefix="[rank0]: "), CHILD_FAILED),
    "torchrun, the other rank told last": [
        *traceback(TORCH, prefix="[rank0]: "),
        *traceback("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317", prefix="[rank1]: "),
        "[rank1]: ncclRemoteError: A call failed possibly due to a remote process exiting prematurely.",
    ],
    "accelerate": then(traceback(TORCH), traceback("subprocess.CalledProcessError: Command '['python']' returned 1.")),
    "DeepSpeed": [
        *traceback(TORCH),
        "[2024-04-14 13:11:27,879] [INFO] [launch.py:428:sigkill_handler] Killing subprocess 13266",
        "[2024-04-14 13:11:27,885] [ERROR] [launch.py:434:sigkill_handler] ['python', '-u'] exits with return code = 1",
    ],
    "Ray": traceback(
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::train() (pid=41, ip=10.0.0.1)\n"
        f'  File "/home/me/train.py", line 8, in train\n    model(x)\n{TORCH}'
    ),
    "W&B behind it": [*traceback(TORCH), *[f"wandb: run history line {n}" for n in range(40)]],
    "JAX": traceback(XLA_DUMP[0]),
    "JAX with its long dump": traceback("\n".join(XLA_DUMP)),
    "JAX, new": traceback(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 20029400304 bytes."
    ),
    "JAX, old": traceback("RuntimeError: Resource exhausted: Failed to allocate request for 87.48GiB (93935126000B)"),
    "JAX with NCCL": [
        "node:12:34 [0] include/alloc.h:320 NCCL WARN Cuda failure 2 'out of memory'",
        *traceback("JaxRuntimeError: INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled cuda error"),
    ],
    "TensorFlow": traceback(
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n\n"
        "Detected at node 'model/conv1' defined at (most recent call last):\n"
        '    File "/home/me/train.py", line 9, in <module>\n      model.fit(x)\n'
        "Node: 'model/conv1'\n"
        "OOM when allocating tensor with shape[16,64,64,64] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[{{node model/conv1}}]]\n"
        "Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom"
    ),
    "TensorFlow, eager": traceback(
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__Cast_device_"
        "/job:localhost/replica:0/task:0/device:GPU:0}} failed to allocate memory [Op:Cast]"
    ),
    "TensorFlow, then cuDNN": [
        "E tensorflow/cuda_driver.cc:828] failed to allocate 32.00M (33554432 bytes) from device:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        *traceback("UnknownError: Failed to get convolution algorithm: CUDNN_STATUS_NOT_INITIALIZED"),
    ],
    "CuPy": traceback(
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 25,600,000 bytes"
        " (allocated so far: 3,635,267,072 bytes)."
    ),
    "Numba": then(
        traceback("numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY"),
        WHILE_HANDLING,
        traceback("ValueError: the array was not made"),
    ),
    "cuBLAS": traceback("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "cuDNN": traceback("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    "RMM": traceback(
        "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/include/rmm/mr/device/cuda_memory_resource.hpp"
    ),
    "RMM from C++": [
        "terminate called after throwing an instance of 'rmm::out_of_memory'",
        "  what():  std::bad_alloc: out_of_memory: RMM failure at:pool_memory_resource.hpp:257: Maximum pool size",
        "Aborted (core dumped)",
    ],
    "NCCL": traceback(
        "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled cuda error\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'",
        prefix="[rank3]: ",
    ),
    "Triton": traceback("RuntimeError: Triton Error [CUDA]: out of memory"),
    "ONNX Runtime": traceback(
        "onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException: [ONNXRuntimeError] : 6 : bfc_arena.cc:376 void*"
        " onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer"
    ),
    "vLLM, no room for its cache": then(
        traceback(
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
            prefix=VLLM,
        ),
        traceback("RuntimeError: Engine core initialization failed. See root cause above.", "run_server()"),
    ),
    "vLLM, the GPU too full": traceback(
        "ValueError: Free memory on device (31.44/47.38 GiB) on startup is less than desired GPU memory utilization"
        " (0.95, 45.01 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        prefix=VLLM,
    ),
    "llama.cpp": [
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 144.00 MiB on device 4:"
        " cudaMalloc failed: out of memory",
        "ggml_gallocr_reserve_n: failed to allocate CUDA4 buffer of size 150995968",
        "llama_new_context_with_model: failed to allocate compute buffers",
        *traceback("ValueError: Failed to create llama_context", "llm = Llama(path)"),
    ],
    "nvcc, an error check": ["CUDA error at solver.cu:118: out of memory"],
    "nvcc, the usual macro": ["GPUassert: out of memory solver.cu 118"],
    "nvcc, the samples": ['CUDA error at a.cu:12 code=2(cudaErrorMemoryAllocation) "cudaMalloc(&d_a, size)"'],
    "old PyTorch": traceback("RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC.cu:25"),
    "darknet": ["CUDA Error: out of memory", "darknet: ./src/cuda.c:36: check_error: Assertion `0' failed."],
    "a hint behind it": [
        "Error CUDA out of memory. Tried to allocate 1.71 GiB (GPU 0; 6.00 GiB total capacity)",
        "If you encounter CUDA out of memory, try to set --tile with a smaller number.",
    ],
    "after a first that was survived": [
        "caught CUDA out of memory, retrying with batch 16",
        *PROGRESS[:20],
        *traceback(TORCH),
    ],
    "wrapped by the program": then(traceback(TORCH), DIRECT_CAUSE, traceback("TrainingFailed: step 3")),
    "noise of the interpreter's end": then(
        traceback(TORCH),
        ["Exception ignored in: <function Iter.__del__ at 0x7f>", *traceback("AssertionError: can only test a child")],
    ),
    "a data loader's thread ends with it": then(
        traceback(TORCH),
        ["Exception in thread Thread-4:", *traceback("ConnectionResetError: [Errno 104] Connection reset by peer")],
    ),
}

HOST = {
    "Python": traceback("MemoryError"),
    "NumPy": traceback(
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 58.0 GiB for an array with shape"
    ),
    "fork": traceback("OSError: [Errno 12] Cannot allocate memory"),
    "PyTorch on the CPU": traceback(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you"
        " tried to allocate 132426121216 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "TensorFlow on the CPU": traceback(
        "ResourceExhaustedError: OOM when allocating tensor with shape[1,416,416,3] and type float on"
        " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu"
    ),
    "C++": [
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "  what():  std::bad_alloc",
        "Aborted (core dumped)",
    ],
    "a data loader's worker": then(
        traceback("RuntimeError: DataLoader worker (pid 1817) is killed by signal: Killed. "),
        DIRECT_CAUSE,
        traceback("RuntimeError: DataLoader worker (pid(s) 1817) exited unexpectedly"),
    ),
    "Ray": traceback("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."),
    "the kernel": ["Memory cgroup out of memory: Killed process 63214 (python) total-vm:3149468kB, anon-rss:164992kB"],
    "SLURM": [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM"
        " Killed.",
        "srun: error: node6156: task 0: Out Of Memory",
    ],
    "old SLURM": [
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup. Some of your processes may have"
        " been killed by the cgroup out-of-memory handler."
    ],
    "R": ["Error: cannot allocate vector of size 2.0 Gb", "Execution halted"],
    "Rust": ["memory allocation of 34359738368 bytes failed"],
}

NEITHER = {
    "nothing": [],
    "an ordinary error": traceback("ValueError: x"),
    "survived, long before another error": [
        "caught OOM: CUDA out of memory. Tried to allocate 2.00 GiB; retrying with batch 16",
        *PROGRESS[:200],
        *traceback("ValueError: x"),
    ],
    "survived, shortly before another error": then(traceback(TORCH), PROGRESS[:5], traceback("ValueError: x")),
    "survived, and the end is not told": [*traceback(TORCH), "OOM at batch 64, retrying with 32", *PROGRESS[:10]],
    "survived, far from a silent end": [*traceback(TORCH), *PROGRESS[:100]],
    "a batch skipped": ["| WARNING: ran out of memory with exception: CUDA out of memory. Tried to allocate 2 GiB"],
    "advice": ["WARNING: expandable segments can avoid CUDA out of memory"],
    "advice with every error": [
        "Error Sizes of tensors must match except in dimension 1.",
        "If you encounter CUDA out of memory, try to set --tile with a smaller number.",
    ],
    "source that names it": traceback("ValueError: x", source="except torch.cuda.OutOfMemoryError: raise"),
    "source that names it, the beginning cut off": traceback("ValueError: x", "raise E('CUDA error: out of memory')")[
        2:
    ],
    "source that names it, in a box": [*BOX, "ValueError: x"],
    "TensorFlow trying smaller": [
        "E tensorflow/cuda_driver.cc:828] failed to allocate 17.79G (19104890880 bytes) from device:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        *traceback("KeyError: 'label'"),
    ],
    "TensorFlow being slower": [
        "W tensorflow/bfc_allocator.cc:245] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.14GiB. The"
        " caller indicates that this is not a failure, but may mean that there could be performance gains."
    ],
    "TensorFlow with a full disk": traceback("ResourceExhaustedError: /ckpt/model-49.tmp; No space left on device"),
    "gRPC": traceback("grpc.RpcError: StatusCode.RESOURCE_EXHAUSTED: Received message larger than max"),
    "JAX with another error": traceback("jaxlib.xla_extension.XlaRuntimeError: INTERNAL: an illegal address"),
    "Triton's shared memory": traceback(
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376"
    ),
    "cuDNN not initialised": traceback("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    "the static TLS block": traceback("OSError: libgomp.so.1: cannot allocate memory in static TLS block"),
    "another CUDA error": traceback("RuntimeError: CUDA error: device-side assert triggered"),
    "another NCCL error": traceback(
        "DistBackendError: unhandled cuda error\nLast error:\nCuda failure 999 'unknown error'"
    ),
    "a worker that crashed": traceback(
        "RuntimeError: DataLoader worker (pid 9) is killed by signal: Segmentation fault."
    ),
    "a rank that was killed": [
        "[ERROR] [launch.py:434:sigkill_handler] ['python', '-u', 'main.py'] exits with return code = -9",
    ],
    "MemoryError in passing": [
        *traceback("MemoryError"),
        *PROGRESS[:5],
        *traceback("IndexError: list index out of range"),
    ],
}


@pytest.mark.parametrize("log", GPU.values(), ids=GPU.keys())
def test_the_end_of_gpu_memory_is_recognised(log: list[str]) -> None:
    assert ran_out_of_memory([*PROGRESS[:50], *log], 1, None) == "gpu"
    assert ran_out_of_memory([*PROGRESS[:50], *log], None, 6) == "gpu"


@pytest.mark.parametrize("log", HOST.values(), ids=HOST.keys())
def test_the_end_of_the_machines_memory_is_recognised(log: list[str]) -> None:
    assert ran_out_of_memory([*PROGRESS[:50], *log], 1, None) == "host"


@pytest.mark.parametrize(
    ("line", "memory"),
    [
        ("torch.OutOfMemoryError: Allocation on device", "gpu"),
        ("ERROR: LoadError: Out of GPU memory trying to allocate 2.000 GiB", "gpu"),
        ("rmm.rmm.RMMError: RMM_ERROR_OUT_OF_MEMORY", "gpu"),
        ("ManagedCuda.CudaException: ErrorOutOfMemory: The API call failed", "gpu"),
        ("Exception in main training loop: out of memory to allocate 163840000 bytes (total 1673061376 bytes)", "gpu"),
        (
            "{{function_node __wrapped__Maximum_device_/device:GPU:0}} failed to allocate memory [Op:Maximum] name: ",
            "gpu",
        ),
        ("srun: error: node6156: task 0: Out Of Memory", "host"),
        ("DefaultCPUAllocator: not enough memory: you tried to allocate 5077901088 bytes.", "host"),
        ("Resource exhausted: MemoryError: Unable to allocate 184. MiB for an array with shape (64, 26)", "host"),
        ("java.lang.OutOfMemoryError: Java heap space", None),  # its own limit, not the machine's
    ],
)
def test_a_single_line_without_a_traceback_is_enough(line: str, memory: str | None) -> None:
    assert ran_out_of_memory([*PROGRESS, line], 1, None) == memory


@pytest.mark.parametrize(
    "echo",
    [
        "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 1",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15",
        "SystemExit: 1",
        "KeyboardInterrupt",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
        "ray.exceptions.RayTaskError: ray::main()",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task.",
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly",
        "RuntimeError: DataLoader worker (pid(s) 1817) exited unexpectedly",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "EOFError",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for LlamaCpp",
        "ValueError: Failed to load model from file: m.gguf",
    ],
)
def test_an_exception_that_only_passes_the_failure_on_does_not_hide_it(echo: str) -> None:
    assert ran_out_of_memory(then(traceback(TORCH), traceback(echo)), 1, None) == "gpu"
    assert ran_out_of_memory(traceback(echo), 1, None) is None


@pytest.mark.parametrize("aside", ["Error in atexit._run_exitfuncs:", "--- Logging error ---"])
def test_a_traceback_that_ends_nothing_does_not_hide_it(aside: str) -> None:
    assert ran_out_of_memory(then(traceback(TORCH), [aside, *traceback("ValueError: x")]), 1, None) == "gpu"


@pytest.mark.parametrize("log", NEITHER.values(), ids=NEITHER.keys())
def test_other_ends_are_not_taken_for_it(log: list[str]) -> None:
    assert ran_out_of_memory([*PROGRESS[:50], *log], 1, None) is None
    assert memory_wanted_mb([*PROGRESS[:50], *log]) is None


@pytest.mark.parametrize("log", [*GPU.values(), *HOST.values()])
def test_what_succeeded_did_not_run_out_of_memory(log: list[str]) -> None:
    assert ran_out_of_memory(log, 0, None) is None


@pytest.mark.parametrize(
    "told", ["Killed", "./run.sh: line 28:  8156 Killed                  python3 main.py --epochs 400"]
)
def test_killed_counts_as_the_machines_memory_only_when_a_shell_or_the_kernel_tells_it(told: str) -> None:
    assert ran_out_of_memory([*PROGRESS, told], 137, None) == "host"
    assert ran_out_of_memory([*PROGRESS, told], None, 9) == "host"
    assert ran_out_of_memory([*PROGRESS, told], 1, None) is None
    assert ran_out_of_memory(PROGRESS, None, 9) is None
    assert ran_out_of_memory(PROGRESS, None, 9, oom_killed=True) == "host"
    assert ran_out_of_memory([*PROGRESS, told], 137, None, oom_killed=False) is None


def test_the_kernels_word_counts_unless_the_log_tells_of_the_gpu() -> None:
    assert ran_out_of_memory(traceback("RuntimeError: a worker is gone"), 1, None, oom_killed=True) == "host"
    assert ran_out_of_memory(traceback(TORCH), 1, None, oom_killed=True) == "gpu"
    assert ran_out_of_memory(traceback(TORCH), None, 9, oom_killed=True) == "host"
    assert ran_out_of_memory([], 0, None, oom_killed=True) is None


def test_an_enormous_line_is_read_in_no_time() -> None:
    assert ran_out_of_memory(["worker resource exhausted cuda " * 100_000] * 10, 1, None) is None


@pytest.mark.parametrize(
    ("log", "mb"),
    [
        (GPU["PyTorch"], 8008),  # 7.80 GiB in use, and 20 MiB more
        (GPU["rich"], 8008),
        (GPU["torchrun"], 8008),
        (GPU["wrapped by the program"], 8008),
        (GPU["PyTorch 1"], 3584),  # 1.24 GiB reserved, and 2.26 GiB more
        ([TORCH_1.replace("; 1.24 GiB reserved in total by PyTorch", "")], 3096),
        ([TORCH.replace(" Including non-PyTorch memory, this process has 7.80 GiB memory in use.", "")], 7486),
        (GPU["PyTorch, cudaMallocAsync"], 15525),
        (GPU["PyTorch from C++"], 2048),
        (GPU["JAX"], 4550),
        (GPU["JAX with its long dump"], 14787),  # what XLA says of the whole program
        (GPU["JAX, old"], 89580),
        (GPU["CuPy"], 3492),
        (GPU["llama.cpp"], 144),
        (GPU["vLLM, the GPU too full"], 46091),
        (GPU["cuBLAS"], None),
        (GPU["TensorFlow"], None),
        (HOST["NumPy"], 59392),
        (HOST["PyTorch on the CPU"], 126292),
        (HOST["Python"], None),
        (["Failed: Unable to allocate 201. GiB", *traceback("MemoryError: Unable to allocate 201. GiB for")], 205824),
    ],
)
def test_the_message_tells_how_much_is_needed_at_least(log: list[str], mb: int | None) -> None:
    assert memory_wanted_mb([*PROGRESS[:50], *log]) == mb


@pytest.mark.parametrize(("message", "mb"), [("JAX", 14550), ("PyTorch", 8008), ("JAX with its long dump", 14787)])
def test_what_a_message_does_not_say_of_what_was_held_is_what_was_seen(message: str, mb: int) -> None:
    assert memory_wanted_mb(GPU[message], seen_mb=10_000) == mb
