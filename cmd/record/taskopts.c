/* Lists of ids and names are read when their option is parsed. */
#include "cmd/record/taskopts.h"

#include "cmd/optparse.h"
#include "cmd/record/procopts.h"
#include "cprof.h"

error_t taskopts_parse(struct taskopts *o, struct argp_state *state, int key, char *arg)
{
	switch (key) {
	case 'p': procopts_parse(&o->processes, state, arg); break;
	case TASKOPTS_CHILDREN: o->with_children = true; break;
	case 't':
		optparse_thread_ids(state, arg, &o->tids.v, &o->tids.n, &o->tids.cap);
		break;
	case 'a': o->all = true; break;
	case 'C':
		o->all = true;
		o->cpus = arg;
		break;
	case TASKOPTS_NO_INHERIT: o->no_inherit = true; break;
	case ARGP_KEY_ARG:
		if (procopts_take_word(&o->processes, state, arg))
			break;
		/* Everything from the command's first word on belongs to the command. */
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

bool taskopts_has_ids(const struct taskopts *o)
{
	return o->processes.pids.n || o->tids.n;
}

bool taskopts_is_command(const struct taskopts *o)
{
	return o->command && !o->all && !taskopts_has_ids(o);
}

void taskopts_check(const struct taskopts *o, struct argp_state *state, const char *verb)
{
	if (!taskopts_has_ids(o) && !o->command && !o->all)
		argp_error(state, "nothing to %s: give -p PID, -t TID, -a or a command", verb);
	if (taskopts_has_ids(o) && o->all)
		argp_error(state, "%s %ss all processes: give no -p or -t",
			   o->cpus ? "-C" : "-a", verb);
	if (o->with_children && !o->processes.pids.n)
		argp_error(state, "--children needs -p");
}

void taskopts_complete(struct taskopts *o, struct argp_state *state)
{
	procopts_drop_ended(&o->processes, state);
	if (o->with_children)
		procopts_add_children(&o->processes, state);
}

void taskopts_configure(const struct taskopts *o, struct cprof_config *c)
{
	c->pid = o->processes.pids.v;
	c->n_pids = o->processes.pids.n;
	c->tid = o->tids.v;
	c->n_tids = o->tids.n;
	c->all_processes = o->all;
	c->cpus = o->cpus;
	c->no_inherit = o->no_inherit;
}

void taskopts_done(struct taskopts *o)
{
	VEC_FREE(&o->processes.pids);
	VEC_FREE(&o->tids);
}
