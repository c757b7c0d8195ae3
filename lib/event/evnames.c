/*
 * Three static tables.  Software and hardware events have a name and aliases.  The cache grid is
 * cache x operation x result, without the combinations that no kernel driver maps (an instruction
 * cache is not written to; a TLB of instructions and a branch unit are only read).  Its canonical
 * names are listed one by one so that they can be searched for; other spellings are split into
 * cache, operation and result.
 *
 * PERF_TYPE_HW_CACHE config, <linux/perf_event.h>: cache | op << 8 | result << 16.
 */
#include "event/evnames.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

#define SOFTWARE(id, name, aliases, what) \
	{ { name, aliases, EVSPEC_SOFTWARE, what }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id }
/* All of them are made from context switches. */
#define WAITING(id, name, aliases, what) \
	{ { name, aliases, EVSPEC_SOFTWARE, what }, PERF_TYPE_SOFTWARE, \
	  PERF_COUNT_SW_CONTEXT_SWITCHES, EVSPEC_##id }
#define HARDWARE(id, name, aliases, what) \
	{ { name, aliases, EVSPEC_HARDWARE, what }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id }
#define CACHE_CONFIG(cache, op, result)                       \
	((uint64_t)PERF_COUNT_HW_CACHE_##cache |              \
	 (uint64_t)PERF_COUNT_HW_CACHE_OP_##op << 8 |         \
	 (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define CACHE(cache, op, result, name, what) \
	{ { name, "", EVSPEC_CACHE, what }, PERF_TYPE_HW_CACHE, CACHE_CONFIG(cache, op, result) }

static const struct evnames_entry table[] = {
	SOFTWARE(CPU_CLOCK, "cpu-clock", "timer", "CPU time by a timer per CPU, in nanoseconds"),
	SOFTWARE(TASK_CLOCK, "task-clock", "", "CPU time by the task's own clock, in nanoseconds"),
	SOFTWARE(PAGE_FAULTS, "page-faults", "faults", "page faults, minor and major"),
	SOFTWARE(PAGE_FAULTS_MIN, "minor-faults", "", "page faults served without reading a disk"),
	SOFTWARE(PAGE_FAULTS_MAJ, "major-faults", "", "page faults that had to read a disk"),
	SOFTWARE(CONTEXT_SWITCHES, "context-switches", "cs",
		 "switches from one task to another (kernel side only)"),
	SOFTWARE(CPU_MIGRATIONS, "cpu-migrations", "migrations",
		 "moves of a task to another CPU (kernel side only)"),
	SOFTWARE(ALIGNMENT_FAULTS, "alignment-faults", "",
		 "unaligned accesses that the kernel repaired (never on x86)"),
	SOFTWARE(EMULATION_FAULTS, "emulation-faults", "", "instructions that the kernel emulated"),
	WAITING(OFF_CPU, "off-cpu", "offcpu", "time without a CPU: waiting, in nanoseconds"),
	WAITING(BLOCK, "block", "contention", "time that threads wait for locks and conditions"),
	WAITING(MUTEX, "mutex", "", "the same time, where threads let others go on"),
	WAITING(WALL, "wall", "wall-clock", "time of threads, running and waiting"),

	HARDWARE(CPU_CYCLES, "cycles", "cpu-cycles", "CPU cycles while not halted"),
	HARDWARE(INSTRUCTIONS, "instructions", "", "retired instructions"),
	HARDWARE(CACHE_REFERENCES, "cache-references", "cacheReferences",
		 "accesses to the last-level cache"),
	HARDWARE(CACHE_MISSES, "cache-misses", "cacheMisses", "misses of the last-level cache"),
	HARDWARE(BRANCH_INSTRUCTIONS, "branches", "branch-instructions branchInstructions",
		 "retired branch instructions"),
	HARDWARE(BRANCH_MISSES, "branch-misses", "branchMisses", "branches predicted wrongly"),
	HARDWARE(REF_CPU_CYCLES, "ref-cycles", "", "cycles at a constant reference frequency"),
	HARDWARE(BUS_CYCLES, "bus-cycles", "", "bus cycles"),
	HARDWARE(STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend",
		 "cycles without instructions to start"),
	HARDWARE(STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend",
		 "cycles in which no instruction could retire"),

	CACHE(L1D, READ, ACCESS, "L1-dcache-loads", "level 1 data cache: reads"),
	CACHE(L1D, READ, MISS, "L1-dcache-load-misses", "level 1 data cache: reads that missed"),
	CACHE(L1D, WRITE, ACCESS, "L1-dcache-stores", "level 1 data cache: writes"),
	CACHE(L1D, WRITE, MISS, "L1-dcache-store-misses", "level 1 data cache: writes that missed"),
	CACHE(L1D, PREFETCH, ACCESS, "L1-dcache-prefetches", "level 1 data cache: prefetches"),
	CACHE(L1D, PREFETCH, MISS, "L1-dcache-prefetch-misses",
	      "level 1 data cache: prefetches that missed"),
	CACHE(L1I, READ, ACCESS, "L1-icache-loads", "level 1 instruction cache: reads"),
	CACHE(L1I, READ, MISS, "L1-icache-load-misses",
	      "level 1 instruction cache: reads that missed"),
	CACHE(L1I, PREFETCH, ACCESS, "L1-icache-prefetches",
	      "level 1 instruction cache: prefetches"),
	CACHE(L1I, PREFETCH, MISS, "L1-icache-prefetch-misses",
	      "level 1 instruction cache: prefetches that missed"),
	CACHE(LL, READ, ACCESS, "LLC-loads", "last-level cache: reads"),
	CACHE(LL, READ, MISS, "LLC-load-misses", "last-level cache: reads that missed"),
	CACHE(LL, WRITE, ACCESS, "LLC-stores", "last-level cache: writes"),
	CACHE(LL, WRITE, MISS, "LLC-store-misses", "last-level cache: writes that missed"),
	CACHE(LL, PREFETCH, ACCESS, "LLC-prefetches", "last-level cache: prefetches"),
	CACHE(LL, PREFETCH, MISS, "LLC-prefetch-misses",
	      "last-level cache: prefetches that missed"),
	CACHE(DTLB, READ, ACCESS, "dTLB-loads", "data TLB: lookups for reads"),
	CACHE(DTLB, READ, MISS, "dTLB-load-misses", "data TLB: lookups for reads that missed"),
	CACHE(DTLB, WRITE, ACCESS, "dTLB-stores", "data TLB: lookups for writes"),
	CACHE(DTLB, WRITE, MISS, "dTLB-store-misses", "data TLB: lookups for writes that missed"),
	CACHE(DTLB, PREFETCH, ACCESS, "dTLB-prefetches", "data TLB: lookups for prefetches"),
	CACHE(DTLB, PREFETCH, MISS, "dTLB-prefetch-misses",
	      "data TLB: lookups for prefetches that missed"),
	CACHE(ITLB, READ, ACCESS, "iTLB-loads", "instruction TLB: lookups"),
	CACHE(ITLB, READ, MISS, "iTLB-load-misses", "instruction TLB: lookups that missed"),
	CACHE(BPU, READ, ACCESS, "branch-loads", "branch prediction unit: lookups"),
	CACHE(BPU, READ, MISS, "branch-load-misses", "branch prediction unit: lookups that missed"),
	CACHE(NODE, READ, ACCESS, "node-loads", "memory of the local NUMA node: reads"),
	CACHE(NODE, READ, MISS, "node-load-misses", "reads that went to another NUMA node"),
	CACHE(NODE, WRITE, ACCESS, "node-stores", "memory of the local NUMA node: writes"),
	CACHE(NODE, WRITE, MISS, "node-store-misses", "writes that went to another NUMA node"),
	CACHE(NODE, PREFETCH, ACCESS, "node-prefetches",
	      "memory of the local NUMA node: prefetches"),
	CACHE(NODE, PREFETCH, MISS, "node-prefetch-misses",
	      "prefetches that went to another NUMA node"),
};

const struct evnames_entry *evnames_at(size_t i)
{
	return i < N_ELEMENTS(table) ? &table[i] : NULL;
}

const struct evnames_entry *evnames_by_config(uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < N_ELEMENTS(table); i++)
		if (table[i].type == type && table[i].config == config)
			return &table[i];
	return NULL;
}

static bool same(const char *name, size_t n, const char *word, size_t n_word)
{
	return n == n_word && strncasecmp(name, word, n) == 0;
}

/* Is one of the words in the space-separated list equal to the n bytes at name? */
static bool in_list(const char *list, const char *name, size_t n)
{
	while (*list) {
		size_t n_word = strcspn(list, " ");
		if (same(name, n, list, n_word))
			return true;
		list += n_word;
		list += strspn(list, " ");
	}
	return false;
}

/* ---- other spellings of the cache grid ------------------------------------- */

struct part {
	unsigned id;
	const char *words;  /* space separated */
};

static const struct part caches[] = {
	{ PERF_COUNT_HW_CACHE_L1D, "L1-dcache l1-d l1d L1-data" },
	{ PERF_COUNT_HW_CACHE_L1I, "L1-icache l1-i l1i L1-instruction" },
	{ PERF_COUNT_HW_CACHE_LL, "LLC L2" },
	{ PERF_COUNT_HW_CACHE_DTLB, "dTLB d-tlb Data-TLB" },
	{ PERF_COUNT_HW_CACHE_ITLB, "iTLB i-tlb Instruction-TLB" },
	{ PERF_COUNT_HW_CACHE_BPU, "branch branches bpu btb bpc" },
	{ PERF_COUNT_HW_CACHE_NODE, "node" },
};
static const struct part ops[] = {
	{ PERF_COUNT_HW_CACHE_OP_READ, "load loads read" },
	{ PERF_COUNT_HW_CACHE_OP_WRITE, "store stores write" },
	{ PERF_COUNT_HW_CACHE_OP_PREFETCH,
	  "prefetch prefetches speculative-read speculative-load" },
};
static const struct part results[] = {
	{ PERF_COUNT_HW_CACHE_RESULT_ACCESS, "refs reference ops access" },
	{ PERF_COUNT_HW_CACHE_RESULT_MISS, "misses miss" },
};

/* Takes the longest word at the start of *name that ends there or at a '-', and skips both. */
static const struct part *take_part(const struct part *parts, size_t n_parts, const char **name,
				    size_t *n)
{
	const struct part *best = NULL;
	size_t n_best = 0;
	for (size_t i = 0; i < n_parts; i++) {
		for (const char *w = parts[i].words; *w; w += strspn(w, " ")) {
			size_t n_word = strcspn(w, " ");
			if (n_word <= *n && n_word > n_best &&
			    (n_word == *n || (*name)[n_word] == '-') &&
			    strncasecmp(*name, w, n_word) == 0) {
				best = &parts[i];
				n_best = n_word;
			}
			w += n_word;
		}
	}
	if (best) {
		if (n_best < *n)
			n_best++;
		*name += n_best;
		*n -= n_best;
	}
	return best;
}

/* "CACHE", "CACHE-OP", "CACHE-RESULT", "CACHE-OP-RESULT", "CACHE-RESULT-OP"; the defaults are read
 * and access. */
static const struct evnames_entry *find_in_grid(const char *name, size_t n)
{
	if (n == 0 || name[n - 1] == '-')
		return NULL;
	const struct part *cache = take_part(caches, N_ELEMENTS(caches), &name, &n);
	if (!cache)
		return NULL;
	const struct part *result = take_part(results, N_ELEMENTS(results), &name, &n);
	const struct part *op = take_part(ops, N_ELEMENTS(ops), &name, &n);
	if (!result)
		result = take_part(results, N_ELEMENTS(results), &name, &n);
	if (n)
		return NULL;
	uint64_t config = cache->id | (uint64_t)(op ? op->id : 0) << 8 |
			  (uint64_t)(result ? result->id : 0) << 16;
	return evnames_by_config(PERF_TYPE_HW_CACHE, config);
}

const struct evnames_entry *evnames_find(const char *name, size_t n)
{
	for (size_t i = 0; i < N_ELEMENTS(table); i++) {
		const struct evspec_known *k = &table[i].known;
		if (same(name, n, k->name, strlen(k->name)) || in_list(k->aliases, name, n))
			return &table[i];
	}
	return find_in_grid(name, n);
}

/* ---- nearest names ---------------------------------------------------------- */

#define WORD_MAX 32  /* longer than any name in the table */

/* Insertions, deletions, replacements and swaps of neighbours, ignoring case (optimal string
 * alignment): three rows of the matrix. */
static unsigned edits(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[3][WORD_MAX + 1];
	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *cur = row[i % 3], *prev = row[(i + 2) % 3], *prev2 = row[(i + 1) % 3];
		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			int x = tolower((unsigned char)a[i - 1]);
			int y = tolower((unsigned char)b[j - 1]);
			unsigned best = prev[j - 1] + (x != y);
			if (prev[j] + 1 < best)
				best = prev[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]) && prev2[j - 2] + 1 < best)
				best = prev2[j - 2] + 1;
			cur[j] = best;
		}
	}
	return row[na % 3][nb];
}

