/* A libnvidia-ml.so.1 for tests: NVML as nvidia-ml-py asks it, answered from the files of a folder.
 *
 * DUCKROW_FAKE_NVML names the folder. It is read again at every call; only the count of nvmlInit is remembered.
 *   gpus              a line per GPU of `key=value` words and switches (see GPU_WORDS below); `#` begins a comment.
 *                     A line that begins with `driver=` describes the machine instead.
 *   allocations/      a file `PID.GPU` or `PID.GPU.MIG` per allocation: MB, then start= (of the process, in ticks since
 *                     boot, as in /proc), util=, kind= (compute, graphics, both, mps). GPU counts lines from 0.
 *   calls             if it is there, a line `PID FUNCTION [GPU[.MIG]]` is added for each call.
 * A mistake in these files is told on stderr and answered by NVML_ERROR_UNKNOWN.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct handle *Handle; /* never followed: a number that names a line and an instance */

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, TIMEOUT = 10, GPU_IS_LOST = 15, LIB_RM_VERSION_MISMATCH = 18,
    VERSION_MISMATCH = 25, UNKNOWN = 999
};
enum { COMPUTE = 1, GRAPHICS = 2, MPS = 4 };
enum { MAX_GPUS = 64, MAX_MIG = 7, MAX_USES = 4096, WHOLE_GPU = -1 };
#define NOT_AVAILABLE 0xFFFFFFFFu
#define MEMORY_NOT_AVAILABLE (~0ULL)
#define MIB(mb) ((u64)(mb) << 20)

struct gpu {
    char name[96], uuid[80], pci[32], fail[256], mig[128], xids[256];
    u64 memory_mb, reserved_mb, unowned_mb; /* unowned: used, but by no process that is shown */
    u64 utilization, temperature, power_w, compute_mode, speed, hidden_pids, uncorrected, recovery;
    int lost, gone, no_ecc, no_processes, no_permission, no_memory, nonsense, no_process_memory, no_pids;
    int mig_capable, mig_count;
    u64 mig_mb[MAX_MIG];
};
struct machine {
    char driver[80], fail[256];
    u64 cuda;
    int count; /* of lines, also of GPUs that are gone */
    struct gpu gpus[MAX_GPUS];
};
struct place { int line, mig; struct gpu *gpu; };
struct use { u32 pid; int line, mig, kind; u64 mb, util; };

/* -- the files ---------------------------------------------------------------------------------------------------- */

enum type { TEXT, BLANKS, NUMBER, SWITCH }; /* BLANKS: a text whose underscores stand for blanks */
struct word { const char *key; enum type type; size_t offset, size; u64 bare; };
#define WORD(type, of, key, bare) {#key, type, offsetof(struct of, key), sizeof(((struct of *)0)->key), bare}

static const struct word GPU_WORDS[] = {
    WORD(BLANKS, gpu, name, 0), WORD(TEXT, gpu, uuid, 0), WORD(TEXT, gpu, pci, 0),
    WORD(TEXT, gpu, fail, 0), /* FUNCTION:CODE,...: calls that fail */
    WORD(TEXT, gpu, mig, 0),  /* COUNT:MB,MB,...; 0: could, but is switched off */
    WORD(NUMBER, gpu, memory_mb, 0), WORD(NUMBER, gpu, reserved_mb, 0), WORD(NUMBER, gpu, unowned_mb, 0),
    WORD(NUMBER, gpu, utilization, 0), WORD(NUMBER, gpu, temperature, 0), WORD(NUMBER, gpu, power_w, 0),
    WORD(NUMBER, gpu, compute_mode, 0), WORD(NUMBER, gpu, speed, 0),
    WORD(NUMBER, gpu, hidden_pids, 1000000), /* what is added to the PIDs that are shown */
    WORD(TEXT, gpu, xids, 0), /* XID,XID,...: all that the driver has ever reported */
    WORD(NUMBER, gpu, uncorrected, 0), WORD(NUMBER, gpu, recovery, 0), WORD(SWITCH, gpu, no_ecc, 1),
    WORD(SWITCH, gpu, lost, 1), WORD(SWITCH, gpu, gone, 1), WORD(SWITCH, gpu, no_processes, 1),
    WORD(SWITCH, gpu, no_permission, 1), WORD(SWITCH, gpu, no_memory, 1), WORD(SWITCH, gpu, nonsense, 1),
    WORD(SWITCH, gpu, no_process_memory, 1), WORD(SWITCH, gpu, no_pids, 1), {0}};
