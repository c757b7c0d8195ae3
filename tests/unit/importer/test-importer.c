/* From the bytes of a perf.data file to the names of the profiles, and a profile. */
#include "tests/unit/tap.h"

#include "base/err.h"
#include "cprof-import.h"
#include "cprof-losses.h"
#include "tests/unit/source/perfdata-build.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* Replaces the C library's function: NULL for one text. */
static const char *refused_copy;

char *strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = refused_copy && strcmp(s, refused_copy) == 0 ? NULL : malloc(n);
	return copy ? memcpy(copy, s, n) : NULL;
}

static int memory_file(const void *data, size_t n_bytes, char path[64])
{
	int fd = memfd_create("perfdata", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, n_bytes) != (ssize_t)n_bytes) {
		perror("memfd");
		exit(99);
	}
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static int open_import(const void *data, size_t n_bytes, struct cprof_importer **ret, struct err *e)
{
	static char path[64];   /* borrowed by the importer */
	int fd = memory_file(data, n_bytes, path);
	struct cprof_import_config config = { .path = path };
	int r = cprof_importer_new(&config, ret, e);
	close(fd);
	return r;
}

/* A file with n events of the same raw code, and no records. */
static void *equal_events(size_t n, size_t *ret_bytes)
{
	struct build *header = calloc(1, sizeof(*header));
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = 1, .sample_period = 1,
					.sample_type = SAMPLE_TYPE };
	begin_file(header, &attr, 1);
	size_t entry = ATTR_BYTES + 16, ids_at = HEADER_BYTES, attrs_at = ids_at + 16;
	uint64_t n_attr_bytes = n * entry, data_at = attrs_at + n_attr_bytes;
	memcpy(header->v + 32, &n_attr_bytes, 8);
	memcpy(header->v + DATA_SECTION_AT, &data_at, 8);
	char *data = malloc(data_at);
	memcpy(data, header->v, attrs_at);
	for (size_t i = 0; i < n; i++)
		memcpy(data + attrs_at + i * entry, header->v + attrs_at, entry);
	free(header);
	*ret_bytes = data_at;
	return data;
}

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_equal_names(void)
{
	enum { N = 4000 };
	struct cprof_importer *m = NULL;
	struct cprof_event_stats ev;
	struct err e = { 0 };
	size_t n_bytes;
	void *data = equal_events(N, &n_bytes);
	double begin_s = cpu_seconds();
	int r = open_import(data, n_bytes, &m, &e);
	tap_int(r, 0, "4000 events of one name are opened");
	tap_ok(cpu_seconds() - begin_s < 5, "in little time: %.3f s", cpu_seconds() - begin_s);
	free(data);
	if (r < 0)
		return;
	tap_int((long long)cprof_importer_n_events(m), N, "the importer has all 4000 events");
	bool in_order = true;
	for (size_t i = 0; i < N; i++) {
		char want[32] = "r1";
		if (i)
			snprintf(want, sizeof(want), "r1-%zu", i + 1);
		cprof_importer_event_stats(m, i, &ev);
		in_order &= strcmp(ev.file_part, want) == 0 && strcmp(ev.name, "r1") == 0;
	}
	tap_ok(in_order, "each has a file of its own: r1, r1-2, r1-3 ...");
	cprof_importer_free(m);
}

static void test_no_memory(void)
{
	struct cprof_importer *m = NULL;
	struct err e = { 0 };
	size_t n_bytes;
	void *data = equal_events(1, &n_bytes);
	refused_copy = "/usr/lib/debug";
	int r = open_import(data, n_bytes, &m, &e);
	refused_copy = NULL;
	tap_int(r, -ENOMEM, "no memory for a folder's name is an error, not a shorter list");
	if (r == 0)
		cprof_importer_free(m);
	free(data);
}

static int count_bytes(void *ctx, const void *data, size_t n_bytes)
{
	(void)data;
	*(size_t *)ctx += n_bytes;
	return 0;
}

