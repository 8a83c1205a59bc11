/* A clock that jumps: loaded before libc, adds to the times of day what a file says. The file holds
   two numbers of eight bytes: milliseconds for the wall clock, and for the clock that counts the
   time asleep. The clock that does not count it (CLOCK_MONOTONIC) is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t *jump(void) {
    static volatile int64_t *shared;
    static int64_t none[2];
    if (shared) return shared;
    const char *path = getenv("LEGWORK_CAMPAIGN_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
    shared = map == MAP_FAILED ? none : map;
    return shared;
}

static void add(struct timespec *t, int64_t ms) {
    int64_t ns = t->tv_nsec + (ms % 1000) * 1000000;
    t->tv_sec += ms / 1000;
    if (ns < 0) { ns += 1000000000; t->tv_sec--; }
    if (ns >= 1000000000) { ns -= 1000000000; t->tv_sec++; }
    t->tv_nsec = ns;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, t);
    if (done != 0) return done;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) add(t, jump()[0]);
    if (clock == CLOCK_BOOTTIME) add(t, jump()[1]);
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (!t) return 0;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
