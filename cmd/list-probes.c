/*
 * cprof list --probes: the names are complete events for -e.  As in all of `cprof list`, only lines
 * with events begin with a blank.
 */

#include "cmd/list-probes.h"

#include "base/err.h"
#include "base/units.h"
#include "cmd/printable.h"
#include "cprof-events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe_list {
	const struct list_probes_options *o;
	bool of_process;
	char *file;            /* of the last one */
	size_t n;
	bool no_memory;
};

/* As -e takes it. */
static void print_probe_name(const struct probe_list *l, const struct cprof_probe *p, bool is_json)
{
	char *name;
	bool needs_folder = !l->of_process && !strchr(p->file, '/');
	int n = l->of_process ? asprintf(&name, "usdt:%s:%s", p->provider, p->name)
			      : asprintf(&name, "usdt:%s%s:%s:%s", needs_folder ? "./" : "",
					 p->file, p->provider, p->name);
	if (n < 0)
		return;
	if (is_json)
		printable_json(stdout, name);
	else
		printable_text(stdout, name);
	free(name);
}

static void print_probe_json(const struct probe_list *l, const struct cprof_probe *p)
{
	printf("%s\n  {\"name\": ", l->n ? "," : "{\"probes\": [");
	print_probe_name(l, p, true);
	printf(", \"file\": ");
	printable_json(stdout, p->file);
	printf(", \"provider\": ");
	printable_json(stdout, p->provider);
	printf(", \"probe\": ");
	printable_json(stdout, p->name);
	printf(", \"arguments\": ");
	printable_json(stdout, p->args);
	printf(", \"locations\": %zu, \"semaphore\": %s}", p->n_locations,
	       p->has_semaphore ? "true" : "false");
}

static void print_probe_row(struct probe_list *l, const struct cprof_probe *p)
{
	if (!l->file || strcmp(l->file, p->file) != 0) {
		printf("%sProbes of ", l->file ? "\n" : "");
		printable_text(stdout, p->file);
		putchar('\n');
		free(l->file);
		l->file = strdup(p->file);
		l->no_memory = !l->file;
	}
	printf("  ");
	print_probe_name(l, p, false);
	printf("  %zu location%s%s", p->n_locations, units_s(p->n_locations),
	       p->has_semaphore ? ", semaphore" : "");
	if (*p->args) {
		printf(", arguments: ");
		printable_text(stdout, p->args);
	}
	putchar('\n');
}

static bool print_probe(void *ctx, const struct cprof_probe *p)
{
	struct probe_list *l = ctx;
	const char *pattern = l->o->pattern;
	if (pattern && !l->o->matches(p->name, strlen(p->name), pattern) &&
	    !l->o->matches(p->provider, strlen(p->provider), pattern))
		return true;
	if (l->o->json)
		print_probe_json(l, p);
	else
		print_probe_row(l, p);
	l->n++;
	return !l->no_memory;
}

int list_probes(const struct cprof_event_probe *probe, const struct list_probes_options *o,
		struct err *e)
{
	const char *text = o->of;
	size_t n_digits = strspn(text, "0123456789");
	struct probe_list l = {
		.o = o, .of_process = n_digits && n_digits < 10 && !text[n_digits],
	};
	int r = cprof_probe_each(probe, l.of_process ? NULL : text,
				 l.of_process ? atoi(text) : 0, print_probe, &l, e);
	free(l.file);
	if (o->json && l.n)
		printf("]}\n");
	if (r == 0 && !l.n)
		r = err_set(e, ENOENT, "no probe has '%s' in its name", o->pattern);
	return l.no_memory ? err_errno(e, ENOMEM, "cannot list probes") : r;
}
