/* A program that takes a snapshot of the goroutines of another one: goshot PID go1|go2|FILE
 * [TIME_NS], where TIME_NS is the shortest wait.  Prints what became of it to stderr. */

#include "cmd/snapshot/snapshot-go.h"
#include "cprof-snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct cprof_error *e)
{
	fprintf(stderr, "%s\n", e->what);
	return 1;
}

static void print_counts(const struct cprof_recorder *r)
{
	struct cprof_snapshot_window w;
	const char *name;
	uint64_t n;
	cprof_snapshot_window(r, &w);
	fprintf(stderr, "entries=%zu window_ms=%.2f", cprof_snapshot_n_entries(r),
		(double)(w.to_ns - w.from_ns) / 1e6);
	for (size_t i = 0; (name = cprof_snapshot_quality(r, i, &n)); i++)
		if (n)
			fprintf(stderr, " %s=%llu", name, (unsigned long long)n);
	for (size_t i = 0; (name = cprof_snapshot_loss(r, i, &n)); i++)
		if (n)
			fprintf(stderr, " '%s'=%llu", name, (unsigned long long)n);
	fputc('\n', stderr);
}

static int write_it(struct cprof_recorder *r, const char *what, struct cprof_error *e)
{
	if (strcmp(what, "go1") != 0 && strcmp(what, "go2") != 0)
		return cprof_recorder_write_file(r, 0, what, e);
	int code = cprof_snapshot_names(r, e);
	if (code < 0)
		return code;
	if (strcmp(what, "go1") == 0)
		return snapshot_go_counts(r, stdout);
	snapshot_go_stacks(r, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	pid_t pid = atoi(argv[1]);
	struct cprof_recorder *r = NULL;
	struct cprof_error e;
	const struct cprof_config config = {
		.kind = cprof_goroutine_recorder(), .pid = &pid, .n_pids = 1,
		.min_wait_ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
	};
	if (cprof_recorder_new(&config, &r, &e) < 0)
		return fail(&e);
	int code = cprof_recorder_start(r, &e);
	code = code < 0 ? code : cprof_recorder_snapshot(r, &e);
	code = code < 0 ? code : write_it(r, argv[2], &e);
	if (code == 0)
		print_counts(r);
	cprof_recorder_free(r);
	return code < 0 ? fail(&e) : 0;
}
