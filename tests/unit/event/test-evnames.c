/* The whole table: names, types and configs as <linux/perf_event.h> and perf have them. */
#include "event/evnames.h"

#include <linux/perf_event.h>
#include <string.h>

#include "tap.h"

static const struct evnames_entry *find(const char *name)
{
	return evnames_find(name, strlen(name));
}

static void is(const char *name, const char *canonical, uint32_t type, uint64_t config)
{
	const struct evnames_entry *x = find(name);
	tap_ok(x && strcmp(x->known.name, canonical) == 0 && x->type == type &&
	       x->config == config, "'%s' is %s, type %u config 0x%llx", name, canonical, type,
	       (unsigned long long)config);
}

static void is_not(const char *name)
{
	tap_ok(!find(name), "'%s' is not an event", name);
}

static void software_and_hardware(void)
{
	static const struct {
		const char *name, *canonical;
		uint64_t config;
	} software[] = {
		{ "cpu-clock", "cpu-clock", 0 },
		{ "timer", "cpu-clock", 0 },
		{ "task-clock", "task-clock", 1 },
		{ "page-faults", "page-faults", 2 },
		{ "faults", "page-faults", 2 },
		{ "context-switches", "context-switches", 3 },
		{ "cs", "context-switches", 3 },
		{ "cpu-migrations", "cpu-migrations", 4 },
		{ "migrations", "cpu-migrations", 4 },
		{ "minor-faults", "minor-faults", 5 },
		{ "major-faults", "major-faults", 6 },
		{ "alignment-faults", "alignment-faults", 7 },
		{ "emulation-faults", "emulation-faults", 8 },
	}, hardware[] = {
		{ "cycles", "cycles", 0 },
		{ "cpu-cycles", "cycles", 0 },
		{ "instructions", "instructions", 1 },
		{ "cache-references", "cache-references", 2 },
		{ "cacheReferences", "cache-references", 2 },
		{ "cache-misses", "cache-misses", 3 },
		{ "cacheMisses", "cache-misses", 3 },
		{ "branches", "branches", 4 },
		{ "branch-instructions", "branches", 4 },
		{ "branchInstructions", "branches", 4 },
		{ "branch-misses", "branch-misses", 5 },
		{ "branchMisses", "branch-misses", 5 },
		{ "bus-cycles", "bus-cycles", 6 },
		{ "stalled-cycles-frontend", "stalled-cycles-frontend", 7 },
		{ "idle-cycles-frontend", "stalled-cycles-frontend", 7 },
		{ "stalled-cycles-backend", "stalled-cycles-backend", 8 },
		{ "idle-cycles-backend", "stalled-cycles-backend", 8 },
		{ "ref-cycles", "ref-cycles", 9 },
		{ "CYCLES", "cycles", 0 },
		{ "Cache-Misses", "cache-misses", 3 },
	};
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++)
		is(software[i].name, software[i].canonical, PERF_TYPE_SOFTWARE, software[i].config);
	for (size_t i = 0; i < sizeof(hardware) / sizeof(*hardware); i++)
		is(hardware[i].name, hardware[i].canonical, PERF_TYPE_HARDWARE, hardware[i].config);
}

/* cache ids 0..6, operations 0 read 1 write 2 prefetch, results 0 access 1 miss */
static void cache_grid(void)
{
	static const char *const cache[] = {
		"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
	};
	static const char *const ops[] = { "load", "store", "prefetch" };
	static const char *const all[] = { "loads", "stores", "prefetches" };
	static const unsigned allowed[] = { 7, 5, 7, 7, 1, 1, 7 };  /* bits: operations */
	unsigned n = 0;
	for (unsigned c = 0; c < 7; c++) {
		for (unsigned op = 0; op < 3; op++) {
			char access[64], miss[64];
			snprintf(access, sizeof(access), "%s-%s", cache[c], all[op]);
			snprintf(miss, sizeof(miss), "%s-%s-misses", cache[c], ops[op]);
			if (allowed[c] >> op & 1) {
				is(access, access, PERF_TYPE_HW_CACHE, c | op << 8);
				is(miss, miss, PERF_TYPE_HW_CACHE, c | op << 8 | 1 << 16);
				n += 2;
			} else {
				is_not(access);
				is_not(miss);
			}
		}
	}
	unsigned n_table = 0;
	for (size_t i = 0; evnames_at(i); i++)
		n_table += evnames_at(i)->type == PERF_TYPE_HW_CACHE;
	tap_int(n_table, n, "the table holds the valid grid and no more");
}

