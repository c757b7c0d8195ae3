/* Samples whose functions become known after they were counted. */

#include "engine/functions.h"

#include "agg/counts.h"
#include "agg/frames.h"
#include "agg/labels.h"
#include "agg/stacks.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "symbolize/elf/dso.h"
#include "tap.h"
#include "tests/unit/interp/interptable.h"

#include <stdlib.h>

#define PID 7u
#define LOOP 0x10u
#define SECOND_NS 1000000000u

static struct budget budget;
static struct strtab strings;
static struct labels labels;
static struct counts counts;
static struct frames frame_table;
static struct stacks stacks;
static struct dso_table dsos;
static struct functions functions;
static struct interp_samples samples;
static uint32_t native;
static uint64_t now_ns;

static bool is_loop(void *ctx, uint64_t vaddr)
{
	return vaddr == LOOP;
}

static bool is_glue(void *ctx, uint64_t vaddr)
{
	return false;
}

static struct interp_code code = { .is_loop = is_loop, .is_glue = is_glue };

static void start(void)
{
	const struct dso_key key = { .kind = DSO_ELF, .ino = 5 };
	budget_init(&budget, 1 << 20);
	if (strtab_init(&strings, &budget) < 0 || labels_init(&labels, &budget) < 0 ||
	    counts_init(&counts, &budget) < 0 || frames_init(&frame_table, &budget) < 0 ||
	    stacks_init(&stacks, &budget) < 0 || dso_table_init(&dsos, &budget) < 0)
		abort();
	const struct interp_tables t = {
		.dsos = &dsos, .frames = &frame_table, .stacks = &stacks,
	};
	functions_init(&functions, &t, &strings, &labels, INTERP_AUTO, NULL);
	functions.kept.budget = &budget;
	interptable_begin(&samples);
	code.dso = dso_table_add(&dsos, &key, "/python")->id;
	native = stacks_add(&stacks, STACKS_EMPTY,
			    frames_add(&frame_table, code.dso, LOOP, false), false);
	functions.seen[hash_u64(PID) % FUNCTIONS_SEEN] = (struct functions_seen){
		.pid = PID, .has_program = true, .program = { &interptable, &code, &samples },
	};
}

static void stop(void)
{
	functions_done(&functions);
	interptable_end(&samples);
	dso_table_done(&dsos);
	stacks_done(&stacks);
	frames_done(&frame_table);
	counts_done(&counts);
	labels_done(&labels);
	strtab_done(&strings);
	tap_int((long long)budget.used_bytes, 0, "all memory is given back");
}

/* A sample is counted whose functions are not known, and kept. */
static void add(void)
{
	struct functions_kept_sample *k = &functions.kept.present;
	struct interp_frames f = { .is_whole = true };
	interptable_execute("0123");
	enum interp_quality q = interptable_sample(&samples, &f, 3, 10, 3, 20000000);
	*k = (struct functions_kept_sample){
		.quality = q, .pid = PID, .time_ns = now_ns, .native = native,
		.n_replaced = interptable_n_replaced,
	};
	functions.kept.has_present = interp_samples_keep(&samples, &interptable, &k->kept);
	functions.stats.n[q]++;
	counts_add(&counts, 0, native, 0, 1, 1000, false);
	functions_kept_count(&functions.kept, 0, native, 0, 1, 1000);
	interp_frames_done(&f);
}

static void learn(void)
{
	struct interp_frames f = { .is_whole = true };
	interptable_learn(&samples, &f);
	interp_frames_done(&f);
}

/* How many samples are counted with functions: those of stacks with the innermost function 3. */
static uint64_t n_placed(void)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < counts.n; i++)
		if (counts.v[i].stack != native && stacks.v[counts.v[i].stack].frame == 3)
			n += counts.v[i].n_samples;
	return n;
}

static uint64_t n_all(void)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < counts.n; i++)
		n += counts.v[i].n_samples;
	return n;
}

static void settle(uint64_t at_ns, bool is_last)
{
	functions_kept_settle(&functions, &counts, 0, at_ns, is_last);
}

static void becomes_known(void)
{
	start();
	settle(now_ns, false);
	add();
	add();
	tap_int((long long)functions.stats.n[INTERP_QUALITY_UNKNOWN], 2, "two are unknown");
	learn();
	settle(now_ns + 1000, false);
	tap_int((long long)n_placed(), 0, "they are not tried at once");
	settle(now_ns + SECOND_NS / 10, false);
	tap_int((long long)n_placed(), 2, "but soon");
	tap_int((long long)n_all(), 2, "none is counted twice");
	tap_ok(!functions.stats.n[INTERP_QUALITY_UNKNOWN] &&
	       functions.stats.n[INTERP_QUALITY_REMEMBERED] == 2, "also by how sure they are");
	tap_ok(!functions.kept.v.n && !functions.kept.n_bytes, "then they are not kept any more");
	stop();
}

static void stays_unknown(void)
{
	start();
	settle(now_ns, false);
	add();
	settle(now_ns + SECOND_NS / 10, false);
	tap_int((long long)functions.kept.v.n, 1, "nothing has been learned: it is kept");
	settle(now_ns + 3 * (uint64_t)SECOND_NS, false);
	tap_int((long long)functions.kept.v.n, 0, "but not for ever");
	add();
	settle(now_ns, true);
	tap_ok(!functions.kept.v.n && n_all() == 2, "nor after the end, where all are counted");
	stop();
}

static void does_not_fit(void)
{
	start();
	settle(now_ns, false);
	add();
	learn();
	interptable_n_replaced++;
	settle(now_ns, true);
	tap_int((long long)n_placed(), 0, "another function may have been at that address");
	samples.learn->instruction = ACTIVATION_NO_PLACE;
	add();
	learn();
	functions_kept_settle(&functions, &counts, 1, now_ns, true);
	tap_int((long long)n_placed(), 0, "ids have changed since it was counted");
	stop();
}

int main(void)
{
	now_ns = clock_monotonic_ns();
	becomes_known();
	stays_unknown();
	does_not_fit();
	return tap_done();
}
