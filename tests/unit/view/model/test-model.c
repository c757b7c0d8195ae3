/* Which items are equal after reading and merging, and which are not. */

#include "base/err.h"
#include "base/membuf.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/model/model.h"

#include <errno.h>
#include <unistd.h>

static struct model *read_back(struct build *b)
{
	struct model *m = NULL;
	struct err e = { 0 };
	if (!tap_int(model_read(b->sink.bytes.v, b->sink.bytes.n, &m, &e), 0, "the model is read"))
		printf("# %s\n", e.what);
	return m;
}

static const char *label_text(const struct model *m, uint32_t set, char buf[200])
{
	buf[0] = '\0';
	for (uint32_t i = 0; i < m->labels[set].n; i++) {
		const struct model_label *l = &m->label[m->labels[set].first + i];
		size_t n = strlen(buf);
		if (l->str)
			snprintf(buf + n, 200 - n, "%s=%s ", model_string(m, l->key),
				 model_string(m, l->str));
		else
			snprintf(buf + n, 200 - n, "%s=%lld%s ", model_string(m, l->key),
				 (long long)l->num, model_string(m, l->num_unit));
	}
	return buf;
}

static void test_one(void)
{
	struct build b;
	char buf[200];
	BUILD(&b, "samples/count cpu/nanoseconds", "1,10 f main ; tid=1 cpu=3:cpu",
	      "2,20 f main ; cpu=3:cpu tid=1", "4,40 f main ; tid=2", "0,0 g main",
	      "8,80 inner+outer main", "16,160", "32,-5 [/lib/x.so] main");
	struct model *m = read_back(&b);
	tap_int(m->n_samples, 5, "equal samples are merged, zeros are left out");
	tap_int(m->n_stacks, 4, "samples with different labels share stacks");
	tap_int(m->n_label_sets, 3, "label sets do not depend on their order");
	tap_str(label_text(m, m->sample[0].labels, buf), "cpu=3cpu tid=1 ",
		"labels are sorted by key");
	tap_ok(model_value(m, 0, 0) == 3 && model_value(m, 0, 1) == 30, "values are added");
	tap_ok(m->stack[m->sample[0].stack].n == 2, "the stack has two frames");
	uint32_t leaf = m->stack_location[m->stack[m->sample[0].stack].first];
	const struct model_line *line = &m->line[m->location[leaf].first_line];
	tap_str(model_string(m, m->function[line->function].name), "f", "the leaf comes first");
	tap_int(m->n_locations, 4, "only used locations are kept");
	tap_int(m->n_functions, 4, "only used functions are kept");
	const struct model_location *inlined =
		&m->location[m->stack_location[m->stack[m->sample[2].stack].first]];
	tap_ok(inlined->n_lines == 2 &&
	       strcmp(model_string(m, m->function[m->line[inlined->first_line].function].name),
		      "inner") == 0, "the innermost inlined function is first");
	tap_str(model_string(m, m->mapping[0].filename), "/bin/app",
		"mapping 0 is the main binary");
	tap_int(model_count_type(m), 0, "the type that counts samples");
	uint32_t type = 9;
	struct err e = { 0 };
	tap_ok(model_find_type(m, NULL, &type, &e) == 0 && type == 1,
	       "without a default, the last type is used");
	tap_ok(model_find_type(m, "samples", &type, &e) == 0 && type == 0,
	       "a type is found by name");
	tap_ok(model_find_type(m, "1", &type, &e) == 0 && type == 1, "a type is found by number");
	tap_int(model_find_type(m, "wall", &type, &e), -ENOENT, "an unknown type is refused");
	tap_str(e.hint, "the types are: samples, cpu", "the hint lists the types");
	model_free(m);
	build_done(&b);
}

static void save(struct build *b, char path[32])
{
	strcpy(path, "/tmp/test-model.XXXXXX");
	int fd = mkstemp(path);
	if (fd < 0 || write(fd, b->sink.bytes.v, b->sink.bytes.n) != (ssize_t)b->sink.bytes.n)
		abort();
	close(fd);
}

static void test_merge(void)
{
	struct build b[3];
	char path[3][32];
	BUILD(&b[0], "samples/count cpu/milliseconds", "1,10 f main", "1,10 g main");
	BUILD(&b[1], "sample/count cpu/nanoseconds", "2,500000 f main", "4,40 h main");
	BUILD(&b[2], "samples/count alloc/bytes", "1,1 f");
	for (int i = 0; i < 3; i++)
		save(&b[i], path[i]);
	struct model *m = NULL;
	struct err e = { 0 };
	const char *two[] = { path[0], path[1] }, *other[] = { path[0], path[2] };
	tap_int(model_read_files(two, 2, &m, &e), 0, "two files merge");
	tap_int(m->n_samples, 3, "equal stacks are merged");
	tap_str(model_string(m, m->type[1].unit), "nanoseconds", "the finer unit is used");
	tap_ok(model_value(m, 0, 0) == 3 && model_value(m, 0, 1) == 10500000,
	       "values are converted and added");
	tap_int(m->n_mappings, 1, "equal mappings are merged");
	tap_int(m->duration_ns, 4000000000, "durations are added");
	tap_int(m->n_files, 2, "the files are counted");
	model_free(m);
	const char *turned[] = { path[1], path[0] };
	tap_int(model_read_files(turned, 2, &m, &e), 0, "two files merge in the other order");
	tap_ok(model_value(m, 0, 1) == 10500000, "with the same values");
	model_free(m);
	m = NULL;
	tap_int(model_read_files(other, 2, &m, &e), -EINVAL,
		"files with other sample types do not merge");
	tap_ok(!m && strstr(e.what, path[2]) && strstr(e.what, "alloc/bytes"),
	       "the error says why");
	for (int i = 0; i < 3; i++) {
		unlink(path[i]);
		build_done(&b[i]);
	}
	tap_int(model_read_files(two, 1, &m, &e), -ENOENT, "a missing file is an error");
	tap_int(model_read("junk", 4, &m, &e), -EINVAL, "a file that is not a profile is an error");
}

