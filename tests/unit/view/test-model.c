/* What is one thing after reading and merging, and what is not. */

#include "base/err.h"
#include "profile-build.h"
#include "tap.h"
#include "view/model.h"

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
	tap_int(m->n_samples, 5, "equal samples are one, zeros are left out");
	tap_int(m->n_stacks, 4, "stacks are shared by samples with other labels");
	tap_int(m->n_label_sets, 3, "label sets do not depend on their order");
	tap_str(label_text(m, m->sample[0].labels, buf), "cpu=3cpu tid=1 ", "sorted by key");
	tap_ok(model_value(m, 0, 0) == 3 && model_value(m, 0, 1) == 30, "values are added");
	tap_ok(m->stack[m->sample[0].stack].n == 2, "two frames");
	uint32_t leaf = m->stack_location[m->stack[m->sample[0].stack].first];
	const struct model_line *line = &m->line[m->location[leaf].first_line];
	tap_str(model_string(m, m->function[line->function].name), "f", "the leaf comes first");
	tap_int(m->n_locations, 4, "only locations in use");
	tap_int(m->n_functions, 4, "only functions in use");
	const struct model_location *inlined =
		&m->location[m->stack_location[m->stack[m->sample[2].stack].first]];
	tap_ok(inlined->n_lines == 2 &&
	       strcmp(model_string(m, m->function[m->line[inlined->first_line].function].name),
		      "inner") == 0, "innermost inlined function first");
	tap_str(model_string(m, m->mapping[0].filename), "/bin/app", "mapping 0");
	tap_int(model_count_type(m), 0, "which type counts samples");
	uint32_t type = 9;
	struct err e = { 0 };
	tap_ok(model_find_type(m, NULL, &type, &e) == 0 && type == 1, "no default: the last type");
	tap_ok(model_find_type(m, "samples", &type, &e) == 0 && type == 0, "by name");
	tap_ok(model_find_type(m, "1", &type, &e) == 0 && type == 1, "by number");
	tap_int(model_find_type(m, "wall", &type, &e), -ENOENT, "an unknown type");
	tap_str(e.hint, "it has: samples, cpu", "the hint names those there are");
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
	tap_int(m->n_samples, 3, "the same stack in both is one");
	tap_str(model_string(m, m->type[1].unit), "nanoseconds", "the finer unit");
	tap_ok(model_value(m, 0, 0) == 3 && model_value(m, 0, 1) == 10500000, "values add up");
	tap_int(m->n_mappings, 1, "the same mapping");
	tap_int(m->duration_ns, 4000000000, "durations are added");
	tap_int(m->n_files, 2, "files");
	model_free(m);
	const char *turned[] = { path[1], path[0] };
	tap_int(model_read_files(turned, 2, &m, &e), 0, "in the other order");
	tap_ok(model_value(m, 0, 1) == 10500000, "the same values");
	model_free(m);
	m = NULL;
	tap_int(model_read_files(other, 2, &m, &e), -EINVAL, "other sample types do not");
	tap_ok(!m && strstr(e.what, path[2]) && strstr(e.what, "alloc/bytes"),
	       "and the error says why");
	for (int i = 0; i < 3; i++) {
		unlink(path[i]);
		build_done(&b[i]);
	}
	tap_int(model_read_files(two, 1, &m, &e), -ENOENT, "a missing file");
	tap_int(model_read("junk", 4, &m, &e), -EINVAL, "no profile");
}

int main(void)
{
	test_one();
	test_merge();
	return tap_done();
}