static const struct word MACHINE_WORDS[] = {
    WORD(TEXT, machine, driver, 0), WORD(TEXT, machine, fail, 0), WORD(NUMBER, machine, cuda, 0), {0}};

static int number(const char *text, char **end, u64 *value) {
    *value = strtoull(text, end, 10);
    return *end != text;
}

/* Sets the field that the word names; whether there is one. */
static int set(void *record, const struct word *words, char *word) {
    char *value = strchr(word, '='), *end;
    size_t length = value ? (size_t)(value - word) : strlen(word);
    for (; words->key; words++) {
        char *field = (char *)record + words->offset;
        if (strlen(words->key) != length || strncmp(words->key, word, length)) continue;
        if (!value) {
            if (!words->bare) return 0;
            if (words->type == SWITCH) *(int *)field = 1;
            else *(u64 *)field = words->bare;
            return 1;
        }
        if (words->type == SWITCH) return 0;
        if (words->type == NUMBER) return number(value + 1, &end, (u64 *)field) && !*end;
        if (strlen(value + 1) >= words->size) return 0;
        strcpy(field, value + 1);
        if (words->type == BLANKS)
            for (; *field; field++)
                if (*field == '_') *field = ' ';
        return 1;
    }
    return 0;
}

static int set_all(void *record, const struct word *words, char *line) {
    char *rest, *word;
    for (word = strtok_r(line, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest))
        if (!set(record, words, word)) {
            fprintf(stderr, "fake NVML: cannot make sense of '%s' in the file gpus\n", word);
            return UNKNOWN;
        }
    return SUCCESS;
}

static int read_mig(struct gpu *gpu) {
    char *at = gpu->mig;
    u64 count;
    if (!*at) return SUCCESS;
    gpu->mig_capable = 1;
    if (!number(at, &at, &count) || count > MAX_MIG) return UNKNOWN;
    for (; (u64)gpu->mig_count < count; gpu->mig_count++)
        if (!(*at == ':' || *at == ',') || !number(at + 1, &at, &gpu->mig_mb[gpu->mig_count])) return UNKNOWN;
    return *at && strcmp(at, ":") ? UNKNOWN : SUCCESS;
}

static int read_gpu(struct machine *machine, char *line) {
    struct gpu *gpu = &machine->gpus[machine->count];
    int n = machine->count;
    if (n == MAX_GPUS) return UNKNOWN;
    gpu->temperature = 35;
    gpu->power_w = 70;
    strcpy(gpu->name, "NVIDIA Fake");
    snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%08x-0000-4000-8000-%012x", n + 1, n + 1);
    snprintf(gpu->pci, sizeof gpu->pci, "00000000:%02X:00.0", n + 1);
    machine->count++;
    if (set_all(gpu, GPU_WORDS, line)) return UNKNOWN;
    if (strncmp(gpu->uuid, "GPU-", 4)) {
        fprintf(stderr, "fake NVML: uuid=%s does not begin with GPU-\n", gpu->uuid);
        return UNKNOWN;
    }
    if (read_mig(gpu)) {
        fprintf(stderr, "fake NVML: mig=%s is not COUNT:MB,MB,...\n", gpu->mig);
        return UNKNOWN;
    }
    return SUCCESS;
}

static int path_of(char *path, size_t size, const char *name) {
    const char *folder = getenv("DUCKROW_FAKE_NVML");
    if (!folder) folder = getenv("FAKE_NVML"); /* a daemon in the background keeps no variable of duckrow's */
    return folder && *folder && snprintf(path, size, "%s/%s", folder, name) < (int)size;
}

static int read_machine(struct machine *machine) {
    char path[4096], *line = NULL;
    size_t room = 0;
    int error = SUCCESS;
    memset(machine, 0, sizeof *machine);
    strcpy(machine->driver, "570.124.06");
    machine->cuda = 12080;
    FILE *file = path_of(path, sizeof path, "gpus") ? fopen(path, "re") : NULL;
    if (!file) return DRIVER_NOT_LOADED;
    while (!error && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#\n")] = 0;
        char *begin = line + strspn(line, " \t");
        if (!*begin) continue;
        int is_machine = !strncmp(begin, "driver=", 7);
        error = is_machine ? set_all(machine, MACHINE_WORDS, begin) : read_gpu(machine, begin);
    }
    free(line);
    fclose(file);
    return error;
}

/* Alive, no zombie (its GPU memory is gone), and not a later process with its number. */
static int lives(u32 pid, u64 start) {
    char path[64], stat[1024], state;
    u64 started;
    int others = kill((pid_t)pid, 0) < 0; /* another user's, which /proc may hide */
    if (others && errno == ESRCH) return 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return others;
    ssize_t length = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (length <= 0) return 0;
    stat[length] = 0;
    char *at = strrchr(stat, ')'); /* the name before it may hold anything */
    if (!at || sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                      &state, &started) != 2) return 0;
    return state != 'Z' && state != 'X' && (!start || start == started);
}

