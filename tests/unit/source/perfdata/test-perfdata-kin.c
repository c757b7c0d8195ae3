/* Files of other versions of perf and related tools: attrs of all sizes, folders with a file per
 * CPU, simpleperf's records. */
#include "tests/unit/tap.h"

#include "base/err.h"
#include "source/perfdata/perfdata.h"
#include "source/record.h"
#include "tests/unit/source/perfdata-build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static const struct perf_event_attr attr = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000,
	.sample_type = SAMPLE_TYPE, .sample_id_all = 1,
};

struct got {
	uint64_t times[64];
	size_t n_samples;
	int code;
	struct err e;
	struct perfdata_info info;
	struct source_losses losses;
};

static void read_fd(int fd, struct got *g)
{
	struct source *s = NULL;
	struct record r;
	*g = (struct got){ 0 };
	g->code = perfdata_open(fd, "x.data", NULL, &s, &g->e);
	if (g->code < 0)
		return;
	while ((g->code = source_next(s, &r, &g->e)) == SOURCE_RECORD)
		if (r.type == PERF_RECORD_SAMPLE && g->n_samples < 64)
			g->times[g->n_samples++] = r.time_ns;
	g->info = *perfdata_info(s);
	g->losses = s->losses;
	source_close(s);
}

static void read_bytes(const struct build *b, struct got *g)
{
	int fd = memfd_create("perfdata", MFD_CLOEXEC);
	if (fd < 0 || write(fd, b->v, b->n) != (ssize_t)b->n || lseek(fd, 0, SEEK_SET) != 0)
		exit(99);
	read_fd(fd, g);
	close(fd);
}

static void sample(struct build *b, uint64_t id, uint64_t time_ns)
{
	size_t at = begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	u64(b, id);
	u64(b, 0x401000);
	u32(b, 1), u32(b, 1);
	u64(b, time_ns);
	end(b, at);
}

/* ---- attrs of all sizes -------------------------------------------------------------- */

/* Like put_attr, but from a kernel whose attr has n_bytes; its last bytes are all set. */
static void sized_attr(struct build *b, size_t n_bytes, bool fill)
{
	size_t at = b->n, n;
	put_attr(b, &attr);
	n = b->n;
	b->n = at + 4;
	u32(b, (uint32_t)n_bytes);
	b->n = n;
	if (n_bytes > ATTR_BYTES)
		zeros(b, n_bytes - ATTR_BYTES);
	if (fill)
		memset(b->v + at + ATTR_BYTES, 0xff, n_bytes - ATTR_BYTES);
	b->n = at + n_bytes;
}

static void sized_file(struct build *b, size_t n_bytes, bool fill)
{
	put_magic(b);
	u64(b, HEADER_BYTES);
	u64(b, n_bytes + 16);
	u64(b, HEADER_BYTES);
	u64(b, n_bytes + 16);
	u64(b, HEADER_BYTES + n_bytes + 16);
	u64(b, 32 * 2);
	zeros(b, 16 + 32);
	sized_attr(b, n_bytes, fill);
	zeros(b, 16);                  /* no ids */
}

static void sized_stream(struct build *b, size_t n_bytes, bool fill)
{
	put_magic(b);
	u64(b, 16);
	size_t at = begin(b, 64, 0);   /* HEADER_ATTR */
	sized_attr(b, n_bytes, fill);
	u64(b, 100);
	end(b, at);
}

static void test_attr_sizes(void)
{
/* PERF_ATTR_SIZE_VER0 to VER8, and two future ones */
	static const size_t size[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 256 };
	static struct build b;
	struct got g;
	for (size_t i = 0; i < sizeof(size) / sizeof(*size) * 4; i++) {
		size_t n = size[i / 4];
		b.n = 0;
		b.swap = i & 1;
		if (i & 2)
			sized_stream(&b, n, n > ATTR_BYTES);
		else
			sized_file(&b, n, n > ATTR_BYTES);
		sample(&b, 100, 10);
		sample(&b, 100, 20);
		if (!(i & 2))
			patch(&b, DATA_SECTION_AT + 8, b.n - HEADER_BYTES - n - 16);
		read_bytes(&b, &g);
		bool is_newer = n > sizeof(struct perf_event_attr);
		tap_ok(g.code == SOURCE_END && g.n_samples == 2 && g.times[1] == 20 &&
		       g.info.counts.n_newer_attrs == is_newer,
		       "attr of %zu bytes, %s, %s byte order: %zu samples, %llu newer attrs%s", n,
		       i & 2 ? "stream" : "file", i & 1 ? "other" : "own", g.n_samples,
		       (unsigned long long)g.info.counts.n_newer_attrs, g.e.what);
	}
}

/* ---- unknown features ------------------------------------------------------------------ */

static void test_unknown_features(void)
{
	static struct build b;
	struct got g;
	begin_file(&b, &attr, 1);
	sample(&b, 100, 10);
	finish_data(&b, 1, 1u << 3);
	b.v[FEATURES_AT + 128 / 8] |= 1u << 1;   /* simpleperf's META_INFO */
	b.v[FEATURES_AT + 200 / 8] |= 1u << 3;
	size_t table = b.n;
	zeros(&b, 3 * 16);
	for (size_t i = 0; i < 3; i++) {
		patch(&b, table + i * 16, b.n);
		patch(&b, table + i * 16 + 8, 68);
		string(&b, "somewhere");
	}
	read_bytes(&b, &g);
	tap_ok(g.code == SOURCE_END && g.n_samples == 1 && g.info.counts.n_unknown_features == 1 &&
	       g.info.counts.n_bad_features == 0,
	       "unknown header sections are skipped and counted, those of simpleperf are known");
}

