/* A libcuda.so.1 that knows its devices alone: their UUIDs stand in DUCKROW_FAKE_CUDA, in the order of their numbers,
   as 32 hexadecimal digits with a comma behind each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 16, EACH = 2 * BYTES + 1 };

static const char *names(void) {
    const char *told = getenv("DUCKROW_FAKE_CUDA");
    return told ? told : "";
}

int cuInit(unsigned flags) {
    return flags == 0 && !getenv("CUDA_VISIBLE_DEVICES") ? 0 : 1;
}

int cuDeviceGetCount(int *count) {
    *count = (int)(strlen(names()) / EACH);
    return 0;
}

int cuDeviceGet(int *device, int number) {
    *device = number;
    return 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device) {
    for (int byte = 0; byte < BYTES; byte++)
        if (sscanf(names() + device * EACH + 2 * byte, "%2hhx", uuid + byte) != 1) return 1;
    return 0;
}
