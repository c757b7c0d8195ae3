/* A kind of recorder whose profile is a snapshot, through the public interface up to the file. */
#include "base/clock.h"
#include "base/err.h"
#include "cprof-snapshot.h"
#include "engine/engine.h"
#include "profile/export.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "recorder/kind.h"
#include "recorder/kinds/snapshotkind.h"
#include "snapshot/remaps.h"
#include "snapshot/snapshot.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct snapshot shot;
static struct err e;

static void __attribute__((noinline)) wait_here(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop" ::: "memory");
}

/* ---- the kind: two threads, of which one has a stack ---------------------------------------- */

static int choose(struct kind_session *k, struct err *why)
{
	static const struct export_number number[] = { { SNAPSHOT_WAIT, "nanoseconds" } };
	return snapshotkind_choose(k, "threads", number, 1, 1, why);
}

static int take(struct kind_session *k, struct engine *g, struct err *why)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, (uintptr_t)wait_here + 1 };
	struct record r = {
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .has_time = true,
		.time_ns = clock_monotonic_ns(), .pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.sample = { .ip = chain[1], .callchain = chain, .n_callchain = 2 },
	};
	struct snapshot_stack stack;
	(void)why;
	if (!shot.engine)
		snapshot_init(&shot, g);
	snapshot_begin(&shot);
	remaps_read(g, k->host, r.pid, NULL);
	snapshot_unwind(&shot, procs_process(&g->procs, r.pid), &r, &stack);
	struct snapshot_entry entry = {
		.quality = SNAPSHOT_EXACT, .pid = r.pid, .id = 1001, .stack = stack.id,
		.name = strtab_add_cstr(&g->strings, "first"), .wait_ns = 4000,
	};
	snapshot_add(&shot, &entry);
	entry.id = 1002;
	entry.stack = snapshot_no_stack(&shot);
	entry.quality = SNAPSHOT_UNKNOWN;
	entry.wait_ns = SNAPSHOT_WAIT_UNKNOWN;
	shot.n_lost[SNAPSHOT_LOST_MOVING]++;
	snapshot_add(&shot, &entry);
	shot.from_ns = 10;
	shot.to_ns = 30;
	snapshot_count(&shot);
	k->snapshot = &shot;
	return 0;
}

static void close_kind(struct kind_session *k)
{
	snapshot_done(&shot);
	snapshotkind_close(k);
}

static const struct cprof_kind kind = {
	.name = "threads", .choose = choose, .open = snapshotkind_open, .snapshot = take,
	.coverage_percent = snapshotkind_coverage, .close = close_kind,
};

/* ---- what the public interface shows of it --------------------------------------------------- */

static bool find_function(void *ctx, const struct cprof_snapshot_frame *f)
{
	bool *found = ctx;
	*found |= strcmp(f->function, "wait_here") == 0 && strstr(f->mapping, "test-recorder") &&
		  f->address;
	return true;
}

static uint64_t count_named(const struct cprof_recorder *r, const char *wanted,
			    const char *(*each)(const struct cprof_recorder *, size_t, uint64_t *))
{
	const char *name;
	uint64_t n;
	for (size_t i = 0; (name = each(r, i, &n)); i++)
		if (strstr(name, wanted))
			return n;
	return UINT64_MAX;
}

static void test_entries(struct cprof_recorder *r)
{
	struct cprof_snapshot_entry a, b;
	struct cprof_snapshot_label l;
	struct cprof_snapshot_window w;
	bool found = false, has_wait = false;
	tap_int((long long)cprof_snapshot_n_entries(r), 2, "two entries");
	cprof_snapshot_entry(r, 0, &a);
	cprof_snapshot_entry(r, 1, &b);
	tap_ok(a.id == 1001 && a.has_wait && a.wait_ns == 4000 && !strcmp(a.name, "first"),
	       "the first one");
	tap_ok(b.id == 1002 && !b.has_wait && b.stack != a.stack && !strcmp(b.quality, "unknown"),
	       "the second one");
	for (size_t k = 0; k < a.n_labels; k++) {
		cprof_snapshot_label(r, 0, k, &l);
		has_wait |= !strcmp(l.key, "wait") && !strcmp(l.text, "4000") && l.unit &&
			    !strcmp(l.unit, "nanoseconds");
	}
	tap_ok(has_wait, "its label wait is a number with a unit");
	cprof_snapshot_frames(r, a.stack, find_function, &found);
	tap_ok(found, "its frame has a name and a file");
	cprof_snapshot_window(r, &w);
	tap_ok(w.from_ns == 10 && w.to_ns == 30, "the window");
	tap_int((long long)count_named(r, "exact", cprof_snapshot_quality), 1, "one is exact");
	tap_int((long long)count_named(r, "moving", cprof_snapshot_loss), 1, "one was lost");
}

static bool has_number(const struct profile *p)
{
	for (size_t i = 0; i < p->n_samples; i++)
		for (size_t k = 0; k < p->sample[i].n_labels; k++)
			if (!strcmp(p->sample[i].label[k].key, "wait") &&
			    p->sample[i].label[k].num == 4000)
				return p->sample[i].value[0] == 1 && p->sample[i].value[1] == 4000;
	return false;
}

static void test_file(struct cprof_recorder *r)
{
	char path[64];
	struct profile *p = NULL;
	size_t n_errors = 1;
	snprintf(path, sizeof(path), "/tmp/test-recorder-snapshot.%d", (int)getpid());
	if (!tap_ok(cprof_recorder_write_file(r, 0, path, &e) == 0 &&
		    profile_read_file(path, &p, &e) == 0, "a file"))
		return;
	unlink(path);
	tap_ok(pprof_check(p, PPROF_CONSUMER_ALL, NULL, NULL, &n_errors, NULL) == 0 && !n_errors,
	       "that all tools can read");
	tap_int((long long)p->n_samples, 2, "each entry is a sample");
	tap_str(p->default_sample_type, "threads", "their number is shown first");
	tap_ok(has_number(p), "with its wait as a number");
	profile_free(p);
}

int main(void)
{
	pid_t self = getpid();
	const struct cprof_config c = { .kind = &kind, .pid = &self, .n_pids = 1 };
	struct cprof_recorder *r = NULL;
	if (!tap_ok(cprof_recorder_new(&c, &r, &e) == 0 && cprof_recorder_start(r, &e) == 0,
		    "a recorder of this kind"))
		return tap_done();
	tap_int(cprof_snapshot_names(r, &e), -EINVAL, "before the snapshot there are no names");
	tap_ok(cprof_recorder_snapshot(r, &e) == 0 && cprof_snapshot_names(r, &e) == 0,
	       "a snapshot");
	test_entries(r);
	test_file(r);
	cprof_recorder_free(r);
	return tap_done();
}