static void test_profile(void)
{
	struct build *b = calloc(1, sizeof(*b));
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .freq = 1, .sample_freq = 99,
					.sample_type = SAMPLE_TYPE };
	struct cprof_importer *m = NULL;
	struct cprof_event_stats ev;
	struct cprof_losses losses;
	struct err e = { 0 };
	size_t n_written = 0;
	begin_file(b, &attr, 1);
	size_t at = begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	u64(b, 100), u64(b, 0x401000), u32(b, 7), u32(b, 7), u64(b, 1000);
	end(b, at);
	finish_data(b, 1, 0);
	int r = open_import(b->v, b->n, &m, &e);
	free(b);
	tap_int(r, 0, "a file with one sample is opened");
	if (r < 0)
		return;
	tap_int(cprof_importer_run(m, &e), 0, "and read");
	cprof_importer_event_stats(m, 0, &ev);
	tap_int((long long)ev.n_samples, 1, "it has one sample");
	tap_int(cprof_importer_write(m, 0, count_bytes, &n_written, &e), 0, "a profile is written");
	tap_ok(n_written > 20, "of %zu bytes", n_written);
	cprof_importer_losses(m, &losses);
	tap_int((long long)losses.n[cprof_loss_row("unknown_pc")], 1, "its address is in no map");
	cprof_importer_free(m);
}

/* The times of LOST_SAMPLES records. */
#define BY_KERNEL 2000
#define BY_PERF 0

static void lost_record(struct build *b, uint32_t type, uint16_t misc, uint64_t n, uint64_t time_ns)
{
	size_t at = begin(b, type, misc);
	if (type == PERF_RECORD_LOST)
		u64(b, 100);
	u64(b, n);
	u32(b, 7), u32(b, 7), u64(b, time_ns), u64(b, 100);
	end(b, at);
}

/* A file with one sample, 12 records lost in the ring, and these LOST_SAMPLES records. */
struct lost_case {
	bool has_counter;             /* PERF_FORMAT_LOST */
	struct {
		uint16_t misc;
		uint64_t n, time_ns;
	} record[3];
	uint64_t want;
	const char *title;
};

static void test_lost(const struct lost_case *t)
{
	struct build *b = calloc(1, sizeof(*b));
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .freq = 1, .sample_freq = 99,
					.sample_type = SAMPLE_TYPE, .sample_id_all = 1,
					.read_format = t->has_counter ? 1u << 4 : 0 };
	struct cprof_importer *m = NULL;
	struct cprof_event_stats ev;
	struct err e = { 0 };
	begin_file(b, &attr, 1);
	size_t at = begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	u64(b, 100), u64(b, 0x401000), u32(b, 7), u32(b, 7), u64(b, 1000);
	end(b, at);
	lost_record(b, PERF_RECORD_LOST, 0, 12, 1500);
	for (int i = 0; i < 3; i++)
		if (t->record[i].n)
			lost_record(b, PERF_RECORD_LOST_SAMPLES, t->record[i].misc,
				    t->record[i].n, t->record[i].time_ns);
	finish_data(b, 1, 0);
	int r = open_import(b->v, b->n, &m, &e);
	free(b);
	if (r < 0 || cprof_importer_run(m, &e) < 0) {
		tap_ok(false, "%s: %s", t->title, e.what);
		return;
	}
	cprof_importer_event_stats(m, 0, &ev);
	tap_int((long long)ev.n_lost, (long long)t->want, t->title);
	cprof_importer_free(m);
}

static void test_losses(void)
{
	static const struct lost_case list[] = {
		{ false, { { 0 } }, 12, "samples lost by the ring" },
		{ false, { { 0, 5, BY_KERNEL } }, 17, "samples lost by the ring and by the PMU" },
		{ true, { { 0, 10, BY_PERF } }, 10, "perf's counter replaces LOST records" },
		{ true, { { 0, 5, BY_KERNEL }, { 0, 10, BY_PERF }, { 0, 1, BY_PERF } }, 16,
		  "perf's counters of two CPUs, and losses of the PMU" },
		{ true, { { 0, 5, BY_KERNEL } }, 17, "perf ended without writing its counter" },
		{ true, { { 1u << 15, 900, BY_PERF } }, 12,
		  "samples that a BPF filter left out are not lost" },
	};
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		test_lost(&list[i]);
}

