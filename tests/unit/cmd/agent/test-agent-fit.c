/* How much detail fits into a window, with a model of sizes in place of profiles. */
#include "cmd/agent/agent-fit.h"
#include "tests/unit/tap.h"

#define SERVICES 30

/* What the services of a machine need: so much for each profile, and for all samples together. */
struct model {
	double profile, samples;
	unsigned n_services;
};

static unsigned n_profiles(const struct model *m, const struct agent_fit *f)
{
	return m->n_services <= f->services_max ? m->n_services : f->services_max + 1;
}

static uint64_t bytes_of(const struct model *m, const struct agent_fit *f)
{
	double samples = m->samples * f->keep * (f->only_functions ? 0.6 : 1);
	return (uint64_t)(m->profile * n_profiles(m, f) + samples);
}

/* Returns how often a window is made. */
static int make_window(const struct model *m, struct agent_fit *f, uint64_t limit)
{
	int n = 1;
	while (bytes_of(m, f) > limit &&
	       agent_fit_shrink(f, bytes_of(m, f), n_profiles(m, f), limit))
		n++;
	return n;
}

static void test_limit(void)
{
	struct agent_config c = { .rate = "19", .window_ns = 10000000000u };
	uint64_t small = agent_fit_limit(&c, 2);
	tap_int((long long)small, 40000, "two CPUs at 19 Hz: 40 KB");
	tap_int((long long)agent_fit_limit(&c, 1), 40000, "one CPU has the same limit");
	c.rate = "99";
	tap_ok(agent_fit_limit(&c, 2) > 75000 && agent_fit_limit(&c, 2) < 80000,
	       "99 Hz: less than twice as much");
	c.rate = "19";
	tap_ok(agent_fit_limit(&c, 64) > 190000 && agent_fit_limit(&c, 64) < 200000,
	       "64 CPUs: five times as much");
	c.window_ns *= 6;
	tap_ok(agent_fit_limit(&c, 2) > 80000 && agent_fit_limit(&c, 2) < 90000,
	       "a minute: twice as much");
	c.window_bytes = 12345;
	tap_int((long long)agent_fit_limit(&c, 2), 12345, "the configuration decides");
}

static void test_model(const char *name, struct model m, uint64_t limit)
{
	const struct agent_config c = { .services_max = SERVICES };
	struct agent_fit f;
	int n = 0;
	agent_fit_init(&f, &c);
	int first = make_window(&m, &f, limit);
	for (int i = 0; i < 10; i++) {
		agent_fit_relax(&f, &c, bytes_of(&m, &f), n_profiles(&m, &f), limit);
		n += make_window(&m, &f, limit);
	}
	uint64_t bytes = bytes_of(&m, &f);
	tap_ok(bytes <= limit, "%s: it fits: %d bytes, %.2f of the samples, %u services", name,
	       (int)bytes, f.keep, f.services_max);
	tap_ok(first <= 10 && n <= 13, "%s: in %d steps, then in %d for ten windows", name, first,
	       n);
	/* Then the machine rests. */
	m.samples = 5000;
	m.n_services = 5;
	for (int i = 0; i < 10; i++) {
		make_window(&m, &f, limit);
		agent_fit_relax(&f, &c, bytes_of(&m, &f), n_profiles(&m, &f), limit);
	}
	tap_ok(!f.only_functions && f.keep == 1 && f.services_max == SERVICES,
	       "%s: all detail is back when the load is over", name);
}

static void test_end(void)
{
	const struct agent_config c = { .services_max = SERVICES };
	const struct model m = { 2000, 1e6, 1000 };
	struct agent_fit f;
	agent_fit_init(&f, &c);
	tap_ok(make_window(&m, &f, 1000) < 20, "a limit that is too small ends");
	tap_ok(f.keep > 0 && f.services_max == 0, "with one profile, and some of its samples");
}

int main(void)
{
	test_limit();
	test_model("a busy machine", (struct model){ 1100, 60000, 10 }, 40000);
	test_model("a hundred services", (struct model){ 1300, 100000, 100 }, 40000);
	test_model("far too many samples", (struct model){ 1000, 3000000, 5 }, 40000);
	test_model("a small machine", (struct model){ 800, 5000, 3 }, 40000);
	test_end();
	return tap_done();
}
