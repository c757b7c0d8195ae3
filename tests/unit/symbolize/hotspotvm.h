#ifndef CPROF_TESTS_HOTSPOTVM_H
#define CPROF_TESTS_HOTSPOTVM_H

/*
 * The memory of a JVM, as small as it can be: the tables that it exports, one code heap with a
 * compiled method and a stub, and the methods "pack.Outer.run" and "pack.Inner.step", which is
 * inlined into the other.  Versions differ as in OpenJDK.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct cfi;

#define HOTSPOTVM_BASE 0x10000u
#define HOTSPOTVM_BYTES 0x8000u
#define HOTSPOTVM_TABLES 0x10100u       /* variables are before it */
#define HOTSPOTVM_OBJECTS 0x14000u
#define HOTSPOTVM_OUTER 0x14400u
#define HOTSPOTVM_INNER 0x14600u
#define HOTSPOTVM_INTERPRETER 0x50000u  /* not readable */
#define HOTSPOTVM_INTERPRETER_BYTES 0x1000u
#define HOTSPOTVM_BYTECODE(method) ((method) + 0x40)    /* 10 bytes */
#define HOTSPOTVM_HEAP 0x16000u         /* 32 segments of 128 bytes */
#define HOTSPOTVM_SEGMENTS 0x17000u
#define HOTSPOTVM_COUNTERS 0x17100u     /* header and three entries */
#define HOTSPOTVM_UNLOADED (HOTSPOTVM_COUNTERS + 0x40 + 0x38)
#define HOTSPOTVM_SHARED_UNLOADED (HOTSPOTVM_COUNTERS + 0x80 + 0x38)
#define HOTSPOTVM_BLOB (HOTSPOTVM_HEAP + 0x80 * 2 + 16)
#define HOTSPOTVM_STUB (HOTSPOTVM_HEAP + 0x80 * 20 + 16)
#define HOTSPOTVM_CODE (HOTSPOTVM_BLOB + 0x200)
#define HOTSPOTVM_CODE_BYTES 0x100u
#define HOTSPOTVM_STUB_CODE (HOTSPOTVM_STUB + 0x80)

struct hotspotvm {
	uint8_t b[HOTSPOTVM_BYTES];
	unsigned int version;           /* 8, 17, 25 */
	uint64_t next;                  /* free in the tables */
	bool is_gone;
	struct cfi *cfi;
	int fd;                         /* of its library */
	const char *without;            /* the name of a field that is left out, or NULL */
};

/* Fills v, whose version and without are set; hotspotvm_done afterwards. */
bool hotspotvm_init(struct hotspotvm *v);
void hotspotvm_done(struct hotspotvm *v);

/* Reads its memory, as struct runtime_memory; ctx: the struct hotspotvm. */
long hotspotvm_read(void *ctx, const struct iovec *local, size_t n_local,
		    const struct iovec *remote, size_t n_remote);

/* Changes n_bytes of its memory. */
void hotspotvm_put(struct hotspotvm *v, uint64_t at, uint64_t value, size_t n_bytes);

#endif
