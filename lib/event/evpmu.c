/*
 * Everything is read on demand: a machine has dozens of PMUs, and a recording names a few of their
 * events.  The files have one line each; what cannot be parsed is ignored.
 */
#include "event/evpmu.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEVICES "bus/event_source/devices"
#define NAME_BYTES_MAX 256

/* ---- folders ------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	VEC(char *) list;
};

static void names_free(struct names *n)
{
	for (size_t i = 0; i < n->list.n; i++)
		free(n->list.v[i]);
	VEC_FREE(&n->list);
}

/* The names in a folder of sysfs, sorted; an empty list if it is missing.  -ENOMEM. */
static int read_folder(const struct host *h, const char *path, struct names *ret)
{
	int fd = host_open_file(h, HOST_SYS, O_RDONLY | O_DIRECTORY, "%s", path);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		char *name = strdup(d->d_name);
		if (!name || !VEC_PUSH(&ret->list, name)) {
			free(name);
			return -ENOMEM;
		}
	}
	if (ret->list.n)
		qsort(ret->list.v, ret->list.n, sizeof(char *), compare_names);
	return 0;
}

/* A file of one line, without the line's end; NULL if it cannot be read. */
static char *read_line(const struct host *h, const char *pmu, const char *file)
{
	char *text;
	if (host_read_file(h, HOST_SYS, &text, NULL, DEVICES "/%s/%s", pmu, file) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* ---- PMUs ----------------------------------------------------------------------------- */

static int add_pmu(const struct host *h, const char *name, struct evpmu_list *l)
{
	long type;
	if (host_read_long(h, HOST_SYS, &type, DEVICES "/%s/type", name) < 0 || type < 0)
		return 0;
	if (!VEC_RESERVE(l, 1))
		return -ENOMEM;
	struct evpmu p = { .name = strdup(name), .type = (uint32_t)type };
	if (!p.name)
		return -ENOMEM;
	p.cpus = read_line(h, name, "cpus");
	p.is_core = p.cpus || strcmp(name, "cpu") == 0;
	if (!p.cpus)
		p.cpus = read_line(h, name, "cpumask");
	if (p.cpus && !*p.cpus) {
		free(p.cpus);
		p.cpus = NULL;
	}
	l->v[l->n++] = p;
	return 0;
}

int evpmu_list(const struct host *h, struct evpmu_list *ret)
{
	CLEANUP(names_free) struct names names = { 0 };
	struct evpmu_list l = { 0 };
	int r = read_folder(h, DEVICES, &names);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.list.n; i++) {
		r = add_pmu(h, names.list.v[i], &l);
		if (r < 0) {
			evpmu_list_done(&l);
			return r;
		}
	}
	*ret = l;
	return 0;
}

void evpmu_list_done(struct evpmu_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].cpus);
	}
	VEC_FREE(l);
}

size_t evpmu_n_cores(const struct evpmu_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].is_core;
	return n;
}

static bool has_named(const struct evpmu_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return true;
	return false;
}

bool evpmu_matches(const struct evpmu_list *l, const struct evpmu *p, const char *name, size_t n)
{
	char text[NAME_BYTES_MAX];
	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, name, n);
	text[n] = '\0';
	if (strcmp(p->name, text) == 0)
		return true;
	if (strpbrk(text, "*?"))
		return fnmatch(text, p->name, 0) == 0;
	if (has_named(l, text))
		return false;
	if (strcmp(text, "cpu") == 0)
		return p->is_core;
	if (strncmp(p->name, text, n) || p->name[n] != '_' || !p->name[n + 1])
		return false;
	return strspn(p->name + n + 1, "0123456789") == strlen(p->name + n + 1);
}

/* ---- format ------------------------------------------------------------------------------ */

