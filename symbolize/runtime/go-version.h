#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_VERSION_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_VERSION_H

/*
 * The version of Go that a program was built with, from its section .go.buildinfo
 * (src/debug/buildinfo/buildinfo.go of Go), as the program has it in memory: until Go 1.17 the
 * section contains pointers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime_memory;

#define GO_VERSION_BYTES_MAX 48u

struct go_version {
	unsigned int major, minor;      /* go1.26.10: 1 and 26 */
	char text[GO_VERSION_BYTES_MAX];/* "go1.26.10", printable; cut if longer */
};

/* Reads "go1.26.10", "go1.27rc1 X:experiment" or "devel go1.28-0123abcd ...". */
bool go_version_parse(const char *text, size_t n_bytes, struct go_version *ret);

/* The version by the section of n_bytes at that address of the process. */
bool go_version_read(const struct runtime_memory *m, uint64_t at, size_t n_bytes,
		     struct go_version *ret);

#endif
