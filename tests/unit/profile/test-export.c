#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/profile/profile-text.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <linux/perf_event.h>

static const char *const comments[] = { "first", "second line" };

static const struct export_info info = {
	.type = "cpu", .unit = "nanoseconds", .period = 1001, .time_ns = 1700000000000000000,
	.duration_ns = 5000, .comment = comments, .n_comments = 2,
	.optional_labels = SAMPLELABELS_DEFAULT, .level = 1,
};

static void feed_two_threads(struct engine *g)
{
	feed_comm(g, 7, 7, "prog", true);
	feed_mmap(g, 7, 0x400000, 0x1000, 0x1000, "/nowhere/bin/prog");
	feed_mmap(g, 7, 0x7f0000000000, 0x2000, 0x5000, "/nowhere/lib/libx.so.1");
	feed_mmap(g, 7, 0x7e0000000000, 0x1000, 0, "");
	feed_comm(g, 7, 8, "worker", false);
}

/* Does each stack directly follow those with which it shares most of its outer frames?  That is:
 * samples that share an outer part are neighbours. */
static bool is_preorder(const struct profile *p)
{
	for (size_t i = 0; i + 2 < p->n_samples; i++) {
		for (size_t k = i + 2; k < p->n_samples; k++) {
			const struct profile_sample *a = &p->sample[i], *m = &p->sample[i + 1],
						    *b = &p->sample[k];
			size_t n = 0;
			while (n < a->n_locations && n < b->n_locations &&
			       a->location[a->n_locations - 1 - n] ==
			       b->location[b->n_locations - 1 - n])
				n++;
			for (size_t d = 0; d < n; d++)
				if (d >= m->n_locations ||
				    m->location[m->n_locations - 1 - d] !=
				    a->location[a->n_locations - 1 - d])
					return false;
		}
	}
	return true;
}

static void check_sums(const struct engine *g, uint32_t event, const struct profile *p)
{
	uint64_t n, value;
	int64_t got_n = 0, got_value = 0;
	feed_sums(g, event, &n, &value);
	for (size_t i = 0; i < p->n_samples; i++) {
		got_n += p->sample[i].value[0];
		got_value += p->sample[i].value[1];
	}
	tap_ok(got_n == (int64_t)n && got_value == (int64_t)value, "the sums are the engine's");
}

