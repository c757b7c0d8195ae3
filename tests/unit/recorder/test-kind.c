/* A kind of recorder of its own, through the public interface up to the file. */
#include "base/err.h"
#include "cprof.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "tests/unit/recorder/kind-table.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_ROWS 5
#define MS UINT64_C(1000000)

static struct err e;
static pid_t self;
static char path[64];

static void __attribute__((noinline)) lock_queue(void)
{
	__asm__ volatile("nop; nop" ::: "memory");
}

static void __attribute__((noinline)) lock_cache(void)
{
	__asm__ volatile("nop; nop; nop" ::: "memory");
}

static void __attribute__((noinline)) serve(void)
{
	lock_queue();
	lock_cache();
	__asm__ volatile("nop; nop; nop; nop" ::: "memory");
}

static struct kind_table_wait row[N_ROWS];

static void begin(size_t n_rows)
{
	char *in_serve = (char *)serve + 2;
	row[0] = (struct kind_table_wait){ (char *)lock_queue + 1, in_serve, 1, 10 * MS, "queue" };
	row[1] = (struct kind_table_wait){ (char *)lock_cache + 1, in_serve, 3, 5 * MS, "cache" };
	row[2] = (struct kind_table_wait){ (char *)lock_queue + 1, in_serve, 2, 20 * MS, "queue" };
	row[3] = (struct kind_table_wait){ (char *)lock_queue + 1, in_serve, 7, 70 * MS, "queue" };
	row[4] = (struct kind_table_wait){ (char *)lock_cache + 1, in_serve, 9, 90 * MS, "cache" };
	kind_table.row = row;
	kind_table.n_rows = n_rows;
	kind_table.all_delay_ns = 70 * MS;
}

static struct cprof_config plain(void)
{
	return (struct cprof_config){ .kind = kind_table_recorder(), .pid = &self, .n_pids = 1 };
}

static struct cprof_recorder *start(const struct cprof_config *c)
{
	struct cprof_recorder *r = NULL;
	if (cprof_recorder_new(c, &r, &e) < 0 || cprof_recorder_start(r, &e) < 0)
		printf("# %s\n", e.what);
	return r;
}

/* Writes the file and reads it back; profile_free. */
static struct profile *written(struct cprof_recorder *r)
{
	struct profile *p = NULL;
	size_t n_errors = 1;
	if (cprof_recorder_write_file(r, 0, path, &e) < 0 || profile_read_file(path, &p, &e) < 0) {
		printf("# %s\n", e.what);
		return NULL;
	}
	if (pprof_check(p, PPROF_CONSUMER_ALL, NULL, NULL, &n_errors, NULL) < 0 || n_errors)
		printf("# %zu errors\n", n_errors);
	unlink(path);
	return p;
}

static bool has_label(const struct profile_sample *s, const char *key, const char *value)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (!strcmp(s->label[i].key, key) && s->label[i].str &&
		    !strcmp(s->label[i].str, value))
			return true;
	return false;
}

/* The value of type 0 or 1 of samples in a function with that lock; -1: no profile. */
static int64_t value_of(const struct profile *p, const char *function, const char *lock,
			size_t type)
{
	int64_t sum = p ? 0 : -1;
	for (size_t i = 0; p && i < p->n_samples; i++) {
		const struct profile_sample *s = &p->sample[i];
		if (has_label(s, "lock", lock) && has_label(s, "state", "blocked") &&
		    s->n_locations == 2 && s->location[0]->n_lines && s->location[1]->n_lines &&
		    !strcmp(s->location[0]->line[0].function->name, function) &&
		    !strcmp(s->location[1]->line[0].function->name, "serve"))
			sum += s->value[type];
	}
	return sum;
}

static bool has_comment(const struct profile *p, const char *text)
{
	for (size_t i = 0; p && i < p->n_comments; i++)
		if (strstr(p->comment[i], text))
			return true;
	return false;
}