static struct model *written(const struct model *m, const struct model_some *some)
{
	struct membuf b = { 0 };
	struct model *back = NULL;
	struct err e = { 0 };
	if (!tap_int(some ? model_write_some(m, some, membuf_write, &b, 1, &e)
			  : model_write(m, membuf_write, &b, 1, &e), 0, "a model is written") ||
	    !tap_int(model_read(b.bytes.v, b.bytes.n, &back, &e), 0, "and read again"))
		printf("# %s\n", e.what);
	VEC_FREE(&b.bytes);
	return back;
}

static bool same_arrays(const struct model *a, const struct model *b)
{
#define SAME(array, n) \
	(a->n == b->n && (a->n == 0 || memcmp(a->array, b->array, a->n * sizeof(*a->array)) == 0))
	bool same = SAME(type, n_types) && SAME(stack_location, n_stack_locations) &&
		    SAME(labels, n_label_sets) && SAME(sample, n_samples) &&
		    a->n_stacks == b->n_stacks && a->n_lines == b->n_lines &&
		    a->n_locations == b->n_locations &&
		    memcmp(a->value, b->value, (size_t)a->n_samples * a->n_types * 8) == 0;
#undef SAME
	for (uint32_t i = 0; same && i < a->n_locations; i++)
		same = a->location[i].address == b->location[i].address &&
		       a->location[i].mapping == b->location[i].mapping &&
		       a->location[i].n_lines == b->location[i].n_lines;
	for (uint32_t i = 0; same && i < a->n_lines; i++)
		same = a->line[i].line == b->line[i].line &&
		       a->line[i].function == b->line[i].function;
	return same;
}

static void test_write(void)
{
	struct build b;
	BUILD(&b, "samples/count cpu/nanoseconds", "1,10 f main ; tid=1 cpu=3:cpu",
	      "4,40 f main ; tid=2", "8,80 inner@x.c:3+outer main", "16,160",
	      "32,-5 [/lib/x.so] [/lib/y.so]");
	struct model *m = read_back(&b), *all = written(m, NULL);
	tap_ok(same_arrays(m, all), "a written model has the same arrays");
	tap_int(all->n_mappings, 3, "all mappings are written");
	tap_ok(all->period == 1000 && all->time_ns == 1000000000 && all->duration_ns == 2000000000,
	       "the period and the times are written");
	tap_str(model_string(all, all->period_type.type), "cpu", "the period's type is written");
	model_free(all);

	static const bool out[] = { true, false, true, true, true };
	static const char *const comment[] = { "one", "two" };
	struct model_some some = { .sample_out = out, .comment = comment, .n_comments = 2 };
	struct model *part = written(m, &some), *again;
	tap_ok(part->n_samples == 1 && model_value(part, 0, 1) == 40,
	       "one of five samples is written");
	tap_ok(part->n_locations == 2 && part->n_functions == 2 && part->n_label_sets == 2,
	       "with the items it needs");
	tap_ok(part->n_mappings == 1 &&
	       strcmp(model_string(part, part->mapping[0].filename), "/bin/app") == 0,
	       "with the main binary");
	tap_int(part->n_comments, 2, "with the given comments");
	again = written(part, NULL);
	tap_ok(again->n_comments == 2 &&
	       strcmp(model_string(again, again->comment[1]), "two") == 0,
	       "without given comments, the model's own are written");
	model_free(again);
	some = (struct model_some){ .comment = comment };
	again = written(part, &some);
	tap_ok(again->n_comments == 0 && again->n_samples == 1, "the comments can be left out");
	model_free(again);
	model_free(part);
	static const bool nothing[] = { true, true, true, true, true };
	part = written(m, &(struct model_some){ .sample_out = nothing });
	tap_ok(part->n_samples == 0 && part->n_locations == 0 && part->n_mappings == 1,
	       "all samples can be left out");
	model_free(part);

	struct sink full = { .fail_after = 20 };
	struct err e = { 0 };
	tap_int(model_write(m, sink_write, &full, 1, &e), -ENOSPC, "an error of write is returned");
	tap_ok(e.what[0], "with a message");
	VEC_FREE(&full.bytes);
	model_free(m);
	build_done(&b);
}

int main(void)
{
	test_one();
	test_merge();
	test_write();
	return tap_done();
}