/* ---- simpleperf ---------------------------------------------------------------------- */

static size_t begin_simpleperf(struct build *b, uint32_t type, uint32_t n_bytes)
{
	size_t at = b->n;
	u32(b, type);
	u16(b, (uint16_t)(n_bytes >> 16));
	u16(b, (uint16_t)n_bytes);
	return at;
}

static void test_simpleperf(void)
{
	static struct build b;
	struct got g;
	for (unsigned swap = 0; swap < 2; swap++) {
		b.n = 0;
		b.swap = swap;
		begin_file(&b, &attr, 1);
		begin_simpleperf(&b, 32769, 8 + 40000);    /* KERNEL_SYMBOL */
		memset(b.v + b.n, 'x', 40000);
		b.n += 40000;
		sample(&b, 100, 10);
		begin_simpleperf(&b, 32774, 8 + 8 + 16);   /* EVENT_ID: another id of event 0 */
		u64(&b, 1), u64(&b, 0), u64(&b, 777);
		sample(&b, 777, 20);
		begin_simpleperf(&b, 32777, 8 + 4096);     /* TRACING_DATA */
		zeros(&b, 4096);
		sample(&b, 100, 30);
		begin_simpleperf(&b, 32775, 65536 + 4096); /* cut off */
		finish_data(&b, 1, 0);
		b.swap = swap;
		read_bytes(&b, &g);
		tap_ok(g.code == -EINVAL && g.n_samples == 3 && g.times[2] == 30 &&
		       g.info.counts.n_skipped == 2 && strstr(g.e.what, "ends within a record"),
		       "simpleperf's records are skipped by their 32-bit size: %zu samples, "
		       "%llu skipped; %s", g.n_samples, (unsigned long long)g.info.counts.n_skipped,
		       g.e.what);
	}
	static struct build large;
	int fd = memfd_create("perfdata", MFD_CLOEXEC);
	begin_file(&large, &attr, 1);
	size_t n_large = 8 + 200000;
	begin_simpleperf(&large, 32769, (uint32_t)n_large);
	size_t before = large.n;
	sample(&large, 100, 10);
	patch(&large, DATA_SECTION_AT + 8,
	      large.n + n_large - 8 - HEADER_BYTES - (ATTR_BYTES + 32));
	if (fd < 0 || write(fd, large.v, before) != (ssize_t)before ||
	    lseek(fd, (off_t)n_large - 8, SEEK_CUR) < 0 ||
	    write(fd, large.v + before, large.n - before) != (ssize_t)(large.n - before) ||
	    lseek(fd, 0, SEEK_SET) != 0)
		exit(99);
	read_fd(fd, &g);
	close(fd);
	tap_ok(g.code == SOURCE_END && g.n_samples == 1 && g.info.counts.n_skipped == 1,
	       "and one of 200 kB");
}

/* ---- folders ------------------------------------------------------------------------- */

static void put_file(int folder, const char *name, const struct build *b)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, b->v, b->n) != (ssize_t)b->n)
		exit(99);
	close(fd);
}

static void test_folder(void)
{
	char path[] = "/tmp/test-perfdata-kin.XXXXXX";
	static struct build header, b;
	struct got g;
	int folder = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (folder < 0)
		exit(99);
	read_fd(folder, &g);
	tap_ok(g.code == -EISDIR && g.e.hint[0], "a folder without data is refused: %s", g.e.what);
	begin_file(&header, &attr, 1);
	finish_data(&header, 1, 0);
	put_file(folder, "data", &header);
	for (uint64_t k = 0; k < 3; k++) {
		b.n = 0;
		for (uint64_t i = 0; i < 10; i++)
			sample(&b, 100, 1 + k + 3 * i);
		if (k == 1)
			b.n -= 8;   /* cut off within its last record */
		put_file(folder, k == 0 ? "data.0" : k == 1 ? "data.1" : "data.2", &b);
	}
	read_fd(folder, &g);
	size_t n_wrong = 0;
	for (size_t i = 1; i < g.n_samples; i++)
		n_wrong += g.times[i] <= g.times[i - 1];
	tap_ok(g.n_samples == 29 && n_wrong == 0 && g.info.n_files == 4,
	       "the files of a folder are merged into one order: %zu samples", g.n_samples);
	tap_ok(g.code == -EINVAL && strstr(g.e.what, "x.data/data.1"),
	       "a truncated one is named, and the others are read: %s", g.e.what);
	unlinkat(folder, "data", 0);
	unlinkat(folder, "data.0", 0);
	unlinkat(folder, "data.1", 0);
	unlinkat(folder, "data.2", 0);
	close(folder);
	rmdir(path);
}

int main(void)
{
	test_attr_sizes();
	test_unknown_features();
	test_simpleperf();
	test_folder();
	return tap_done();
}