static void test_profile(void)
{
	begin(3);
	struct cprof_config c = plain();
	struct cprof_recorder *r = start(&c);
	if (!r)
		return;
	tap_str(cprof_kind_name(c.kind), "table", "the kind's name");
	tap_int(kind_table.n_open, 1, "it is open");
	tap_int((long long)cprof_recorder_n_events(r), 1, "its event is the recorder's");
	tap_int(cprof_recorder_find_event(r, "lock-waits"), 0, "and found by name");
	tap_int(cprof_recorder_find_event(r, "cpu-clock"), -ENOENT,
		"events of other kinds are not");
	tap_ok(!cprof_recorder_attr(r, 0), "it is no perf event");
	tap_int(cprof_recorder_step(r, 0, NULL, 0, NULL, &e), CPROF_RUNNING, "a step");
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	bool zero;
	tap_int(cprof_recorder_check(r, 0, &zero, &e), 0, "there are samples");
	struct cprof_event_stats ev;
	cprof_recorder_event_stats(r, 0, &ev);
	tap_ok(ev.n_samples == 6 && ev.value == 35 * MS, "counts and amounts are the table's");
	tap_int((int)cprof_coverage_percent(r, 0), 50, "coverage follows the kind's own account");

	struct profile *p = written(r);
	tap_ok(p && p->n_sample_types == 2 && !strcmp(p->sample_type[0].type, "contentions") &&
		       !strcmp(p->sample_type[0].unit, "count") &&
		       !strcmp(p->sample_type[1].type, "delay") &&
		       !strcmp(p->sample_type[1].unit, "nanoseconds"),
	       "the file has the kind's two sample types");
	tap_str(p ? p->default_sample_type : NULL, "delay", "the second is the default");
	tap_int(value_of(p, "lock_queue", "queue", 0), 3, "contentions of one stack and lock");
	tap_int(value_of(p, "lock_queue", "queue", 1), 30 * (long long)MS, "and their delay");
	tap_int(value_of(p, "lock_cache", "cache", 0), 3, "contentions of another");
	tap_int(value_of(p, "lock_cache", "cache", 1), 5 * (long long)MS, "and their delay");
	tap_ok(has_comment(p, "coverage: samples cover 50.0 %"), "the coverage is in the file");
	profile_free(p);
	cprof_recorder_free(r);
	tap_int(kind_table.n_open, 0, "the kind is closed with its recorder");
}

static void test_windows(void)
{
	begin(1);
	struct cprof_config c = plain();
	c.pausable = true;
	struct cprof_recorder *r = start(&c);
	if (!r)
		return;
	tap_int(cprof_recorder_snapshot(r, &e), 0, "a snapshot");
	struct profile *p = written(r);
	tap_int(value_of(p, "lock_queue", "queue", 0), 1, "it has the first row");
	profile_free(p);
	tap_int(cprof_recorder_clear(r, &e), 0, "cleared");
	kind_table.n_rows = 3;
	tap_int(cprof_recorder_snapshot(r, &e), 0, "another snapshot");
	p = written(r);
	tap_int(value_of(p, "lock_queue", "queue", 0), 2, "it has what came since");
	tap_int(value_of(p, "lock_cache", "cache", 1), 5 * (long long)MS, "of all rows");
	profile_free(p);
	tap_int(cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e), -EOPNOTSUPP,
		"a source that cannot pause says so");
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	cprof_recorder_free(r);
}

static void test_slices(void)
{
	begin(3);
	struct cprof_config c = plain();
	c.keep_last_ns = 200 * MS;
	struct cprof_recorder *r = start(&c);
	if (!r)
		return;
	cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
	for (int i = 0; i < 60; i++)
		cprof_recorder_step(r, 10, NULL, 0, NULL, &e);
	kind_table.n_rows = N_ROWS;
	cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	struct profile *p = written(r);
	tap_int(value_of(p, "lock_queue", "queue", 0), 7, "only the last slices are kept");
	tap_int(value_of(p, "lock_cache", "cache", 1), 90 * (long long)MS, "with both values");
	profile_free(p);
	cprof_recorder_free(r);
}

static void test_refusals(void)
{
	begin(0);
	const char *const event[] = { "cpu-clock" };
	struct cprof_config c = plain();
	struct cprof_recorder *r = NULL;
	c.event = event;
	c.n_events = 1;
	tap_int(cprof_recorder_new(&c, &r, &e), -EINVAL, "the kind checks the request");
	tap_ok(e.is_usage && strstr(e.what, "table"), "as wrong usage");
	tap_int(kind_table.n_open, 0, "and is closed");
	c = plain();
	const pid_t twice[] = { self, self };
	c.pid = twice;
	c.n_pids = 2;
	tap_int(cprof_recorder_new(&c, &r, &e), -EINVAL, "targets are checked as for all kinds");
	tap_int(kind_table.n_open, 0, "the kind is closed then, too");

	c = plain();
	r = start(&c);
	if (!r)
		return;
	bool zero = true;
	cprof_recorder_stop(r, &e);
	tap_int(cprof_recorder_check(r, 0, &zero, &e), -ENODATA, "no row, no sample");
	tap_ok(strstr(e.what, "no thread waited") && !zero, "the kind says why");
	cprof_recorder_free(r);
}

int main(void)
{
	self = getpid();
	snprintf(path, sizeof(path), "/tmp/test-kind-%d.pb.gz", self);
	serve();
	test_profile();
	test_windows();
	test_slices();
	test_refusals();
	return tap_done();
}
