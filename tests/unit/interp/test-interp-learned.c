/* Who learns together, and what of it is kept. */

#include "interp/interp-learned.h"
#include "tests/unit/interp/interptable.h"

#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "interpreter-00ff"

static char dir[] = "/tmp/cprof-test-XXXXXX";

static struct interp_learned_file *take(struct interp_learned *l, uint32_t serial, uint32_t uid,
					const char *saved_name)
{
	const struct interp_learned_key key = { serial, uid, saved_name };
	return interp_learned_take(l, &key, &interptable);
}

/* As if so many activations had taught these places. */
static void teach(struct interp_learned_file *f, uint32_t n, uint32_t instruction)
{
	interp_learn_begin(&f->learn, instruction, RBX);
	f->learn.n = n;
}

/* The place of the instruction that a recording begins with, by what was kept under that name. */
static uint32_t kept(const char *name)
{
	struct interp_learned l = { .saved_dir = strdup(dir) };
	uint32_t place = take(&l, 1, 0, name)->learn.instruction;
	interp_learned_done(&l);
	return place;
}

static void forget_kept(const char *name)
{
	char path[100];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static void check_sharing(void)
{
	struct interp_learned l = { .saved_dir = NULL };
	struct interp_learned_file *f = take(&l, 1, 0, "");
	tap_ok(take(&l, 1, 0, "") == f, "two processes of a file and user learn together");
	tap_ok(take(&l, 1, 1000, "") != f, "not those of two users");
	tap_ok(take(&l, 2, 0, "") != f, "nor those of two files");
	tap_ok(interp_learned_has(&l, 2) && !interp_learned_has(&l, 3), "which files there are");
	interp_learned_done(&l);
}

static void check_users(void)
{
	struct interp_learned l = { .saved_dir = strdup(dir) };
	teach(take(&l, 1, 1000, NAME), 2000, R14);
	teach(take(&l, 1, 0, NAME), 1000, R15);
	interp_learned_done(&l);
	tap_int(kept(NAME), R14, "the user whose processes have taught more is kept");

	l = (struct interp_learned){ .saved_dir = strdup(dir) };
	teach(take(&l, 1, 0, NAME), 10, R15);
	interp_learned_done(&l);
	tap_int(kept(NAME), R14, "too little does not replace it");
	forget_kept(NAME);

	l = (struct interp_learned){ .saved_dir = strdup(dir) };
	teach(take(&l, 1, 0, ""), 1000, R15);
	interp_learned_done(&l);
	tap_int(kept(NAME), ACTIVATION_NO_PLACE, "a file without a name is not kept");
}

/* All files but the second one have a user each. */
static void check_room(void)
{
	struct interp_learned l = { .saved_dir = strdup(dir) };
	for (uint32_t i = 0; i < INTERP_LEARNED_FILES_MAX; i++)
		take(&l, i, 0, i == 1 ? NAME : "");
	struct interp_learned_file *second = take(&l, 1, 0, NAME);
	teach(second, 1000, R15);
	interp_learned_give_back(second);
	take(&l, 1000, 0, "");
	tap_ok(interp_learned_has(&l, 1), "a file stays while it has a user");
	interp_learned_give_back(second);
	take(&l, 1001, 0, "");
	tap_ok(!interp_learned_has(&l, 1) && interp_learned_has(&l, 0), "then it makes room");
	tap_int(kept(NAME), R15, "and what it taught is kept");
	interp_learned_done(&l);
	forget_kept(NAME);
}

int main(void)
{
	if (!mkdtemp(dir)) {
		puts("Bail out! no temporary folder");
		return 1;
	}
	check_sharing();
	check_users();
	check_room();
	rmdir(dir);
	return tap_done();
}
