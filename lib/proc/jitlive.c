#include "proc/jitlive.h"

#include "base/hash.h"
#include "proc/livecode.h"
#include "proc/procs-space.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/runtime.h"

#include <stdlib.h>

/* Addresses without code may have it later. */
#define RENEW_NS 500000000u

/* Which addresses were proven lately, so that livecode.c, which has a lock, is not asked about each
 * frame of each sample. */
#define PROVEN_N 1024u
#define ASKED_MAX 64u
struct jitlive_proven {
	uint64_t pc, tick;
};

void jitlive_done(struct jitlive *l)
{
	VEC_FREE(&l->dso);
	free(l->proven);
	*l = (struct jitlive){ .process = NULL };
}

static const struct procs_map *find_file(const struct dso_table *dsos,
					 const struct procs_space *space,
					 const struct runtime *(*of)(const char *path),
					 const struct runtime **ret)
{
	for (size_t i = 0; i < space->map.n; i++) {
		const struct runtime *r = of(dso_get(dsos, space->map.v[i].dso)->path);
		*ret = r;
		if (r && r->code)
			return &space->map.v[i];
	}
	return NULL;
}

/* A program may have the name of one with the runtime, and only use its library. */
static const struct procs_map *find_library(const struct dso_table *dsos,
					    const struct procs_space *space,
					    const struct runtime **ret)
{
	const struct procs_map *m = find_file(dsos, space, runtime_of_library, ret);
	return m ? m : find_file(dsos, space, runtime_of_program, ret);
}

static void open_library(struct jitlive *l, const struct dso_table *dsos,
			 const struct procs_map *m, const struct runtime *runtime)
{
	const struct dso *d = dso_get(dsos, m->dso);
	struct cfi *c = NULL;
	uint64_t vaddr;
	bool is_placed = dso_vaddr(d, m->pgoff, &vaddr);
	if (is_placed && dsokeep_has_file(d) && d->is_elf && cfi_open_dso(d, &c) < 0)
		c = NULL;
	livecode_open(l->process, runtime, c, m->start - vaddr);
	cfi_close(c);
}

void jitlive_look(struct jitlive *l, struct livecode *all, const struct dso_table *dsos,
		  const struct procs_space *space, uint32_t pid, uint64_t start_ns)
{
	const struct runtime *runtime;
	bool is_same = l->searched == (uint64_t)space->n_changes + 1;
	if (l->process ? !livecode_wants(l->process) : is_same)
		return;
	l->searched = (uint64_t)space->n_changes + 1;
	const struct procs_map *m = find_library(dsos, space, &runtime);
	if (m && !l->process)
		l->process = livecode_of(all, pid, start_ns);
	if (m && l->process && livecode_wants(l->process))
		open_library(l, dsos, m, runtime);
}

bool jitlive_is_renewed(struct jitlive *l, uint64_t now_ns)
{
	uint32_t n = livecode_check(l->process, now_ns, &l->tick);
	if (n == l->n_renewals && now_ns - l->renewed_ns < RENEW_NS)
		return false;
	l->n_renewals = n;
	l->renewed_ns = now_ns;
	return true;
}

/* Also if another engine has noticed it since this sample began. */
static bool is_proven(struct jitlive *l, const uint64_t *pc, size_t n)
{
	uint32_t before = l->n_renewals;
	l->n_renewals = livecode_prove(l->process, pc, n);
	return l->n_renewals == before;
}

bool jitlive_prove(struct jitlive *l, const uint64_t *pc, size_t n)
{
	uint64_t asked[ASKED_MAX];
	bool is_same = true;
	if (!l->proven && !(l->proven = calloc(PROVEN_N, sizeof(*l->proven))))
		return is_proven(l, pc, n);
	for (size_t i = 0, n_asked = 0; i < n; i++) {
		struct jitlive_proven *k = &l->proven[hash_u64(pc[i]) % PROVEN_N];
		if (k->pc != pc[i] || k->tick != l->tick) {
			*k = (struct jitlive_proven){ pc[i], l->tick };
			asked[n_asked++] = pc[i];
		}
		if (n_asked == ASKED_MAX || (n_asked && i + 1 == n)) {
			is_same &= is_proven(l, asked, n_asked);
			n_asked = 0;
		}
	}
	return is_same;
}

uint32_t jitlive_dso(struct jitlive *l, struct dso_table *dsos, uint32_t pid, uint64_t ino,
		     uint32_t layer)
{
	struct dso_key key = { .kind = DSO_ANON, .pid = pid, .ino = ino };
	size_t n = l->dso.n;
	if (!VEC_EXTEND(&l->dso, layer))
		return UINT32_MAX;
	for (; n < l->dso.n; n++)
		l->dso.v[n] = UINT32_MAX;
	if (l->dso.v[layer - 1] == UINT32_MAX) {
		const struct dso *d = dso_table_add(dsos, &key, "[jit]");
		l->dso.v[layer - 1] = d ? d->id : UINT32_MAX;
	}
	return l->dso.v[layer - 1];
}