int evpmu_parse_bits(const char *text, struct evpmu_bits *ret)
{
	struct evpmu_bits b = { 0, 0 };
	const char *p = text;
	if (strncmp(p, "config", 6) != 0)
		return -EINVAL;
	p += 6;
	if (*p >= '1' && *p <= '3')
		b.word = (unsigned)(*p++ - '0');
	if (*p++ != ':')
		return -EINVAL;
	for (;;) {
		char *end;
		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		unsigned long first = strtoul(p, &end, 10), last = first;
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return -EINVAL;
			last = strtoul(end + 1, &end, 10);
		}
		if (first > last || last > 63)
			return -EINVAL;
		b.mask |= (last - first == 63 ? ~UINT64_C(0)
					      : (UINT64_C(1) << (last - first + 1)) - 1) << first;
		if (*end != ',') {
			if (*end && *end != '\n')
				return -EINVAL;
			break;
		}
		p = end + 1;
	}
	*ret = b;
	return 0;
}

static bool is_file_name(const char *name, size_t n)
{
	return n && n < NAME_BYTES_MAX && name[0] != '.' && !memchr(name, '/', n) &&
	       !memchr(name, '\0', n);
}

int evpmu_format(const struct host *h, const struct evpmu *p, const char *term, size_t n,
		 struct evpmu_bits *ret)
{
	CLEANUP_FREE char *text = NULL;
	if (!is_file_name(term, n))
		return -ENOENT;
	int r = host_read_file(h, HOST_SYS, &text, NULL, DEVICES "/%s/format/%.*s", p->name,
				  (int)n, term);
	return r < 0 ? -ENOENT : evpmu_parse_bits(text, ret);
}

bool evpmu_spread(const struct evpmu_bits *bits, uint64_t value, uint64_t config[4])
{
	uint64_t out = 0, left = value;
	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(bits->mask >> bit & 1))
			continue;
		out |= (left & 1) << bit;
		left >>= 1;
	}
	if (left)
		return false;
	config[bits->word] = (config[bits->word] & ~bits->mask) | out;
	return true;
}

/* ---- named events --------------------------------------------------------------------------- */

/* Files next to an event that describe it further. */
static bool is_companion(const char *name)
{
	static const char *const ends[] = { ".scale", ".unit", ".per-pkg", ".snapshot" };
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(name), n_end = strlen(ends[i]);
		if (n > n_end && strcmp(name + n - n_end, ends[i]) == 0)
			return true;
	}
	return false;
}

int evpmu_event(const struct host *h, const struct evpmu *p, const char *name, size_t n,
		struct evpmu_event *ret)
{
	char file[2 * NAME_BYTES_MAX];
	if (!is_file_name(name, n))
		return -ENOENT;
	snprintf(file, sizeof(file), "events/%.*s", (int)n, name);
	if (is_companion(file))
		return -ENOENT;
	struct evpmu_event ev = { .terms = read_line(h, p->name, file) };
	if (!ev.terms)
		return -ENOENT;
	snprintf(file, sizeof(file), "events/%.*s.scale", (int)n, name);
	CLEANUP_FREE char *scale = read_line(h, p->name, file);
	if (scale)
		ev.scale = strtod(scale, NULL);
	snprintf(file, sizeof(file), "events/%.*s.unit", (int)n, name);
	CLEANUP_FREE char *unit = read_line(h, p->name, file);
	if (unit)
		snprintf(ev.unit, sizeof(ev.unit), "%s", unit);
	*ret = ev;
	return 0;
}

char *evpmu_names(const struct host *h, const struct evpmu *p, const char *folder)
{
	char path[2 * NAME_BYTES_MAX];
	struct names names = { 0 };
	size_t n_bytes = 1;
	snprintf(path, sizeof(path), DEVICES "/%s/%s", p->name, folder);
	char *text = NULL;
	if (read_folder(h, path, &names) == 0) {
		for (size_t i = 0; i < names.list.n; i++)
			n_bytes += strlen(names.list.v[i]) + 1;
		text = calloc(1, n_bytes);
	}
	for (size_t i = 0; text && i < names.list.n; i++) {
		if (is_companion(names.list.v[i]))
			continue;
		if (*text)
			strcat(text, "\n");
		strcat(text, names.list.v[i]);
	}
	names_free(&names);
	return text;
}
