#include "tap.h"

#include "base/host.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The addresses that have the same lines, as the symbolizer says: all addresses of files that this
 * machine has, of which none is prepared for the test.
 */

#define ADDRESSES_MAX 60000u

static struct host host;
static unsigned n_files, n_named_ranges, n_made_up_ranges;

struct looked_up {
	VEC(struct symaddr) addr;
	struct symlines lines;
	struct strtab strings;
};

static void look_up(struct looked_up *l, int fd, const char *path)
{
	struct dso_table table;
	struct symbolizer_has has;
	struct symbolizer_options o = { .host = &host, .no_inlines = true };
	strtab_init(&l->strings, NULL);
	dso_table_init(&table, NULL);
	struct dso *d = dso_table_add(&table, &(struct dso_key){ .kind = DSO_ELF }, path);
	dso_set_file(d, fd, path);
	for (uint16_t s = 0; s < d->n_segments; s++) {
		uint64_t n_bytes = d->segment[s].n_mem_bytes, step = n_bytes / ADDRESSES_MAX | 1;
		for (uint64_t off = 0; off <= n_bytes; off += step)
			VEC_PUSH(&l->addr, (struct symaddr){ .vaddr = d->segment[s].vaddr + off });
	}
	if (symbolizer_resolve(&o, d, l->addr.v, l->addr.n, &l->lines, &l->strings, &has) < 0)
		abort();
	dso_table_done(&table);
}

static bool is_same(const struct looked_up *l, const struct symaddr *a, const struct symaddr *b)
{
	if (a->source != b->source || a->n_lines != b->n_lines)
		return false;
	for (uint32_t i = 0; i < a->n_lines; i++)
		if (memcmp(&l->lines.v[a->first_line + i], &l->lines.v[b->first_line + i],
			   sizeof(struct symline)) != 0)
			return false;
	return true;
}

/* The number of addresses that contradict the range of a neighbour, or their own. */
static size_t n_wrong(const struct looked_up *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->addr.n; i++) {
		const struct symaddr *a = &l->addr.v[i];
		if (!a->same_end)
			continue;
		n += a->vaddr < a->same_start || a->vaddr >= a->same_end;
		n_named_ranges += a->source != SYMBOLIZER_NONE;
		n_made_up_ranges += a->source == SYMBOLIZER_NONE;
		/* Ranges do not overlap, so it is enough to compare neighbours. */
		const struct symaddr *b = i + 1 < l->addr.n ? a + 1 : NULL;
		if (b && b->vaddr < a->same_end)
			n += !is_same(l, a, b) || b->same_start != a->same_start ||
			     b->same_end != a->same_end;
		else if (b && b->same_end)
			n += b->same_start < a->same_end;
	}
	return n;
}

static void test_file(const char *path)
{
	struct looked_up l = { .addr = { 0 } };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	look_up(&l, fd, path);
	n_files++;
	size_t n = n_wrong(&l);
	tap_ok(n == 0, "%s: %zu of %zu addresses contradict", path, n, l.addr.n);
	VEC_FREE(&l.addr);
	free(l.lines.v);
	strtab_done(&l.strings);
}

int main(void)
{
	static const char *const pattern[] = {
		"/proc/self/exe", "/bin/sh", "/bin/ls", "/bin/bash", "/usr/bin/python3*.*[0-9]",
		"/usr/bin/node", "/usr/bin/git", "/lib*/ld-*.so*", "/lib/*/libc.so.6",
		"/lib/*/libm.so.6", "/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libcrypto.so*",
		"/usr/lib/*/libpython3*.so*", "/usr/lib/*/libbfd*.so", "/usr/lib/*/libsqlite3.so*",
		"/usr/lib/gcc/*/*/lto-wrapper", "/usr/lib/go-*/bin/gofmt",
		"/usr/lib/go-*/pkg/tool/*/vet",
	};
	glob_t found = { 0 };
	if (host_open(&host, NULL, NULL, NULL, NULL) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(pattern) / sizeof(*pattern); i++)
		glob(pattern[i], GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		test_file(found.gl_pathv[i]);
	globfree(&found);
	host_close(&host);
	printf("# %u files, %u addresses with a name, %u without\n", n_files, n_named_ranges,
	       n_made_up_ranges);
	tap_ok(n_named_ranges > 0, "there are ranges with a name");
	return tap_done();
}