static int kind_of(const char *text) {
    if (!strcmp(text, "graphics")) return GRAPHICS;
    if (!strcmp(text, "both")) return COMPUTE | GRAPHICS;
    if (!strcmp(text, "mps")) return COMPUTE | MPS;
    return COMPUTE;
}

static int read_use(int folder, const char *name, struct use *use) {
    char text[256], kind[32] = "compute", *word, *rest;
    u64 start = 0;
    int end = 0;
    use->mig = WHOLE_GPU;
    if (sscanf(name, "%u.%d%n.%d%n", &use->pid, &use->line, &end, &use->mig, &end) < 2 || name[end]) return 0;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0; /* freed just now */
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return 0;
    text[length] = 0;
    use->util = 0;
    if (!(word = strtok_r(text, " \n", &rest)) || sscanf(word, "%llu", &use->mb) != 1) return 0;
    while ((word = strtok_r(NULL, " \n", &rest))) {
        sscanf(word, "start=%llu", &start);
        sscanf(word, "util=%llu", &use->util);
        sscanf(word, "kind=%31s", kind);
    }
    use->kind = kind_of(kind);
    return lives(use->pid, start);
}

static int by_pid(const void *a, const void *b) {
    u32 left = ((const struct use *)a)->pid, right = ((const struct use *)b)->pid;
    return (left > right) - (left < right);
}

/* What living processes hold there, the smallest PID first; the caller frees the list. */
static int read_uses(struct place at, struct use **uses) {
    char path[4096];
    struct dirent *entry;
    int count = 0;
    *uses = calloc(MAX_USES, sizeof **uses);
    DIR *folder = *uses && path_of(path, sizeof path, "allocations") ? opendir(path) : NULL;
    while (folder && count < MAX_USES && (entry = readdir(folder))) {
        struct use *use = *uses + count;
        if (entry->d_name[0] == '.' || !read_use(dirfd(folder), entry->d_name, use)) continue;
        if (use->line == at.line && (at.mig == WHOLE_GPU || use->mig == at.mig)) count++;
    }
    if (folder) closedir(folder);
    if (*uses) qsort(*uses, (size_t)count, sizeof **uses, by_pid);
    return count;
}

/* -- what every call begins with ---------------------------------------------------------------------------------- */

static int initialised; /* atomic: ctypes lets other threads go on during a call */

/* A handle is 0x1000 + line * 16 + instance + 1. */
static Handle handle_of(int line, int mig) { return (Handle)(uintptr_t)(0x1000 + line * 16 + mig + 1); }

static int decode(struct machine *machine, Handle handle, struct place *at) {
    intptr_t value = (intptr_t)handle - 0x1000;
    if (value < 0 || value / 16 >= machine->count || value % 16 > MAX_MIG) return INVALID_ARGUMENT;
    *at = (struct place){(int)(value / 16), (int)(value % 16) - 1, &machine->gpus[value / 16]};
    return SUCCESS;
}

static void note_call(const char *function, Handle handle) {
    char path[4096], line[160], where[32] = "";
    intptr_t value = (intptr_t)handle - 0x1000;
    int fd = path_of(path, sizeof path, "calls") ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0) return;
    if (handle && value % 16) snprintf(where, sizeof where, " %d.%d", (int)(value / 16), (int)(value % 16) - 1);
    else if (handle) snprintf(where, sizeof where, " %d", (int)(value / 16));
    int length = snprintf(line, sizeof line, "%d %s%s\n", (int)getpid(), function, where);
    if (write(fd, line, (size_t)length) != length) fprintf(stderr, "fake NVML: cannot write the file calls\n");
    close(fd);
}

/* The code that `fail=FUNCTION:CODE,...` asks for; a function without its version stands for all of them. */
static int failure(const char *fail, const char *function) {
    const char *version = strstr(function, "_v");
    size_t whole = strlen(function), stem = version ? (size_t)(version - function) : whole;
    while (*fail) {
        size_t length = strcspn(fail, ":,");
        if ((length == whole || length == stem) && !strncmp(fail, function, length))
            return fail[length] == ':' ? atoi(fail + length + 1) : UNKNOWN;
        fail += strcspn(fail, ",");
        fail += *fail == ',';
    }
    return SUCCESS;
}