/* ---- several readers --------------------------------------------------------------------- */

struct text { char *v; size_t n; };

static int append(void *ctx, const void *data, size_t n_bytes)
{
	struct text *t = ctx;
	t->v = realloc(t->v, t->n + n_bytes);
	memcpy(t->v + t->n, data, n_bytes);
	t->n += n_bytes;
	return 0;
}

#define CHAIN_TYPE (SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN)

static void put_thread_record(struct build *b, uint32_t type, uint32_t tid, uint64_t time_ns)
{
	size_t at = begin(b, type, PERF_RECORD_MISC_USER);
	switch (type) {
	case PERF_RECORD_SAMPLE:
		u64(b, 100), u64(b, 0x401000 + tid % 5), u32(b, 7), u32(b, tid), u64(b, time_ns);
		u64(b, 3), u64(b, (uint64_t)PERF_CONTEXT_USER);
		u64(b, 0x401000 + tid % 5), u64(b, 0x402000 + time_ns % 11);
		break;
	case PERF_RECORD_COMM:
		u32(b, 7), u32(b, tid), u64(b, time_ns % 2 ? 0x61616161 : 0x62626262);
		u32(b, 7), u32(b, tid), u64(b, time_ns), u64(b, 100);
		break;
	default:
		u32(b, 7), u32(b, 7), u32(b, tid), u32(b, 7), u64(b, time_ns);
		u32(b, 7), u32(b, tid), u64(b, time_ns), u64(b, 100);
	}
	end(b, at);
}

/* Threads that are born and renamed between their samples; the last record may be cut. */
static struct build *threads_file(size_t n_cut)
{
	struct build *b = calloc(1, sizeof(*b));
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .freq = 1, .sample_freq = 99,
					.sample_type = CHAIN_TYPE, .sample_id_all = 1 };
	begin_file(b, &attr, 1);
	for (uint64_t i = 0; i < 600; i++) {
		uint32_t tid = 7 + (uint32_t)(i * i) % 13;
		if (i % 29 == 3)
			put_thread_record(b, PERF_RECORD_FORK, tid, 1000 + i);
		else if (i % 17 == 5)
			put_thread_record(b, PERF_RECORD_COMM, tid, 1000 + i);
		else
			put_thread_record(b, PERF_RECORD_SAMPLE, tid, 1000 + i);
	}
	finish_data(b, 1, 0);
	b->n -= n_cut;
	return b;
}

/* The profile by n readers; *ret_code: of the run. */
static struct text profile_by(const struct build *b, uint32_t n, int *ret_code)
{
	struct cprof_importer *m = NULL;
	struct text text = { .n = 0 };
	struct err e = { 0 };
	char path[64];
	int fd = memory_file(b->v, b->n, path);
	const struct timespec modified[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct cprof_import_config config = { .path = path, .n_readers = n };
	futimens(fd, modified);
	*ret_code = cprof_importer_new(&config, &m, &e);
	if (*ret_code == 0) {
		*ret_code = cprof_importer_run(m, &e);
		cprof_importer_write(m, 0, append, &text, &e);
		cprof_importer_free(m);
	}
	close(fd);
	return text;
}

/* The comment with the file's name has the descriptor's number, which is the same in all runs. */
static void test_readers(size_t n_cut, const char *what)
{
	static const uint32_t n[] = { 2, 4, 7, CPROF_READERS_AUTO };
	struct build *b = threads_file(n_cut);
	int code, want_code;
	struct text one = profile_by(b, 1, &want_code);
	tap_ok(one.n > 600 && (want_code < 0) == (n_cut > 0), "%s, one reader: %zu bytes", what,
	       one.n);
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		struct text text = profile_by(b, n[i], &code);
		tap_ok(code == want_code && text.n == one.n &&
		       memcmp(text.v, one.v, one.n) == 0, "%s: the same by %d", what, (int)n[i]);
		free(text.v);
	}
	free(one.v);
	free(b);
}

int main(void)
{
	test_readers(0, "threads that are born and renamed");
	test_readers(20, "a damaged file");
	test_equal_names();
	test_no_memory();
	test_profile();
	test_losses();
	return tap_done();
}
