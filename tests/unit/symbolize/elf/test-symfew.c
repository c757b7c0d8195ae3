#include "tap.h"

#include "symbolize/elf/dso.h"
#include "symbolize/elf/symelf.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Files that this machine has, each opened twice: once for a few addresses at a time, and once for
 * all.  Both must give the same symbols, names and ranges.
 */

#define BATCHES 40u

static unsigned n_few, n_all;
static uint64_t seed = 1;

static uint64_t random_below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return n ? (seed >> 20) % n : 0;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Some addresses near each other, some anywhere; some twice. */
static size_t choose(const struct dso *d, uint64_t *vaddr, size_t max)
{
	size_t n = 1 + random_below(max);
	for (size_t i = 0; i < n; i++) {
		const struct dso_segment *s = &d->segment[random_below(d->n_segments)];
		bool is_near = i && random_below(3);
		vaddr[i] = is_near ? vaddr[i - 1] + random_below(400) - 100
				   : s->vaddr + random_below(s->n_mem_bytes + 2) - 1;
	}
	qsort(vaddr, n, sizeof(*vaddr), compare);
	return n;
}

/* Does the few table answer as the whole one? */
static bool is_same(struct symelf *few, struct symelf *all, uint64_t vaddr)
{
	const char *name;
	uint64_t range[2][2] = { { 0 } };
	char text[2][512] = { "", "" };
	struct symelf *of[2] = { few, all };
	struct symtab_symbol found[2] = { { 0 } };
	bool known[2];
	for (int i = 0; i < 2; i++) {
		const struct symtab_symbol *s = symelf_find(of[i], vaddr, &name);
		if (s) {
			found[i] = *s;
			snprintf(text[i], sizeof(text[i]), "%s", name);
		}
		known[i] = symelf_same(of[i], vaddr, &range[i][0], &range[i][1]);
	}
	return strcmp(text[0], text[1]) == 0 && found[0].start == found[1].start &&
	       found[0].sized == found[1].sized && known[0] == known[1] &&
	       found[0].is_dynamic == found[1].is_dynamic && range[0][0] == range[1][0] &&
	       range[0][1] <= range[1][1] && (!known[0] || range[0][1] > vaddr);
}

static size_t n_other(const struct dso *d, const struct symdebug_place *where,
		      struct symelf *all)
{
	uint64_t vaddr[64];
	size_t n_wrong = 0;
	for (unsigned b = 0; b < BATCHES; b++) {
		struct symelf few;
		size_t n = choose(d, vaddr, b % 2 ? 64 : 3);
		if (symelf_open(&few, d, where) != 0)
			return 1;
		symelf_expect(&few, vaddr, n);
		for (size_t i = 0; i < n; i++)
			n_wrong += !is_same(&few, all, vaddr[i]);
		n_few += !few.symbols_read;
		n_all += few.symbols_read;
		symelf_close(&few);
	}
	return n_wrong;
}

static void test_file(const char *path)
{
	const struct symdebug_place where = { 0 };
	struct dso_table table;
	struct symelf all;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dso_table_init(&table, NULL);
	struct dso *d = dso_table_add(&table, &(struct dso_key){ .kind = DSO_ELF }, path);
	dso_set_file(d, fd, path);
	if (d->n_segments && symelf_open(&all, d, &where) == 0) {
		size_t n = n_other(d, &where, &all);
		tap_ok(n == 0, "%s: %zu addresses differ", path, n);
		symelf_close(&all);
	}
	dso_table_done(&table);
}

/* Both rounds of three symbols; the result is the letters of those that were taken. */
static const char *taken(uint64_t vaddr, const uint64_t (*symbol)[2], bool *ret_unsure)
{
	static char text[8];
	struct symfew f;
	size_t n = 0;
	if (!symfew_init(&f, &vaddr, 1))
		abort();
	for (int i = 0; i < 6; i++) {
		const uint64_t *s = symbol[i % 3];
		if (i == 3)
			symfew_choose(&f);
		if (symfew_matters(&f, s[0], s[1]) && symfew_take(&f, s[0], s[1]))
			text[n++] = (char)('a' + i % 3);
	}
	text[n] = '\0';
	*ret_unsure = f.is_unsure;
	symfew_done(&f);
	return text;
}

static void test_choice(void)
{
	static const struct {
		uint64_t vaddr, symbol[3][2];
		const char *want, *what;
		bool is_unsure;
	} c[] = {
		{ 0x25, { { 0x10, 0x18 }, { 0x20, 0x28 }, { 0x30, 0x38 } }, "b", "one covers" },
		{ 0x2c, { { 0x10, 0x18 }, { 0x20, 0x28 }, { 0x30, 0x38 } }, "b", "a gap" },
		{ 0x0f, { { 0x10, 0x18 }, { 0x20, 0x28 }, { 0x30, 0x38 } }, "", "before all" },
		{ 0x25, { { 0x20, 0x20 }, { 0x20, 0x28 }, { 0x10, 0x10 } }, "ab", "aliases" },
		{ 0x35, { { 0x10, 0x40 }, { 0x30, 0x30 }, { 0x20, 0x28 } }, "abc", "nested" },
		{ 0x35, { { 0x10, 0x28 }, { 0x20, 0x40 }, { 0x30, 0x30 } }, "bc", "overlapping",
		  true },
		{ 0x2c, { { 0x10, 0x28 }, { 0x20, 0x20 }, { 0x30, 0x38 } }, "b",
		  "after a function with a label", true },
	};
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		bool is_unsure;
		tap_str(taken(c[i].vaddr, c[i].symbol, &is_unsure), c[i].want, c[i].what);
		tap_int(is_unsure, c[i].is_unsure, c[i].what);
	}
}

int main(void)
{
	static const char *const pattern[] = {
		"/proc/self/exe", "/bin/sh", "/bin/ls", "/usr/bin/python3*.*[0-9]", "/usr/bin/node",
		"/usr/bin/git", "/lib*/ld-*.so*", "/lib/*/libc.so.6", "/lib/*/libm.so.6",
		"/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libcrypto.so.3",
		"/usr/lib/*/libpython3*.so.1.0", "/usr/lib/*/libbfd*.so",
		"/usr/lib/gcc/*/*/crt*.o", "/usr/lib/gcc/*/*/libgcc_s.so.1",
		"/usr/lib/go-*/bin/gofmt", "/usr/lib/go-*/pkg/tool/*/vet",
		"/usr/lib/debug/.build-id/0*/*.debug",
	};
	glob_t found = { 0 };
	test_choice();
	for (size_t i = 0; i < sizeof(pattern) / sizeof(*pattern); i++)
		glob(pattern[i], GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		test_file(found.gl_pathv[i]);
	globfree(&found);
	printf("# %u batches by a few symbols, %u by all\n", n_few, n_all);
	tap_ok(n_few > n_all, "a few symbols are mostly enough");
	return tap_done();
}