static int enter(const char *function, Handle handle, struct machine *machine) {
    int error;
    note_call(function, handle);
    if (!__atomic_load_n(&initialised, __ATOMIC_SEQ_CST)) return UNINITIALIZED;
    if ((error = read_machine(machine))) return error;
    return failure(machine->fail, function);
}

static int reach(const char *function, struct place at) {
    if (at.gpu->lost || at.gpu->gone) return GPU_IS_LOST;
    if (at.mig >= at.gpu->mig_count) return NOT_FOUND; /* the instance was destroyed */
    return failure(at.gpu->fail, function);
}

static int enter_device(const char *function, Handle handle, struct machine *machine, struct place *at) {
    int error = enter(function, handle, machine);
    if (!error) error = decode(machine, handle, at);
    return error ? error : reach(function, *at);
}

#define ENTER(broken)                                                                                                  \
    struct machine machine;                                                                                            \
    int error = enter(__func__, NULL, &machine);                                                                       \
    if (error) return error;                                                                                           \
    if (broken) return INVALID_ARGUMENT
#define ENTER_DEVICE(broken)                                                                                           \
    struct machine machine;                                                                                            \
    struct place at;                                                                                                   \
    int error = enter_device(__func__, device, &machine, &at);                                                         \
    if (error) return error;                                                                                           \
    if (broken) return INVALID_ARGUMENT
#define WHOLE_GPUS_ONLY if (at.mig != WHOLE_GPU) return NOT_SUPPORTED
#define INSTANCES_ONLY if (at.mig == WHOLE_GPU) return NOT_SUPPORTED
#define ALIAS(target) __attribute__((alias(#target)))

static int give_text(const char *text, char *to, u32 room) {
    if (strlen(text) >= room) return INSUFFICIENT_SIZE;
    strcpy(to, text);
    return SUCCESS;
}

/* -- the library and the machine ---------------------------------------------------------------------------------- */

/* The real library has a thread of its own, which nvmlShutdown does not end. */
static void *wait_for_ever(void *nothing) {
    (void)nothing;
    for (;;) pause();
    return NULL;
}

static void begin_thread(void) {
    static int begun;
    pthread_t thread;
    if (!__atomic_exchange_n(&begun, 1, __ATOMIC_SEQ_CST) && !pthread_create(&thread, NULL, wait_for_ever, NULL))
        pthread_detach(thread);
}

