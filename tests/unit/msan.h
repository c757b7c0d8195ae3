#ifndef CPROF_TESTS_UNIT_MSAN_H
#define CPROF_TESTS_UNIT_MSAN_H

/* MSAN_WRITTEN(p, n): MemorySanitizer has not seen how these n bytes were written, by a library
 * that was not compiled for it or by assembly. */

#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define MSAN_WRITTEN(p, n) __msan_unpoison((p), (n))
#endif
#endif
#ifndef MSAN_WRITTEN
#define MSAN_WRITTEN(p, n) ((void)0)
#endif

#endif
