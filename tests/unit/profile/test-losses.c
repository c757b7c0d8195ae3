/* The table of losses, and the collection of its counters. */
#include "profile/losses.h"

#include "cprof-import.h"
#include "cprof.h"
#include "engine/engine.h"
#include "profile/names.h"
#include "source/source.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

static uint64_t n_of(const struct cprof_losses *l, const char *key)
{
	return l->n[cprof_loss_row(key)];
}

static void test_table(void)
{
	bool is_unique = true, is_plural = true, is_used = true;
	const struct cprof_loss *a, *b;
	size_t n = 0;
	for (; (a = cprof_loss(n)); n++) {
		is_plural &= a->words[strcspn(a->words, " ") - 1] == 's' ||
			     strncmp(a->words, "of ", 3) == 0 || strncmp(a->words, "unk", 3) == 0;
		is_used &= a->record || a->import || a->in_comments;
		for (size_t k = n + 1; (b = cprof_loss(k)); k++)
			is_unique &= strcmp(a->key, b->key) != 0 ||
				     !((a->record && b->record) || (a->import && b->import));
	}
	tap_ok(n > 20 && n <= CPROF_LOSSES_MAX, "%zu rows", n);
	tap_ok(is_unique, "a key is in each summary once");
	tap_ok(is_plural, "each text goes with a number");
	tap_ok(is_used, "each row is shown somewhere");
	a = cprof_loss(cprof_loss_row("cut"));
	tap_ok(a->record == CPROF_LOSS_MANY && a->import == CPROF_LOSS_MANY,
	       "many stacks without their root are reported without -v");
}

static void test_collect(void)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	struct names *names = calloc(1, sizeof(*names));
	struct source source = { .losses = { 1, 2, 3, 4 } };
	struct cprof_stats stats = { .n_cpus_failed = 4 };
	struct cprof_import_stats import = { .n_guests = 5 };
	struct cprof_event_stats event = { .n_samples = 10, .n_lost_target = 6, .n_throttles = 7 };
	struct cprof_losses l;
	engine->walk.stats.n_cut = 8;
	engine->own_labels.n_dropped = 9;
	names->files.n_misfits = 11;
	losses_collect(&(struct losses_from){ .engine = engine, .source = &source, .names = names,
					      .stats = &stats, .import = &import }, &l);
	tap_ok(n_of(&l, "undecodable") == 1 && n_of(&l, "unknown_records") == 2 &&
	       n_of(&l, "out_of_order") == 3 && n_of(&l, "unassigned") == 4,
	       "counters of the source");
	tap_ok(n_of(&l, "cut") == 8 && n_of(&l, "labels_dropped") == 9, "of the engine");
	tap_int((long long)n_of(&l, "cpus_failed"), 4, "of the recording, 32 bits wide");
	tap_int((long long)n_of(&l, "guests"), 5, "of the import");
	tap_int((long long)n_of(&l, "debug_misfits"), 11, "of the names");
	tap_ok(n_of(&l, "lost") == 0 && l.n_samples == 0, "no event so far");
	losses_add_event(&l, &event);
	losses_add_event(&l, &event);
	tap_ok(n_of(&l, "lost") == 12 && n_of(&l, "throttled") == 14 && l.n_samples == 20,
	       "events add up");
	losses_collect(&(struct losses_from){ .stats = &stats }, &l);
	tap_ok(n_of(&l, "cpus_failed") == 4 && n_of(&l, "cut") == 0 && n_of(&l, "lost") == 0,
	       "missing objects count nothing");
	free(names);
	free(engine);
}

int main(void)
{
	test_table();
	test_collect();
	return tap_done();
}
