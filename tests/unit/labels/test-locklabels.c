/* The labels of locks, for a process with two programs' code. */
#include "agg/labels.h"
#include "base/budget.h"
#include "base/strtab.h"
#include "labels/locklabels.h"
#include "proc/procs-space.h"
#include "symbolize/elf/dso.h"
#include "tests/unit/tap.h"

#include <string.h>

static struct budget budget;
static struct strtab strings;
static struct labels labels;
static struct dso_table dsos;
static struct locklabels locks;
static struct procs_space space;

static const char *text_of(uint32_t set)
{
	static char text[256];
	uint32_t n;
	const struct label *l = labels_get(&labels, set, &n);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "%s%s=%s", i ? " " : "",
			 strtab_get(&strings, l[i].key), strtab_get(&strings, l[i].value));
	}
	return text;
}

/* A file with code at 0x1000 and data at 0x4000 that is mapped at base. */
static struct dso *map_file(const char *path, uint64_t ino, uint64_t base)
{
	struct dso *d = dso_table_add(&dsos, &(struct dso_key){ .kind = DSO_ELF, .ino = ino },
				      path);
	d->is_elf = true;
	d->n_segments = 1;
	d->segment[0] = (struct dso_segment){ 0x1000, 0x1000, 0x1000, 0x1000 };
	d->data_start = 0x4000;
	d->data_end = 0x5000;
	procs_space_insert(&space, (struct procs_map){ base + 0x1000, base + 0x2000, 0x1000,
						       d->id });
	return d;
}

static const char *at(uint64_t address)
{
	return text_of(locklabels_of(&locks, &space, address));
}

static bool renew(void *ctx, uint32_t *string)
{
	(void)ctx;
	return *string != 0;
}

static void test_places(void)
{
	struct dso *d = map_file("/bin/prog", 1, 0x100000);
	map_file("/lib/libfoo.so.1", 2, 0x700000);
	tap_str(at(0x104068), "lock=prog+0x4068", "data of the program");
	tap_str(at(0x704000), "lock=libfoo.so.1+0x4000", "of a library");
	tap_str(at(0x705000), "lock=0x705000", "after it");
	tap_str(at(0x103fff), "lock=0x103fff", "before it");
	tap_str(at(0x55aa00), "lock=0x55aa00", "in the heap");
	tap_int((long long)locks.variable.n, 2, "two are variables");
	tap_ok(locks.variable.v[0].dso == d->id && locks.variable.v[0].vaddr == 0x4068,
	       "the first one of the program");
	tap_str(at(0x104068), "lock=prog+0x4068", "the cache has the same");
	space.serial++;
	tap_str(at(0x104068), "lock=prog+0x4068", "as has a new look-up");
	tap_int((long long)locks.variable.n, 2, "of the same variable");
	map_file("/other/prog", 3, 0x900000);
	tap_str(at(0x904068), "lock=0x904068", "a file of the same name is another one");
}

static void test_holders(void)
{
	uint32_t set = locklabels_of(&locks, &space, 0x55aa00);
	tap_str(text_of(locklabels_with_holder(&locks, set, "worker", 71)),
		"lock=0x55aa00 holder=worker/71", "its holder");
	tap_str(text_of(locklabels_with_holder(&locks, set, "wor\xffker", 72)),
		"lock=0x55aa00 holder=wor\xef\xbf\xbdker/72", "whose name may contain anything");
}

static void test_limits(void)
{
	char want[64];
	bool ok = true;
	for (uint64_t i = 0; i < 2 * APPVALUES_PER_KEY; i++)
		locklabels_of(&locks, &space, 0x10000000 + i * 64);
	tap_str(at(0x10000000 + 1999 * 64), "lock=[other]", "there are at most a thousand");
	tap_str(at(0x55aa00), "lock=0x55aa00", "the first ones stay");
	for (uint64_t i = 0; i < 900; i++) {
		snprintf(want, sizeof(want), "lock=0x%llx", 0x10000000ull + i * 64);
		ok &= strcmp(at(0x10000000 + i * 64), want) == 0;
	}
	tap_ok(ok, "all of them");
	locklabels_renew(&locks, renew, NULL);
	tap_str(at(0x104068), "lock=prog+0x4068", "and when strings have moved");
	locklabels_clear(&locks);
	tap_str(at(0x10000000 + 1999 * 64), "lock=0x1001f3c0", "the next profile has others");
	bool used[8] = { false };
	locklabels_mark(&locks, used);
	tap_ok(used[locks.variable.v[0].dso], "files of variables are in use");
	locks.variable.v[0].dso_serial += 100;
	locks.variable.v[1].dso = 1000000;
	memset(used, 0, sizeof(used));
	locklabels_mark(&locks, used);
	tap_ok(!used[0] && !used[1], "but not those that are gone");
}

int main(void)
{
	budget_init(&budget, 0);
	strtab_init(&strings, &budget);
	labels_init(&labels, &budget);
	dso_table_init(&dsos, &budget);
	locklabels_init(&locks, &strings, &labels, &dsos);
	space.serial = 1;
	test_places();
	test_holders();
	test_limits();
	locklabels_done(&locks);
	VEC_FREE(&space.map);
	dso_table_done(&dsos);
	labels_done(&labels);
	strtab_done(&strings);
	return tap_done();
}