static bool holds(const char *word, size_t n_word, const char *part, size_t n)
{
	for (size_t i = 0; i + n <= n_word; i++)
		if (strncasecmp(word + i, part, n) == 0)
			return true;
	return false;
}

unsigned evnames_distance(const char *name, size_t n, const char *word, size_t n_word)
{
	n = n < WORD_MAX ? n : WORD_MAX;
	n_word = n_word < WORD_MAX ? n_word : WORD_MAX;
	unsigned d = edits(name, n, word, n_word);
	return d > 1 && n >= 4 && holds(word, n_word, name, n) ? 1 : d;
}

void evnames_nearest(const char *name, size_t n, struct evnames_near *ret_near)
{
	unsigned best[EVNAMES_NEAREST];
	const char *word[EVNAMES_NEAREST] = { NULL };
	size_t n_word[EVNAMES_NEAREST] = { 0 };
	for (size_t i = 0; i < EVNAMES_NEAREST; i++)
		best[i] = UINT32_MAX;
	for (size_t i = 0; i < N_ELEMENTS(table); i++) {
		/* The nearest spelling of this event: a canonical name wins a tie. */
		const char *w = table[i].known.name;
		size_t nw = strlen(w);
		unsigned d = evnames_distance(name, n, w, nw);
		for (const char *a = table[i].known.aliases; *a; a += strspn(a, " ")) {
			size_t na = strcspn(a, " ");
			unsigned da = evnames_distance(name, n, a, na);
			if (da < d) {
				d = da;
				w = a;
				nw = na;
			}
			a += na;
		}
		/* Insert into the sorted three; of equals the earlier one comes first. */
		for (size_t at = 0; at < EVNAMES_NEAREST; at++) {
			if (d >= best[at])
				continue;
			for (size_t k = EVNAMES_NEAREST - 1; k > at; k--) {
				best[k] = best[k - 1];
				word[k] = word[k - 1];
				n_word[k] = n_word[k - 1];
			}
			best[at] = d;
			word[at] = w;
			n_word[at] = nw;
			break;
		}
	}
	for (size_t i = 0; i < EVNAMES_NEAREST; i++)
		snprintf(ret_near->name[i], sizeof(ret_near->name[i]), "%.*s", (int)n_word[i],
			 word[i]);
}
