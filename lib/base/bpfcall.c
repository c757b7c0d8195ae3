#include "base/bpfcall.h"

#include "base/rights.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpfcall(int command, union bpf_attr *a)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	int r = (int)syscall(SYS_bpf, command, a, sizeof(*a));
	return r < 0 ? -errno : r;
}

int bpfcall_map(const struct bpfcall_map *m)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.map_type = m->type;
	a.key_size = m->key_bytes;
	a.value_size = m->value_bytes;
	a.max_entries = m->n_entries;
	a.map_flags = m->flags;
	strcpy(a.map_name, m->name);
	return bpfcall(BPF_MAP_CREATE, &a);
}

int bpfcall_load(const struct bpfcall_prog *p)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.prog_type = p->type;
	a.prog_flags = p->flags;
	a.insns = (uintptr_t)p->insn;
	a.insn_cnt = (uint32_t)p->n;
	a.license = (uintptr_t)"Dual MIT/GPL";
	strcpy(a.prog_name, p->name);
	return bpfcall(BPF_PROG_LOAD, &a);
}
