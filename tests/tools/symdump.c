/*
 * Prints the frames that symbolizer_resolve finds for addresses of an ELF file, in
 * llvm-symbolizer's form: the address, then for each frame, innermost first, the name and
 * file:line:column.
 *
 * 	symdump [-l] [-n] [-t] [-v] [-r ROOT] [-d DEBUGDIR] [-R SECTION=ADDRESS]... FILE < ADDRESSES
 *
 * 	-l  linkage names   -n  no DWARF, symbol tables only   -s  with source and start line
 * 	-R SECTION=ADDRESS  of a relocatable file (a kernel module): the address of that section
 * 	-t  only the time taken, to standard error             -v  explanations to standard error
 */

#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/kernel/symrel.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const source_name[SYMBOLIZER_N_SOURCES] = {
	"none", "dynsym", "symtab", "plt", "dwarf", "kallsyms", "jit", "go", "pseudo",
};

#define PLACES_MAX 256

struct options {
	bool linkage, with_source, only_time;
	const char *root, *dirs[2];
	const char *place[PLACES_MAX];
	size_t n_places;
	struct symbolizer_options symbolizer;
};

static void print_line(void *ctx, enum log_level level, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static void print_lines(const struct options *o, const struct symaddr *addr, size_t n,
			const struct symlines *lines, const struct strtab *strings)
{
	for (size_t i = 0; i < n; i++) {
		printf("0x%" PRIx64, addr[i].vaddr);
		printf(o->with_source ? " %s\n" : "\n", source_name[addr[i].source]);
		for (uint32_t k = 0; k < addr[i].n_lines; k++) {
			const struct symline *l = &lines->v[addr[i].first_line + k];
			const char *file = strtab_get(strings, l->file);
			printf("%s\n%s:%u:%u",
			       strtab_get(strings, o->linkage ? l->linkage : l->name),
			       *file ? file : "??", l->line, l->column);
			printf(o->with_source ? " %u\n" : "\n", l->start_line);
		}
		putchar('\n');
	}
}

static bool find_section(void *ctx, const char *section, uint64_t *ret_address)
{
	const struct options *o = ctx;
	size_t n = strlen(section);
	for (size_t i = 0; i < o->n_places; i++)
		if (strncmp(o->place[i], section, n) == 0 && o->place[i][n] == '=') {
			*ret_address = strtoull(o->place[i] + n + 1, NULL, 16);
			return true;
		}
	return false;
}

/* Gives d the file at fd and its ownership; a relocatable file as it is in memory. */
static int set_file(struct options *o, struct dso *d, int fd, const char *path)
{
	const struct symrel_place place = { .find = find_section, .ctx = o };
	uint8_t *image;
	size_t n_bytes;
	if (!o->n_places) {
		dso_set_file(d, fd, path);
		return 0;
	}
	int code = symrel_link(fd, &place, &image, &n_bytes);
	close(fd);
	if (code < 0)
		return code;
	code = dso_set_image(d, image, n_bytes);
	free(image);
	return code;
}

static int dump(struct options *o, const char *path)
{
	VEC(struct symaddr) addr = {0};
	struct symlines lines = {0};
	struct symbolizer_has has = {0};
	struct dso_table table;
	struct strtab strings;
	struct host host;
	struct err e;
	char text[64];

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || host_open(&host, o->root, NULL, NULL, &e) || strtab_init(&strings, NULL) ||
	    dso_table_init(&table, NULL)) {
		fprintf(stderr, "symdump: cannot open '%s'\n", path);
		return 1;
	}
	const struct dso_key key = { .kind = o->n_places ? DSO_VDSO : DSO_ELF };
	struct dso *d = dso_table_add(&table, &key, path);
	if (!d)
		return 1;
	if (set_file(o, d, fd, path) < 0) {
		fprintf(stderr, "symdump: cannot relocate '%s'\n", path);
		return 1;
	}
	while (fgets(text, sizeof(text), stdin)) {
		struct symaddr a = { .vaddr = strtoull(text, NULL, 16) };
		if (!VEC_PUSH(&addr, a))
			return 1;
	}
	o->symbolizer.host = &host;
	struct timespec t0, t1;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	int r = symbolizer_resolve(&o->symbolizer, d, addr.v, addr.n, &lines, &strings, &has);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (o->only_time)
		fprintf(stderr, "%zu addresses, %zu lines, %.1f ms\n", addr.n, lines.n,
			(t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6);
	else if (r == 0)
		print_lines(o, addr.v, addr.n, &lines, &strings);
	VEC_FREE(&addr);
	VEC_FREE(&lines);
	dso_table_done(&table);
	strtab_done(&strings);
	host_close(&host);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct log log = { print_line, NULL, LOG_EXPLAIN };
	struct options o = {0};
	int c;
	while ((c = getopt(argc, argv, "lnstvr:d:R:T:")) != -1) {
		switch (c) {
		case 'l': o.linkage = true; break;
		case 'n': o.symbolizer.no_inlines = true; break;
		case 's': o.with_source = true; break;
		case 't': o.only_time = true; break;
		case 'v': o.symbolizer.log = &log; break;
		case 'T': o.symbolizer.timeout_ns = strtoull(optarg, NULL, 10); break;
		case 'r': o.root = optarg; break;
		case 'd': o.dirs[0] = optarg; o.symbolizer.debug_dirs = o.dirs; break;
		case 'R':
			if (o.n_places == PLACES_MAX)
				return 64;
			o.place[o.n_places++] = optarg;
			break;
		default: return 64;
		}
	}
	if (optind + 1 != argc) {
		fprintf(stderr,
			"usage: symdump [-lnstv] [-r ROOT] [-d DIR] [-R SECTION=ADDRESS]... "
			"[-T NS] FILE < ADDRESSES\n");
		return 64;
	}
	return dump(&o, argv[optind]);
}
