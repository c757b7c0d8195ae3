#include "symbolize/jit/jitcalls.h"

#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define TEXT_BYTES_MAX 4096u

int jitcalls_init(struct jitcalls *j, struct budget *budget)
{
	*j = (struct jitcalls){ .index.budget = budget };
	return strtab_init(&j->strings, budget);
}

void jitcalls_done(struct jitcalls *j)
{
	if (j->index.budget)
		budget_release(j->index.budget, j->call.n * sizeof(*j->call.v) +
			       j->place.n * sizeof(*j->place.v));
	strtab_done(&j->strings);
	hashindex_done(&j->index);
	VEC_FREE(&j->call);
	VEC_FREE(&j->place);
}

uint32_t jitcalls_text(struct jitcalls *j, const char *text)
{
	char clean[TEXT_BYTES_MAX];
	size_t n = text ? strnlen(text, sizeof(clean)) : 0;
	for (size_t i = 0; i < n; i++)
		clean[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	return n ? strtab_add(&j->strings, clean, n) : 0;
}

static uint64_t hash_of(uint32_t layer, uint64_t pc)
{
	return hash_u64(pc ^ (uint64_t)layer << 48);
}

bool jitcalls_add(struct jitcalls *j, uint32_t layer, uint64_t pc,
		  const struct jitcalls_call *call, size_t n)
{
	struct budget *b = j->index.budget;
	size_t n_bytes = n * sizeof(*call) + sizeof(struct jitcalls_place);
	struct jitcalls_place p = { .pc = pc, .layer = layer, .first = (uint32_t)j->call.n,
				    .n = (uint32_t)n };
	if (b && !budget_charge(b, n_bytes))
		return false;
	if (j->place.n >= HASHINDEX_NONE - 1 || j->call.n + n >= UINT32_MAX ||
	    !VEC_RESERVE(&j->call, n) || !VEC_RESERVE(&j->place, 1) ||
	    !hashindex_add(&j->index, hash_of(layer, pc), (uint32_t)j->place.n)) {
		if (b)
			budget_release(b, n_bytes);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		j->call.v[j->call.n++] = call[i];
	j->place.v[j->place.n++] = p;
	return true;
}

const struct jitcalls_place *jitcalls_find(const struct jitcalls *j, uint32_t layer, uint64_t pc)
{
	uint32_t id = HASHINDEX_FIND(&j->index, hash_of(layer, pc), i,
				     j->place.v[i].pc == pc && j->place.v[i].layer == layer);
	return id == HASHINDEX_NONE ? NULL : &j->place.v[id];
}
