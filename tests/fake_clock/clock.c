/* Clocks that a test can set: preloaded into processes, it shifts what they read by the seconds in a file.
 *
 * The file, named by FAKE_CLOCK_FILE, holds three doubles: what is added to CLOCK_REALTIME, CLOCK_BOOTTIME and
 * CLOCK_MONOTONIC. It is mapped, so a change is seen at once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile double *shifts;

__attribute__((constructor)) static void open_shifts(void) {
    const char *path = getenv("FAKE_CLOCK_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, 3 * sizeof(double), PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        shifts = mapped;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && shifts != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME || clock == CLOCK_MONOTONIC))
        now->tv_sec += (time_t)shifts[clock == CLOCK_REALTIME ? 0 : clock == CLOCK_BOOTTIME ? 1 : 2];
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0)
        return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0)
        return -1;
    if (now != NULL)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
