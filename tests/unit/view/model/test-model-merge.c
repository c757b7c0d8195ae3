/* Many files: any number of threads writes the same profile, and a bad file leaves no trace. */

#include "base/err.h"
#include "base/membuf.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/model/model-merge.h"
#include "view/model/model.h"

#include <errno.h>
#include <unistd.h>

#define N_FILES 13

static char path[N_FILES][40];
static const char *paths[N_FILES];
static size_t n_paths;

static void add_bytes(const void *data, size_t n_bytes)
{
	char *p = path[n_paths];
	strcpy(p, "/tmp/test-model-merge.XXXXXX");
	int fd = mkstemp(p);
	if (fd < 0 || write(fd, data, n_bytes) != (ssize_t)n_bytes)
		abort();
	close(fd);
	paths[n_paths++] = p;
}

static void add_profile(const char *types, const char *const *line, size_t n)
{
	struct build b;
	build_profile(&b, types, line, n);
	add_bytes(b.sink.bytes.v, b.sink.bytes.n);
	build_done(&b);
}

#define ADD(types, ...) \
	add_profile(types, (const char *const[]){ __VA_ARGS__ }, \
		    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void remove_files(void)
{
	while (n_paths)
		unlink(path[--n_paths]);
}

static struct model *merged(const struct model_merge *how, const char *name)
{
	struct model *m = NULL;
	struct err e = { 0 };
	if (!tap_int(model_merge_files(paths, n_paths, how, &m, &e), 0, name))
		printf("# %s\n", e.what);
	return m;
}

static struct membuf bytes_of(const struct model *m)
{
	struct membuf b = { 0 };
	struct err e = { 0 };
	if (!m || model_write(m, membuf_write, &b, 1, &e) < 0)
		abort();
	return b;
}

static bool same_profile(const struct model *x, const struct model *y)
{
	struct membuf a = bytes_of(x), b = bytes_of(y);
	bool is_same = a.bytes.n == b.bytes.n && memcmp(a.bytes.v, b.bytes.v, a.bytes.n) == 0;
	VEC_FREE(&a.bytes);
	VEC_FREE(&b.bytes);
	return is_same;
}

static void add_varied(void)
{
	for (int i = 0; i < 6; i++) {
		char sample[64], other[64];
		snprintf(sample, sizeof(sample), "%d,%d f%d main ; tid=%d", i + 1, 10 * i, i % 4,
			 i);
		snprintf(other, sizeof(other), "1,%d g+h%d f%d main", i, i % 3, i);
		ADD(i % 2 ? "samples/count cpu/milliseconds" : "samples/count cpu/nanoseconds",
		    "5,7 main ; tid=1", sample, other);
	}
}

static void test_threads(void)
{
	static const uint32_t n_threads[] = { 2, 3, 6, 64 };
	add_varied();
	struct model *one = merged(&(struct model_merge){ .n_threads = 1 }, "one thread");
	struct model *read = NULL;
	struct err e = { 0 };
	tap_int(model_read_files(paths, n_paths, &read, &e), 0, "read without options");
	tap_ok(same_profile(one, read), "the same profile");
	for (size_t i = 0; i < sizeof(n_threads) / sizeof(*n_threads); i++) {
		struct model_merge how = { .n_threads = n_threads[i] };
		struct model *m = merged(&how, "several threads");
		tap_ok(same_profile(one, m), "%u threads: the same profile", n_threads[i]);
		tap_int(m->n_files, 6, "all files are counted");
		tap_int(m->duration_ns, 12000000000, "the durations are added");
		model_free(m);
	}
	model_free(one);
	model_free(read);
	remove_files();
}

struct seen { size_t n; bool at[N_FILES]; char text[200]; };

static void see(void *ctx, size_t index, const struct err *why)
{
	struct seen *s = ctx;
	s->n++;
	s->at[index] = true;
	snprintf(s->text, sizeof(s->text), "%.199s", why->what);
}

/* A profile that the test writes itself. */
static struct membuf raw;

static struct pprof *raw_begin(void)
{
	struct pprof *p = NULL;
	struct err e = { 0 };
	if (pprof_new(membuf_write, &raw, 1, &p, &e) < 0)
		abort();
	pprof_sample_type(p, "samples", "count");
	pprof_sample_type(p, "cpu", "nanoseconds");
	pprof_period(p, "cpu", "nanoseconds", 1000);
	return p;
}

static void raw_add(struct pprof *p)
{
	struct err e = { 0 };
	if (pprof_finish(p, &e) < 0)
		abort();
	pprof_free(p);
	add_bytes(raw.bytes.v, raw.bytes.n);
	VEC_FREE(&raw.bytes);
}

/* A file of more than a MiB, which threads read only when it is its turn. */
static void add_large(uint64_t seed)
{
	struct pprof *p = raw_begin();
	int64_t value[] = { 1, 1 };
	for (int i = 0; i < 130000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t id = pprof_location(p, 0, seed, NULL, 0, false);
		if (i % 1000 == 0)
			pprof_sample(p, &id, 1, value, 2, NULL, 0);
	}
	raw_add(p);
}

static void test_large(void)
{
	for (uint64_t i = 0; i < 4; i++) {
		add_large(i);
		ADD("samples/count cpu/nanoseconds", "5,7 main ; tid=1");
	}
	struct model *one = merged(&(struct model_merge){ 0 }, "large files, one thread");
	struct model *many = merged(&(struct model_merge){ .n_threads = 8 }, "and eight");
	tap_ok(same_profile(one, many), "the same profile");
	model_free(one);
	model_free(many);
	remove_files();
}

/* The last of its samples refers to a location that does not exist. */
static void add_damaged(void)
{
	struct pprof *p = raw_begin();
	pprof_comment(p, "of a damaged file");
	uint64_t f = pprof_function(p, &(struct pprof_function){ "f", "f", "f.c", 1 });
	struct pprof_line at = { f, 1, 0 };
	uint64_t good = pprof_location(p, 0, 0x1000, &at, 1, false), bad = 99;
	int64_t value[] = { 1, 1 };
	pprof_sample(p, &good, 1, value, 2, NULL, 0);
	pprof_sample(p, &bad, 1, value, 2, NULL, 0);
	raw_add(p);
}

static void add_many_labels(void)
{
	static struct pprof_label label[5000];
	int64_t value[] = { 1, 1 };
	struct pprof *p = raw_begin();
	pprof_sample(p, NULL, 0, value, 2, NULL, 0);
	for (size_t i = 0; i < 5000; i++)
		label[i] = (struct pprof_label){ "key", "value", 0, NULL };
	pprof_sample(p, NULL, 0, value, 2, label, 5000);
	raw_add(p);
}

static void test_skip(void)
{
	add_varied();
	struct model *good = merged(&(struct model_merge){ 0 }, "six good files");
	remove_files();
	add_bytes("junk", 4);                   /* 0 */
	add_varied();
	add_damaged();                          /* 7 */
	add_many_labels();                      /* 8 */
	ADD("samples/count alloc/bytes", "1,1 f");      /* 9 */
	paths[n_paths++] = strcpy(path[10], "/nowhere/at/all");
	for (uint32_t n = 1; n <= 4; n++) {
		struct seen s = { 0 };
		struct model_merge how = { .n_threads = n, .skip = see, .ctx = &s };
		struct model *m = merged(&how, "good and bad files");
		tap_ok(same_profile(good, m), "%u threads: bad files leave no trace", n);
		tap_ok(s.n == 5 && s.at[0] && s.at[7] && s.at[8] && s.at[9] && s.at[10],
		       "each of them is reported once");
		tap_ok(*s.text, "with a reason");
		model_free(m);
	}
	model_free(good);
	struct model *m = NULL;
	struct err e = { 0 };
	tap_int(model_merge_files(paths + 1, 7, &(struct model_merge){ .n_threads = 3 }, &m, &e),
		-EINVAL, "without skip, a bad file is an error");
	tap_ok(!m && strstr(e.what, paths[7]), "which names the file");
	struct seen s = { 0 };
	struct model_merge how = { .n_threads = 2, .skip = see, .ctx = &s };
	tap_int(model_merge_files(paths + 9, 1, &how, &m, &e), 0, "one file");
	model_free(m);
	m = NULL;
	tap_int(model_merge_files(paths + 10, 1, &how, &m, &e), 0, "no good file");
	tap_int(m->n_files, 0, "is an empty model");
	model_free(m);
	n_paths--;      /* nowhere */
	remove_files();
}

static const char *label_of(const struct model *m, uint32_t sample, const char *key)
{
	const struct model_labels *set = &m->labels[m->sample[sample].labels];
	for (uint32_t i = 0; i < set->n; i++)
		if (strcmp(model_string(m, m->label[set->first + i].key), key) == 0)
			return model_string(m, m->label[set->first + i].str);
	return "";
}

static void test_labels(void)
{
	static const char *const drop[] = { "tid", "pid" };
	ADD("samples/count", "1 f main ; tid=1 app=x", "2 f main ; tid=2 app=x", "4 g ; pid=3");
	ADD("samples/count", "8 f main ; app=x", "16 g", "32 g ; window=before");
	struct model_merge how = { .dropped_label = drop, .n_dropped_labels = 2 };
	struct model *m = merged(&how, "labels are dropped");
	tap_int(m->n_samples, 3, "samples that differed by them are one");
	tap_ok(model_value(m, 0, 0) == 11 && model_value(m, 1, 0) == 20, "their values are added");
	tap_ok(*label_of(m, 0, "app") == 'x' && !*label_of(m, 0, "tid"), "others stay");
	model_free(m);
	how.window_ns = 10000000000u;
	m = merged(&how, "windows are kept");
	tap_str(label_of(m, 0, "window"), "1970-01-01T00:00:00Z", "rounded down");
	tap_str(label_of(m, 1, "window"), "1970-01-01T00:00:00Z", "also without other labels");
	tap_str(label_of(m, 2, "window"), "before", "an earlier merge's stay");
	model_free(m);
	how.window_ns = 250000000u;
	how.n_threads = 2;
	m = merged(&how, "short windows");
	tap_str(label_of(m, 0, "window"), "1970-01-01T00:00:01.000Z", "have milliseconds");
	model_free(m);
	remove_files();
}

static void test_runs(void)
{
	struct model_merge how = { .numbers_runs = true };
	ADD("samples/count", "8 f main ; app=x", "16 g");
	ADD("samples/count", "32 g ; cprof::run=9");
	for (uint32_t n = 1; n <= 2; n++) {
		how.n_threads = n;
		struct model *m = merged(&how, "runs are numbered");
		tap_int(m->n_samples, 3, "samples of two runs are different");
		tap_str(label_of(m, 0, MODEL_RUN_LABEL), "1", "the first file");
		tap_str(label_of(m, 1, MODEL_RUN_LABEL), "1", "also without other labels");
		tap_str(label_of(m, 2, MODEL_RUN_LABEL), "2", "an earlier number is replaced");
		model_free(m);
	}
	remove_files();
}

static void add_comments(void)
{
	int64_t value[] = { 1, 1 };
	struct pprof *p = raw_begin();
	for (int i = 0; i < 50; i++) {
		char text[32];
		snprintf(text, sizeof(text), "comment %d", i);
		pprof_comment(p, text);
	}
	pprof_sample(p, NULL, 0, value, 2, NULL, 0);
	raw_add(p);
}

static void test_limits(void)
{
	struct err e = { 0 };
	add_comments();
	add_comments();
	for (uint32_t n = 1; n <= 2; n++) {
		struct model_merge how = { .n_comments_max = 20, .n_threads = n };
		struct model *m = merged(&how, "files with many comments");
		tap_ok(m->n_comments == 20 && m->has_less_comments, "the first ones are kept");
		model_free(m);
		how.n_comments_max = 50;
		m = merged(&how, "files with the same comments");
		tap_ok(m->n_comments == 50 && !m->has_less_comments, "all are kept");
		model_free(m);
	}
	struct model *m = NULL;
	struct model_merge how = { .n_bytes_max = 100 };
	tap_int(model_merge_files(paths, n_paths, &how, &m, &e), -E2BIG, "too much memory");
	tap_ok(!m && strstr(e.hint, "--drop-label"), "with advice");
	remove_files();
}

int main(void)
{
	test_threads();
	test_large();
	test_skip();
	test_labels();
	test_runs();
	test_limits();
	return tap_done();
}