static void test_facts(void)
{
	struct engine g;
	feed_open(&g, 0);
	feed_two_threads(&g);
	for (int i = 0; i < 3; i++) {
		feed_sample(&g, 7, 7, 0, 1000,
			    FEED_CHAIN(PERF_CONTEXT_USER, 0x7f0000000010, 0x400021));
		feed_sample(&g, 7, 8, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	}
	feed_sample(&g, 7, 7, 0, 500, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xffffffff81000010,
						 PERF_CONTEXT_USER, 0x7e0000000010, 0x400021));
	engine_add_lost(&g, 0, 4, 4000);
	struct profile *p = profile_text_make(&g, 0, &info);
	if (!tap_ok(p != NULL, "a profile is written and read back"))
		exit(tap_done());
	tap_int((long long)profile_text_errors(p), 0, "consumers accept it");
	tap_ok(p->n_sample_types == 2 && !strcmp(p->sample_type[0].type, "samples") &&
	       !strcmp(p->sample_type[0].unit, "count") && !strcmp(p->sample_type[1].type, "cpu") &&
	       !strcmp(p->sample_type[1].unit, "nanoseconds"), "its sample types");
	tap_str(p->default_sample_type, "cpu", "its default sample type");
	tap_ok(p->period == 1001 && !strcmp(p->period_type.type, "cpu") &&
	       !strcmp(p->period_type.unit, "nanoseconds"), "its period");
	tap_ok(p->time_nanos == info.time_ns && p->duration_nanos == 5000, "its times");
	tap_ok(p->n_comments == 2 && !strcmp(p->comment[0], "first") &&
	       !strcmp(p->comment[1], "second line"), "its comments");
	check_sums(&g, 0, p);

	bool ids = true;
	for (size_t i = 0; i < p->n_locations; i++)
		ids &= p->location[i].id == i + 1;
	for (size_t i = 0; i < p->n_functions; i++)
		ids &= p->function[i].id == i + 1;
	for (size_t i = 0; i < p->n_mappings; i++)
		ids &= p->mapping[i].id == i + 1;
	tap_ok(ids, "ids count up from 1 in the order of the file");
	tap_ok(is_preorder(p), "stacks that share their outer frames stand together");
	tap_str(p->mapping[0].filename, "/nowhere/bin/prog", "mapping 1 is the main binary");
	tap_int((long long)p->n_mappings, 4,
		"main binary, library, jit and kernel; none for pseudo frames");

	bool lost_has_none = false, addresses = true;
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->location[i];
		if (l->n_lines && !strcmp(l->line[0].function->name, "[lost samples]"))
			lost_has_none = !l->mapping && !l->address;
		else
			addresses &= l->mapping &&
				     (l->address || !strcmp(l->mapping->filename,
							    "[kernel.kallsyms]"));
	}
	tap_ok(lost_has_none, "a pseudo frame has a name, and neither mapping nor address");
	tap_ok(addresses, "all others have both, but kernel code may have no address");
	uint64_t count[2] = { 0 };
	for (size_t i = 0; i < p->n_samples; i++)
		for (size_t k = 0; k < p->sample[i].n_locations; k++)
			if (p->sample[i].location[k]->id <= 2)
				count[p->sample[i].location[k]->id - 1]++;
	tap_ok(count[0] >= count[1] && count[1], "the most frequent location has id 1");
	profile_free(p);

	p = profile_text_make(&g, 1, &info);
	tap_ok(p && p->n_samples == 0 && p->n_locations == 0, "an event without samples");
	profile_free(p);
	engine_done(&g);
}

/* "key key ..." of the labels that any sample has. */
static const char *keys_of(struct engine *g, unsigned optional)
{
	static char text[256];
	struct export_info i = info;
	i.optional_labels = optional;
	struct profile *p = profile_text_make(g, 0, &i);
	text[0] = '\0';
	for (size_t s = 0; p && s < p->n_samples; s++) {
		for (size_t k = 0; k < p->sample[s].n_labels; k++) {
			const char *key = p->sample[s].label[k].key;
			if (strstr(text, key))
				continue;
			strcat(text, text[0] ? " " : "");
			strcat(text, key);
		}
	}
	profile_free(p);
	return text;
}