int nvmlInitWithFlags(u32 flags) {
    struct machine machine;
    (void)flags;
    begin_thread();
    note_call(__func__, NULL);
    int error = read_machine(&machine);
    if (error) return error;
    if (!strcmp(machine.driver, "missing")) return DRIVER_NOT_LOADED;
    if (!strcmp(machine.driver, "mismatch")) return LIB_RM_VERSION_MISMATCH;
    if ((error = failure(machine.fail, "nvmlInit"))) return error;
    __atomic_add_fetch(&initialised, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    note_call(__func__, NULL);
    int before = __atomic_load_n(&initialised, __ATOMIC_SEQ_CST);
    while (before > 0)
        if (__atomic_compare_exchange_n(&initialised, &before, before - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return SUCCESS;
    return UNINITIALIZED;
}

const char *nvmlErrorString(int code) {
    switch (code) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case TIMEOUT: return "Timeout";
    case GPU_IS_LOST: return "GPU is lost";
    case LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    case VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *version, u32 room) {
    ENTER(!version);
    return give_text(machine.driver, version, room);
}
int nvmlSystemGetNVMLVersion(char *version, u32 room) {
    char text[96];
    ENTER(!version);
    snprintf(text, sizeof text, "%u.%s", (u32)(machine.cuda / 1000), machine.driver);
    return give_text(text, version, room);
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    ENTER(!version);
    *version = (int)machine.cuda;
    return SUCCESS;
}
int nvmlSystemGetCudaDriverVersion(int *version) ALIAS(nvmlSystemGetCudaDriverVersion_v2);

int nvmlSystemGetProcessName(u32 pid, char *name, u32 room) {
    char path[64], text[4096];
    ENTER(!name || !room);
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NOT_FOUND;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    snprintf(name, room, "%s", text);
    return SUCCESS;
}

/* -- finding devices ---------------------------------------------------------------------------------------------- */

int nvmlDeviceGetCount_v2(u32 *count) {
    ENTER(!count);
    *count = 0;
    for (int line = 0; line < machine.count; line++) *count += !machine.gpus[line].gone;
    return SUCCESS;
}
int nvmlDeviceGetCount(u32 *count) ALIAS(nvmlDeviceGetCount_v2);

static void mig_uuid(const struct gpu *gpu, int mig, char *uuid, size_t size) {
    snprintf(uuid, size, "MIG-%08x%s", mig + 1, strlen(gpu->uuid) > 12 ? gpu->uuid + 12 : gpu->uuid + 3);
}

static int give_handle(const char *function, struct machine *machine, int line, int mig, Handle *device) {
    int error = reach(function, (struct place){line, mig, &machine->gpus[line]});
    if (!error) *device = handle_of(line, mig);
    return error;
}

int nvmlDeviceGetHandleByIndex_v2(u32 index, Handle *device) {
    ENTER(!device);
    for (int line = 0; line < machine.count; line++)
        if (!machine.gpus[line].gone && !index--) return give_handle(__func__, &machine, line, WHOLE_GPU, device);
    return INVALID_ARGUMENT;
}
int nvmlDeviceGetHandleByIndex(u32 index, Handle *device) ALIAS(nvmlDeviceGetHandleByIndex_v2);

int nvmlDeviceGetHandleByUUID(const char *wanted, Handle *device) {
    char uuid[96];
    ENTER(!wanted || !device);
    for (int line = 0; line < machine.count; line++) {
        const struct gpu *gpu = &machine.gpus[line];
        if (gpu->gone) continue;
        if (!strcmp(wanted, gpu->uuid)) return give_handle(__func__, &machine, line, WHOLE_GPU, device);
        for (int mig = 0; mig < gpu->mig_count; mig++) {
            mig_uuid(gpu, mig, uuid, sizeof uuid);
            if (!strcmp(wanted, uuid)) return give_handle(__func__, &machine, line, mig, device);
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, Handle *device) {
    ENTER(!pci || !device);
    for (int line = 0; line < machine.count; line++)
        if (!machine.gpus[line].gone && !strcasecmp(pci, machine.gpus[line].pci))
            return give_handle(__func__, &machine, line, WHOLE_GPU, device);
    return NOT_FOUND;
}
int nvmlDeviceGetHandleByPciBusId(const char *pci, Handle *device) ALIAS(nvmlDeviceGetHandleByPciBusId_v2);

/* -- what a device is --------------------------------------------------------------------------------------------- */

static u32 index_of(const struct machine *machine, int line) {
    u32 index = 0;
    while (line--) index += !machine->gpus[line].gone;
    return index;
}

int nvmlDeviceGetIndex(Handle device, u32 *index) {
    ENTER_DEVICE(!index);
    *index = at.mig == WHOLE_GPU ? index_of(&machine, at.line) : (u32)at.mig;
    return SUCCESS;
}

int nvmlDeviceGetName(Handle device, char *name, u32 room) {
    char text[160];
    ENTER_DEVICE(!name);
    if (at.mig == WHOLE_GPU) return give_text(at.gpu->name, name, room);
    u64 mb = at.gpu->mig_mb[at.mig], total = at.gpu->memory_mb ? at.gpu->memory_mb : 1, slices = mb * 8 / total;
    snprintf(text, sizeof text, "%s MIG %llug.%llugb", at.gpu->name, slices ? slices : 1, (mb + 512) / 1024);
    return give_text(text, name, room);
}

int nvmlDeviceGetUUID(Handle device, char *uuid, u32 room) {
    char text[96];
    ENTER_DEVICE(!uuid);
    if (at.mig == WHOLE_GPU) return give_text(at.gpu->uuid, uuid, room);
    mig_uuid(at.gpu, at.mig, text, sizeof text);
    return give_text(text, uuid, room);
}

int nvmlDeviceGetMinorNumber(Handle device, u32 *minor) {
    ENTER_DEVICE(!minor);
    WHOLE_GPUS_ONLY;
    *minor = (u32)at.line;
    return SUCCESS;
}

struct pci { char legacy[16]; u32 domain, bus, device, pci_device_id, pci_subsystem_id; char bus_id[32]; };
struct pci_v2 { char bus_id[16]; u32 domain, bus, device, pci_device_id, pci_subsystem_id, reserved[4]; };

static int read_pci(const struct gpu *gpu, struct pci *pci) {
    memset(pci, 0, sizeof *pci);
    if (sscanf(gpu->pci, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3) return UNKNOWN;
    pci->pci_device_id = 0x233510DE;
    snprintf(pci->legacy, sizeof pci->legacy, "%04X:%02X:%02X.0", pci->domain & 0xFFFF, pci->bus & 0xFF,
             pci->device & 0xFF);
    strcpy(pci->bus_id, gpu->pci);
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(Handle device, struct pci *pci) {
    ENTER_DEVICE(!pci);
    return read_pci(at.gpu, pci);
}
int nvmlDeviceGetPciInfo_v2(Handle device, struct pci_v2 *pci) {
    struct pci all;
    ENTER_DEVICE(!pci);
    if ((error = read_pci(at.gpu, &all))) return error;
    memcpy(pci, &all, offsetof(struct pci_v2, reserved)); /* the same as far as there */
    return SUCCESS;
}
int nvmlDeviceGetPciInfo(Handle device, struct pci_v2 *pci) ALIAS(nvmlDeviceGetPciInfo_v2);

int nvmlDeviceGetComputeMode(Handle device, u32 *mode) {
    ENTER_DEVICE(!mode);
    *mode = (u32)at.gpu->compute_mode;
    return SUCCESS;
}

/* -- readings ----------------------------------------------------------------------------------------------------- */

struct memory { u64 total, free, used; };
struct memory_v2 { u32 version; u64 total, reserved, free, used; };

static int measure(struct place at, struct memory_v2 *memory) {
    struct use *uses;
    int count = read_uses(at, &uses);
    u64 total = at.mig == WHOLE_GPU ? at.gpu->memory_mb : at.gpu->mig_mb[at.mig];
    u64 reserved = at.mig == WHOLE_GPU ? at.gpu->reserved_mb : 0, used = at.mig == WHOLE_GPU ? at.gpu->unowned_mb : 0;
    for (int i = 0; i < count; i++) used += uses[i].mb;
    free(uses);
    if (at.gpu->no_memory) return NOT_SUPPORTED;
    if (reserved > total) reserved = total;
    if (used > total - reserved) used = total - reserved;
    memory->total = MIB(total);
    memory->reserved = MIB(reserved);
    memory->used = MIB(used);
    memory->free = MIB(total - reserved - used);
    if (at.gpu->nonsense) memory->used = memory->total + MIB(4096);
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(Handle device, struct memory *memory) {
    struct memory_v2 measured;
    ENTER_DEVICE(!memory);
    if ((error = measure(at, &measured))) return error;
    /* In this version of the question what is reserved counts as used. */
    *memory = (struct memory){measured.total, measured.free, measured.used + measured.reserved};
    return SUCCESS;
}
int nvmlDeviceGetMemoryInfo_v2(Handle device, struct memory_v2 *memory) {
    ENTER_DEVICE(!memory);
    if (memory->version != (sizeof *memory | 2u << 24)) return VERSION_MISMATCH;
    return measure(at, memory);
}

struct utilization { u32 gpu, memory; };

int nvmlDeviceGetUtilizationRates(Handle device, struct utilization *utilization) {
    struct use *uses;
    ENTER_DEVICE(!utilization);
    WHOLE_GPUS_ONLY;
    if (at.gpu->mig_count) return NOT_SUPPORTED;
    int count = read_uses(at, &uses);
    u64 percent = at.gpu->utilization;
    for (int i = 0; i < count; i++) percent += uses[i].util;
    free(uses);
    if (percent > 100) percent = 100;
    if (at.gpu->nonsense) percent = 1000;
    *utilization = (struct utilization){(u32)percent, (u32)percent / 2};
    return SUCCESS;
}

struct temperature { u32 version, sensor; int degrees; };

static int thermometer(struct place at, u32 sensor, u32 *degrees) {
    WHOLE_GPUS_ONLY;
    if (sensor) return INVALID_ARGUMENT;
    *degrees = at.gpu->nonsense ? 65535 : (u32)at.gpu->temperature;
    return SUCCESS;
}
int nvmlDeviceGetTemperature(Handle device, u32 sensor, u32 *degrees) {
    ENTER_DEVICE(!degrees);
    return thermometer(at, sensor, degrees);
}
int nvmlDeviceGetTemperatureV(Handle device, struct temperature *temperature) {
    ENTER_DEVICE(!temperature);
    if (temperature->version != (sizeof *temperature | 1u << 24)) return VERSION_MISMATCH;
    return thermometer(at, temperature->sensor, (u32 *)&temperature->degrees);
}

int nvmlDeviceGetPowerUsage(Handle device, u32 *milliwatts) {
    ENTER_DEVICE(!milliwatts);
    WHOLE_GPUS_ONLY;
    *milliwatts = (u32)at.gpu->power_w * 1000;
    return SUCCESS;
}

/* -- processes ---------------------------------------------------------------------------------------------------- */

struct process_v1 { u32 pid; u64 memory; };
struct process { u32 pid; u64 memory; u32 gpu_instance, compute_instance; };

static int may_list(const struct gpu *gpu) {
    return gpu->no_processes ? NOT_SUPPORTED : gpu->no_permission ? NO_PERMISSION : SUCCESS;
}

/* The processes of a kind, which the caller frees. */
static int list_uses(struct place at, int kind, struct use **uses) {
    int all = read_uses(at, uses), count = 0;
    for (int i = 0; i < all && !at.gpu->no_pids; i++)
        if ((*uses)[i].kind & kind) (*uses)[count++] = (*uses)[i];
    return count;
}

static void write_process(struct place at, const struct use *use, struct process *process) {
    int whole = use->mig == WHOLE_GPU;
    *process = (struct process){use->pid + (u32)at.gpu->hidden_pids, MIB(use->mb),
                                whole ? NOT_AVAILABLE : (u32)use->mig + 1, whole ? NOT_AVAILABLE : 0};
    if (at.gpu->nonsense) process->memory = 1ULL << 60;
    if (at.gpu->no_process_memory) process->memory = MEMORY_NOT_AVAILABLE;
}

/* `size`: of an entry; the first version of it is the beginning of the later ones. */
static int processes(const char *function, Handle device, int kind, u32 *count, void *to, size_t size) {
    struct machine machine;
    struct place at;
    struct use *uses;
    struct process process;
    int error = enter_device(function, device, &machine, &at);
    if (error) return error;
    if (!count) return INVALID_ARGUMENT;
    if ((error = may_list(at.gpu))) return error;
    u32 room = to ? *count : 0;
    *count = (u32)list_uses(at, kind, &uses);
    for (u32 i = 0; i < *count && *count <= room; i++) {
        write_process(at, &uses[i], &process);
        memcpy((char *)to + i * size, &process, size);
    }
    free(uses);
    return *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

#define PROCESS_LISTS(name, kind)                                                                                      \
    int name(Handle device, u32 *count, void *to) {                                                                    \
        return processes(__func__, device, kind, count, to, sizeof(struct process_v1));                                \
    }                                                                                                                  \
    int name##_v2(Handle device, u32 *count, void *to) {                                                               \
        return processes(__func__, device, kind, count, to, sizeof(struct process));                                   \
    }                                                                                                                  \
    int name##_v3(Handle device, u32 *count, void *to) {                                                               \
        return processes(__func__, device, kind, count, to, sizeof(struct process));                                   \
    }
PROCESS_LISTS(nvmlDeviceGetComputeRunningProcesses, COMPUTE)
PROCESS_LISTS(nvmlDeviceGetGraphicsRunningProcesses, GRAPHICS)
PROCESS_LISTS(nvmlDeviceGetMPSComputeRunningProcesses, MPS)

struct sample { u32 pid; u64 time_us; u32 sm, memory, encoder, decoder; };

int nvmlDeviceGetProcessUtilization(Handle device, struct sample *to, u32 *count, u64 since_us) {
    struct use *uses;
    struct timespec now;
    ENTER_DEVICE(!count);
    (void)since_us; /* every sample is of this moment */
    if (at.mig != WHOLE_GPU || at.gpu->mig_count) return NOT_SUPPORTED;
    if ((error = may_list(at.gpu))) return error;
    clock_gettime(CLOCK_REALTIME, &now);
    u64 time_us = (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
    u32 room = to ? *count : 0;
    *count = (u32)list_uses(at, COMPUTE | GRAPHICS, &uses);
    for (u32 i = 0; i < *count && *count <= room; i++)
        to[i] = (struct sample){uses[i].pid + (u32)at.gpu->hidden_pids, time_us, (u32)uses[i].util,
                                (u32)uses[i].util / 2, 0, 0};
    free(uses);
    return !*count ? NOT_FOUND : *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

/* -- faults ------------------------------------------------------------------------------------------------------- */

int nvmlDeviceGetTotalEccErrors(Handle device, u32 type, u32 counter, u64 *count) {
    ENTER_DEVICE(!count || type > 1 || counter > 1);
    WHOLE_GPUS_ONLY;
    if (at.gpu->no_ecc) return NOT_SUPPORTED;
    *count = type ? at.gpu->uncorrected : 0;
    return SUCCESS;
}

struct field { u32 id, scope; long long time_us, latency_us; u32 type; int error; union { double d; u64 u; } value; };

int nvmlDeviceGetFieldValues(Handle device, int count, struct field *fields) {
    enum { RECOVERY_ACTION = 230 };
    ENTER_DEVICE(count < 1 || !fields);
    for (int i = 0; i < count; i++) {
        fields[i].error = fields[i].id == RECOVERY_ACTION && at.mig == WHOLE_GPU ? SUCCESS : NOT_SUPPORTED;
        fields[i].type = 1;
        fields[i].value.u = at.gpu->recovery;
    }
    return SUCCESS;
}

/* An event set tells each Xid once, and none that came before the GPU was registered. */
struct event_set { int registered[MAX_GPUS], told[MAX_GPUS]; };
struct event { Handle device; u64 type, data; u32 gpu_instance, compute_instance; };
enum { XID_EVENTS = 8 };

/* The Xid of this number in the list, from 0; 0: there are not so many. */
static u64 xid_of(const struct gpu *gpu, int wanted) {
    char *at = (char *)gpu->xids;
    u64 xid = 0;
    for (int i = 0; number(at, &at, &xid); i++, at += *at == ',')
        if (i == wanted) return xid;
    return 0;
}

int nvmlEventSetCreate(struct event_set **set) {
    ENTER(!set);
    *set = calloc(1, sizeof **set);
    return *set ? SUCCESS : UNKNOWN;
}
int nvmlEventSetFree(struct event_set *set) {
    note_call(__func__, NULL);
    free(set);
    return SUCCESS;
}
int nvmlDeviceRegisterEvents(Handle device, u64 types, struct event_set *set) {
    ENTER_DEVICE(!set);
    WHOLE_GPUS_ONLY;
    if (types != XID_EVENTS) return NOT_SUPPORTED;
    set->registered[at.line] = 1;
    for (set->told[at.line] = 0; xid_of(at.gpu, set->told[at.line]); set->told[at.line]++);
    return SUCCESS;
}
int nvmlEventSetWait_v2(struct event_set *set, struct event *event, u32 timeout_ms) {
    ENTER(!set || !event || timeout_ms);
    for (int line = 0; line < machine.count; line++) {
        u64 xid = set->registered[line] ? xid_of(&machine.gpus[line], set->told[line]) : 0;
        if (!xid) continue;
        set->told[line]++;
        *event = (struct event){handle_of(line, WHOLE_GPU), XID_EVENTS, xid, NOT_AVAILABLE, NOT_AVAILABLE};
        return SUCCESS;
    }
    return TIMEOUT;
}

/* -- MIG ---------------------------------------------------------------------------------------------------------- */

int nvmlDeviceGetMigMode(Handle device, u32 *current, u32 *pending) {
    ENTER_DEVICE(!current || !pending);
    WHOLE_GPUS_ONLY;
    if (!at.gpu->mig_capable) return NOT_SUPPORTED;
    *current = *pending = at.gpu->mig_count > 0;
    return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(Handle device, u32 *count) {
    ENTER_DEVICE(!count);
    *count = at.mig == WHOLE_GPU && at.gpu->mig_count ? MAX_MIG : 0;
    return SUCCESS;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Handle device, u32 index, Handle *instance) {
    ENTER_DEVICE(!instance || index >= MAX_MIG);
    if (at.mig != WHOLE_GPU || !at.gpu->mig_capable) return NOT_SUPPORTED;
    if (index >= (u32)at.gpu->mig_count) return NOT_FOUND;
    *instance = handle_of(at.line, (int)index);
    return SUCCESS;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle device, Handle *parent) {
    ENTER_DEVICE(!parent || at.mig == WHOLE_GPU);
    *parent = handle_of(at.line, WHOLE_GPU);
    return SUCCESS;
}
int nvmlDeviceIsMigDeviceHandle(Handle device, u32 *is_instance) {
    ENTER_DEVICE(!is_instance);
    *is_instance = at.mig != WHOLE_GPU;
    return SUCCESS;
}
int nvmlDeviceGetGpuInstanceId(Handle device, u32 *id) {
    ENTER_DEVICE(!id);
    INSTANCES_ONLY;
    *id = (u32)at.mig + 1;
    return SUCCESS;
}
int nvmlDeviceGetComputeInstanceId(Handle device, u32 *id) {
    ENTER_DEVICE(!id);
    INSTANCES_ONLY;
    *id = 0;
    return SUCCESS;
}

struct attributes {
    u32 multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices;
    u64 memory_mb;
};

int nvmlDeviceGetAttributes_v2(Handle device, struct attributes *attributes) {
    ENTER_DEVICE(!attributes);
    INSTANCES_ONLY;
    *attributes = (struct attributes){16, 1, 1, 0, 1, 0, 1, 1, at.gpu->mig_mb[at.mig]};
    return SUCCESS;
}
int nvmlDeviceGetAttributes(Handle device, struct attributes *attributes) ALIAS(nvmlDeviceGetAttributes_v2);
