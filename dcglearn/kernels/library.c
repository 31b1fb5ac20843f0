/* What this library says of itself, and what a compiler without a libc calls by itself. */
#include "dcglearn.h"

#ifndef DCGLEARN_LIBRARY
#define DCGLEARN_LIBRARY "dcglearn unknown"
#endif

/* Version, platform and fingerprint of the sources; the loader compares them with its own. */
EXPORT const char *dcglearn_library(void) { return DCGLEARN_LIBRARY; }

/* Whether this processor and its operating system can run code compiled for AVX2. */
EXPORT int dcglearn_has_avx2(void) {
#if defined(__x86_64__)
    uint32_t a, b, c, d;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
    if (a < 7) return 0;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(1), "c"(0));
    const uint32_t saves_registers = 1u << 27, avx = 1u << 28;
    if (!(c & saves_registers) || !(c & avx)) return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    if ((a & 6) != 6) return 0;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
    return (b >> 5) & 1;
#else
    return 0;
#endif
}

/* Elementary functions over arrays, for the tests of their accuracy: exp, expm1, log, log1p. */
EXPORT void elementary(i64 which, i64 n, in x, out y) {
    for (i64 i = 0; i < n; i++) {
        if (which == 0) y[i] = exponential(x[i]);
        if (which == 1) y[i] = exponential_less_1(x[i]);
        if (which == 2) y[i] = logarithm(x[i]);
        if (which == 3) y[i] = logarithm_of_1_and(x[i]);
    }
}

#ifdef _WIN32
__attribute__((no_builtin)) void *memcpy(void *to, const void *from, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
__attribute__((no_builtin)) void *memset(void *to, int byte, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)byte;
    return to;
}

int _fltused;
int DllMainCRTStartup(void *library, unsigned reason, void *reserved) {
    return (void)library, (void)reason, (void)reserved, 1;
}
#endif
