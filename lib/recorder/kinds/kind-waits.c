/*
 * Recorders of how long threads wait, cprof-waiting(7): the CPU kind with one event, and with a
 * rate that means what it does for waits.
 *
 * A period that is a time is a quantum: whole quanta of each thread are counted.  A number N means
 * a stack for one of N switches: the lengths of all of them are exact, and the time of the others
 * is divided among the waits of the same thread that have a stack.
 */

#include "recorder/kinds/kind-cpu-ops.h"

#include "base/err.h"
#include "event/evparse.h"

#include <errno.h>
#include <string.h>

/* More would leave most threads without any stack. */
#define ONE_OF_MAX 1000000u

static int refuse(struct err *e, const char *event, const char *what, const char *hint)
{
	err_set(e, EINVAL, "a recorder of '%s' takes no %s", event, what);
	err_hint(e, "%s", hint);
	return -EINVAL;
}

/* Which of the switches are sampled; 0: as many as switch_rate_max allows. */
static int choose_one_of(const struct cprof_config *c, uint64_t *ret, struct err *e)
{
	enum evspec_rate kind;
	if (!c->period || evparse_is_time(c->period))
		return 0;
	int r = evparse_rate(c->period, false, &kind, ret, e);
	if (r < 0 || *ret <= ONE_OF_MAX)
		return r;
	return refuse(e, c->kind->name, "period above 1000000", "a time, '1ms', is a quantum");
}

static int choose(struct kind_session *k, struct err *e)
{
	const struct cprof_config *c = k->config;
	const char *event = c->kind->name;
	bool has_clock = strcmp(event, "wall") == 0;
	uint64_t one_of = 0;
	if (c->n_events)
		return refuse(e, event, "further events", "cprof_cpu_recorder() records several");
	if (c->freq && !has_clock)
		return refuse(e, event, "frequency", "period is a number of switches, or a time");
	int r = has_clock ? 0 : choose_one_of(c, &one_of, e);
	return r < 0 ? r : kind_cpu_choose_only(k, &(struct kind_cpu_only){
		.event = event, .one_of = one_of }, e);
}

#define KIND(event) { .name = event, .choose = choose, KIND_CPU_OPERATIONS }

static const struct cprof_kind off_cpu = KIND("off-cpu"), wall = KIND("wall");
static const struct cprof_kind block = KIND("block"), mutex = KIND("mutex");

const struct cprof_kind *cprof_off_cpu_recorder(void)
{
	return &off_cpu;
}

const struct cprof_kind *cprof_wall_recorder(void)
{
	return &wall;
}

const struct cprof_kind *cprof_block_recorder(void)
{
	return &block;
}

const struct cprof_kind *cprof_mutex_recorder(void)
{
	return &mutex;
}
