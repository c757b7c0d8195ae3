#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKASK_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKASK_H

/*
 * Asks the running kernel which function an address belongs to, one address at a time, in place of
 * its whole table in /proc/kallsyms.  Two BPF programs do that; they are not attached to anything
 * and run only when symkask_name or symkask_find is called.  This needs CAP_BPF, CAP_PERFMON, the
 * right to read addresses in kallsyms, and Linux 5.16.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symkask;

/* -errno if the kernel does not let us. */
int symkask_open(struct symkask **ret);
void symkask_close(struct symkask *a);

/* An answer.  The strings are borrowed until the next call, and have no NUL. */
struct symkask_answer {
	const char *name, *module;     /* n_module 0: no module */
	size_t n_name, n_module;
	uint64_t offset, n_bytes;      /* of the address in the function; offset < n_bytes */
};

/* 1; 0: the kernel knows no name; -errno: it does not answer. */
int symkask_name(struct symkask *a, uint64_t address, struct symkask_answer *ret);

/* The address of a symbol of the kernel proper, such as "_etext": at most 7 characters.  0: no
 * such symbol. */
uint64_t symkask_find(struct symkask *a, const char *symbol);

/* What the kernel writes for an address: "do_futex+0x12/0x340" or "ext4_map+0x0/0x10 [ext4]".  The
 * text has n bytes and need not end with a NUL.  False: it is something else.  For tests. */
bool symkask_parse(const char *text, size_t n, struct symkask_answer *ret);

#endif
