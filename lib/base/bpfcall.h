#ifndef CPROF_BASE_BPFCALL_H
#define CPROF_BASE_BPFCALL_H

/*
 * bpf(2): the calls that cprof's few BPF programs need.  All of them use the kept capabilities
 * (rights.h), and return a descriptor or 0, or -errno.
 */

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

int bpfcall(int command, union bpf_attr *a);

/* name: at most 15 letters, digits and underscores. */
struct bpfcall_map {
	const char *name;
	uint32_t type, key_bytes, value_bytes, n_entries, flags;
};
int bpfcall_map(const struct bpfcall_map *m);

/* cprof's programs may also be used under the GNU General Public License, version 2, since some
 * functions of the kernel are for such programs only. */
struct bpfcall_prog {
	const char *name;
	uint32_t type, flags;
	const struct bpf_insn *insn;
	size_t n;
};
int bpfcall_load(const struct bpfcall_prog *p);

#endif