static void other_spellings(void)
{
	is("l1d", "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0);
	is("l1-d-load-misses", "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	is("l1-data-misses", "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	is("l1d-read-miss", "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	is("l1d-write", "L1-dcache-stores", PERF_TYPE_HW_CACHE, 0x100);
	is("l1d-stores-refs", "L1-dcache-stores", PERF_TYPE_HW_CACHE, 0x100);
	is("l1d-misses-store", "L1-dcache-store-misses", PERF_TYPE_HW_CACHE, 0x10100);
	is("L1D-SPECULATIVE-READ-MISS", "L1-dcache-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10200);
	is("l1i-misses", "L1-icache-load-misses", PERF_TYPE_HW_CACHE, 0x10001);
	is("l1-instruction", "L1-icache-loads", PERF_TYPE_HW_CACHE, 1);
	is("llc-load-misses", "LLC-load-misses", PERF_TYPE_HW_CACHE, 0x10002);
	is("L2-access", "LLC-loads", PERF_TYPE_HW_CACHE, 2);
	is("data-tlb-misses", "dTLB-load-misses", PERF_TYPE_HW_CACHE, 0x10003);
	is("d-tlb-write-ops", "dTLB-stores", PERF_TYPE_HW_CACHE, 0x103);
	is("instruction-tlb-reference", "iTLB-loads", PERF_TYPE_HW_CACHE, 4);
	is("btb-read-misses", "branch-load-misses", PERF_TYPE_HW_CACHE, 0x10005);
	is("bpu", "branch-loads", PERF_TYPE_HW_CACHE, 5);
	is("node-speculative-load", "node-prefetches", PERF_TYPE_HW_CACHE, 0x206);
	is_not("l1i-store");
	is_not("bpu-write");
	is_not("l1d-");
	is_not("l1d-load-");
	is_not("-l1d");
	is_not("l1dx");
	is_not("l1d-load-load");
	is_not("l1d-load-misses-misses");
	is_not("load-misses");
	is_not("l1d-misses-refs");
	is_not("");
	is_not("cycle");
	is_not("cycless");
	is_not("branch-instructions branchInstructions");
}

static void table_is_sound(void)
{
	size_t n = 0;
	bool described = true, found = true, unique = true, grouped = true, short_names = true;
	for (; evnames_at(n); n++) {
		const struct evnames_entry *x = evnames_at(n);
		described &= x->known.what[0] && x->known.name[0];
		found &= find(x->known.name) == x;
		found &= x->waiting || evnames_by_config(x->type, x->config) == x;
		grouped &= n == 0 || x->known.group >= evnames_at(n - 1)->known.group;
		short_names &= strlen(x->known.name) < 32;
		for (size_t i = 0; i < n; i++)
			unique &= evnames_at(i)->type != x->type ||
				  evnames_at(i)->config != x->config ||
				  evnames_at(i)->waiting != x->waiting;
	}
	tap_int((long long)n, 55, "there are 55 events");
	tap_ok(described, "each has a name and a description");
	tap_ok(found, "each is found by its name and by its config");
	tap_ok(unique, "no two have the same type and config, except those of switches");
	tap_ok(grouped, "they come in groups");
	tap_ok(short_names, "names fit the table of nearest names");
	tap_ok(!evnames_at(n) && !evnames_at(n + 1000), "nothing after the end");
	tap_ok(!evnames_by_config(PERF_TYPE_RAW, 0), "raw codes have no name");
}

static void near(const char *name, const char *a, const char *b, const char *c)
{
	struct evnames_near got;
	char text[200], want[200];
	evnames_nearest(name, strlen(name), &got);
	snprintf(text, sizeof(text), "%s %s %s", got.name[0], got.name[1], got.name[2]);
	snprintf(want, sizeof(want), "%s %s %s", a, b ? b : got.name[1], c ? c : got.name[2]);
	char title[200];
	snprintf(title, sizeof(title), "near '%s'", name);
	tap_str(text, want, title);
}

static void nearest(void)
{
	near("cycels", "cycles", NULL, NULL);
	near("cache-mises", "cache-misses", "branch-misses", NULL);
	near("instrutions", "instructions", NULL, NULL);
	near("l1-dcache-load-mises", "L1-dcache-load-misses", "L1-icache-load-misses", NULL);
	near("cacheMises", "cacheMisses", NULL, NULL);
	near("frontend", "stalled-cycles-frontend", NULL, NULL);
	near("timr", "timer", NULL, NULL);
	near("icache", "L1-icache-loads", "L1-icache-load-misses", "L1-icache-prefetches");
	near("clock", "cpu-clock", "task-clock", NULL);

	char lengthy[300];
	memset(lengthy, 'x', sizeof(lengthy));
	struct evnames_near got;
	evnames_nearest(lengthy, sizeof(lengthy), &got);
	tap_ok(got.name[0][0] && got.name[1][0] && got.name[2][0], "a lengthy name has near ones "
		"too");
	evnames_nearest("", 0, &got);
	tap_ok(got.name[0][0] && strcmp(got.name[0], got.name[1]) && strcmp(got.name[1],
		got.name[2]),
	       "so has an empty name, each a different one");
}

int main(void)
{
	software_and_hardware();
	cache_grid();
	other_spellings();
	table_is_sound();
	nearest();
	return tap_done();
}