static void test_labels(void)
{
	struct engine g;
	feed_open(&g, 0);
	feed_two_threads(&g);
	feed_sample(&g, 7, 7, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	tap_str(keys_of(&g, SAMPLELABELS_DEFAULT), "", "one thread: all labels go");
	tap_str(keys_of(&g, 0), "pid tid thread_name process_name", "unless they were requested");
	tap_str(keys_of(&g, SAMPLELABEL_TID), "pid thread_name process_name", "or some of them");
	engine_add_lost(&g, 0, 1, 1);
	tap_str(keys_of(&g, SAMPLELABELS_DEFAULT), "",
		"lost samples have no labels, which does not count");
	feed_sample(&g, 7, 8, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	tap_str(keys_of(&g, SAMPLELABELS_DEFAULT), "tid thread_name",
		"two threads: the labels that differ stay");
	engine_done(&g);

	feed_open(&g, 0);
	feed_two_threads(&g);
	feed_comm(&g, 7, 8, "prog", false);
	feed_fork(&g, 7, 7, 9, 9);
	feed_sample(&g, 7, 7, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	feed_sample(&g, 9, 9, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	feed_sample(&g, 9, 9, 1, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	tap_str(keys_of(&g, SAMPLELABELS_DEFAULT), "pid tid", "two processes of the same name");
	engine_done(&g);

	const char *const fixed[] = { "service=web", "pid=mine" };
	struct engine_options o = { .n_events = 1, .follow = true, .labels = SAMPLELABELS_DEFAULT,
				    .label = fixed, .n_labels = 2 };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_two_threads(&g);
	feed_sample(&g, 7, 7, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	tap_str(keys_of(&g, SAMPLELABELS_DEFAULT & ~SAMPLELABEL_PID), "service pid",
		"given labels stay, even with a single value");
	engine_done(&g);
}

/* Random stacks: the output equals the input. */
static void test_random(void)
{
	static struct engine g;
	feed_open(&g, 0);
	feed_two_threads(&g);
	srand(11);
	uint64_t total = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t chain[12] = { (uint64_t)PERF_CONTEXT_USER };
		size_t n = 2 + (size_t)rand() % 10;
		for (size_t k = 1; k < n; k++)
			chain[k] = (rand() % 2 ? 0x400000 : 0x7f0000000000) +
				   (uint64_t)(rand() % 4) * 64 + 1;
		feed_sample(&g, 7, 7 + (uint32_t)rand() % 2, 0, (uint64_t)i, chain, n);
		total += (uint64_t)i;
	}
	struct profile *p = profile_text_make(&g, 0, &info);
	if (!tap_ok(p && p->n_samples == g.counts.n, "1000 random stacks: one sample per count"))
		return;
	tap_int((long long)profile_text_errors(p), 0, "consumers accept it");
	tap_ok(is_preorder(p), "in preorder");
	check_sums(&g, 0, p);
	int64_t value = 0;
	for (size_t i = 0; i < p->n_samples; i++)
		value += p->sample[i].value[1];
	tap_int(value, (long long)total, "and equal to the input");
	bool found = true;
	for (size_t i = 0; i < p->n_samples; i++) {
		/* every stack of the file is one of the engine's, with the same addresses */
		char want[4096] = "";
		const struct profile_sample *s = &p->sample[i];
		for (size_t k = s->n_locations; k-- > 0;) {
			const char *slash = strrchr(s->location[k]->mapping->filename, '/');
			size_t len = strlen(want);
			snprintf(want + len, sizeof(want) - len, "%s%s+0x%" PRIx64, len ? ";" : "",
				 slash + 1, s->location[k]->address);
		}
		found &= feed_find(&g, 0, want) != NULL;
	}
	tap_ok(found, "each stack is one of the engine's");
	profile_free(p);
	engine_done(&g);
}

static int refuse(void *ctx, const void *data, size_t n_bytes)
{
	(void)ctx, (void)data, (void)n_bytes;
	return -ENOSPC;
}

static void test_failures(void)
{
	struct engine g;
	struct names names = { 0 };
	struct err e = { 0 };
	struct names_options o = { .symbols = { 0 } };
	feed_open(&g, 0);
	feed_two_threads(&g);
	feed_sample(&g, 7, 7, 0, UINT64_MAX, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	struct profile *p = profile_text_make(&g, 0, &info);
	tap_ok(p && p->sample[0].value[1] == INT64_MAX,
	       "a value beyond what the format holds saturates");
	profile_free(p);
	if (names_resolve(&g, &o, &names, &e) == 0) {
		tap_int(export_write(&g, &names, 0, &info, refuse, NULL, &e), -ENOSPC,
			"a full disk");
		tap_ok(e.what[0], "with a message");
		tap_int((long long)names.n_frames_user, 1, "one user frame");
		tap_int((long long)names.n_frames_user_named, 0, "without a name");
		names_done(&names);
	}
	engine_done(&g);
}

static void test_empty(void)
{
	struct engine g;
	feed_open(&g, 0);
	struct profile *p = profile_text_make(&g, 0, &info);
	tap_ok(p && p->n_samples == 0 && p->n_mappings == 0,
	       "of nothing: a profile without samples");
	profile_free(p);
	engine_done(&g);
}

int main(void)
{
	test_facts();
	test_labels();
	test_random();
	test_failures();
	test_empty();
	return tap_done();
}
