#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/profile/profile-text.h"
#include "tests/unit/tap.h"

#include "profile/groups.h"

/* Two programs, one of them in two processes, and a thread of the kernel. */
static void feed(struct engine *g)
{
	const struct engine_options o = {
		.n_events = 1, .labels = SAMPLELABEL_PROCESS_NAME | SAMPLELABEL_EXE, .follow = true,
	};
	feed_open_with(g, &o);
	g->targets.all = true;
	for (uint32_t pid = 7; pid < 10; pid++) {
		feed_comm(g, pid, pid, pid == 8 ? "other-name" : "prog", true);
		feed_mmap(g, pid, 0x400000, 0x1000, 0x1000, pid == 9 ? "/bin/b" : "/bin/a");
		for (uint32_t i = 0; i < (pid == 9 ? 5 : 2); i++)
			feed_sample(g, pid, pid, 0, 1000, FEED_CHAIN(PERF_CONTEXT_USER, 0x400010));
	}
	feed_comm(g, 2, 2, "kthreadd", false);
	feed_sample(g, 2, 2, 0, 1000, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xffffffff81000010));
}

static const char *text(const struct engine *g, uint32_t id)
{
	return strtab_get(&g->strings, id);
}

static void test_groups(const struct engine *g, const struct groups *s)
{
	tap_int((long long)s->group.n, 3, "there are three groups");
	const struct groups_group *one = s->group.v;
	tap_str(text(g, one[0].exe), "/bin/b", "the largest is first");
	tap_int((long long)one[0].n_samples, 5, "with its samples");
	tap_str(text(g, one[0].process_name), "prog", "and the name of its process");
	tap_str(text(g, one[1].exe), "/bin/a", "two processes of one program are a group");
	tap_int((long long)one[1].value, 4000, "with the sum of their values");
	tap_str(text(g, one[1].process_name), "", "and no name, since they have two");
	tap_str(text(g, one[2].exe), "", "the kernel's thread has no program");
}

static void test_part(struct engine *g, const struct groups *s)
{
	static const char *const drop[] = { "exe" };
	static const char *const label[] = { "service_name=a", "host=h" };
	uint8_t *has_set = calloc(s->n_sets + 1u, 1);
	for (uint32_t i = 0; i < s->n_sets; i++)
		has_set[i] = s->of_set[i] == 1;
	const struct export_part part = {
		.has_set = has_set, .drop = drop, .n_drop = 1, .label = label, .n_labels = 2,
	};
	struct export_info info = {
		.type = "cpu", .unit = "nanoseconds", .period = 1000, .duration_ns = 5000,
		.time_ns = 1, .level = 1, .part = &part,
		.optional_labels = SAMPLELABEL_PROCESS_NAME,
	};
	struct profile *p = profile_text_make(g, 0, &info);
	if (!tap_ok(p != NULL, "a part is written and read back"))
		exit(tap_done());
	tap_int((long long)profile_text_errors(p), 0, "consumers accept it");
	int64_t n = 0;
	bool has_exe = false;
	size_t n_names = 0, n_services = 0;
	for (size_t i = 0; i < p->n_samples; i++) {
		n += p->sample[i].value[0];
		for (size_t k = 0; k < p->sample[i].n_labels; k++) {
			const struct profile_label *l = &p->sample[i].label[k];
			has_exe |= strcmp(l->key, "exe") == 0;
			n_names += strcmp(l->key, "process_name") == 0;
			n_services += strcmp(l->key, "service_name") == 0 &&
				      strcmp(l->str, "a") == 0;
		}
	}
	tap_int((long long)n, 4, "it has the samples of one group");
	tap_ok(!has_exe, "without the label that defines it");
	tap_int((long long)n_services, (long long)p->n_samples, "with the caller's labels");
	tap_int((long long)n_names, (long long)p->n_samples,
		"and with names of processes, since they differ");
	profile_free(p);
	free(has_set);
}

/* Five samples of one stack, and two of another. */
static void test_thin(struct engine *g, const struct groups *s)
{
	uint64_t n_folded = 0;
	uint8_t *has_set = malloc(s->n_sets + 1u);
	memset(has_set, 1, s->n_sets + 1u);
	const struct export_part part = {
		.has_set = has_set, .keep = 0.01, .seed = 1, .n_folded = &n_folded,
	};
	struct export_info info = {
		.type = "cpu", .unit = "nanoseconds", .period = 1000, .duration_ns = 5000,
		.time_ns = 1, .level = 1, .part = &part,
	};
	struct profile *p = profile_text_make(g, 0, &info);
	if (!tap_ok(p != NULL, "a part with fewer samples is written"))
		exit(tap_done());
	tap_int((long long)profile_text_errors(p), 0, "consumers accept it, too");
	tap_int((long long)p->n_samples, 1, "one sample stands for all");
	tap_int(p->sample[0].value[0], 10, "with the sum of their counts");
	tap_int(p->sample[0].value[1], 10000, "and of their values");
	tap_ok(n_folded == 5 || n_folded == 8 || n_folded == 9,
	       "the others are counted: %d", (int)n_folded);
	profile_free(p);
	free(has_set);
}

int main(void)
{
	static struct engine g;
	struct groups s;
	feed(&g);
	tap_int(groups_make(&g, 0, &s), 0, "the samples are divided");
	test_groups(&g, &s);
	test_part(&g, &s);
	test_thin(&g, &s);
	groups_done(&s);
	engine_done(&g);
	return tap_done();
}
