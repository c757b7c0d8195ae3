/* Checks what all kinds of recorders have in common, then lets the kind choose and open. */

#include "recorder/setup.h"

#include "base/err.h"
#include "proc/targetcheck.h"
#include "recorder/allprocs.h"
#include "recorder/machine.h"
#include "recorder/recorder-private.h"

#include <errno.h>
#include <string.h>

static int check_targets(const struct kind_session *k, struct err *e)
{
	const struct cprof_config *c = k->config;
	if (c->all_processes)
		return 0;
	if (c->n_pids + c->n_tids == 0 && !c->command_pid)
		return err_set(e, EINVAL, "no target: give a process, a thread or a command");
	if (c->n_pids + c->n_tids && c->command_pid)
		return err_set(e, EINVAL,
			       "a command cannot be recorded together with other targets");
	for (size_t i = 0; i < c->n_pids + c->n_tids; i++) {
		bool is_thread = i >= c->n_pids;
		const pid_t *list = is_thread ? c->tid : c->pid;
		size_t at = is_thread ? i - c->n_pids : i;
		pid_t id = list[at];
		/* Samples of a target given twice would count twice. */
		for (size_t j = 0; j < at; j++)
			if (list[j] == id)
				return err_set(e, EINVAL, "%s %d is given twice",
					       is_thread ? "thread" : "process", id);
		int what = targetcheck(k->host, id, is_thread, e);
		if (what < 0)
			return what;
		if (what == TARGETCHECK_KERNEL && c->only_user) {
			err_set(e, EINVAL, "%d is a kernel thread: it runs no user code", id);
			err_hint(e, "leave out --user");
			return -EINVAL;
		}
	}
	return 0;
}

static int check_labels(const struct cprof_config *c, struct err *e)
{
	if (c->n_labels > LABELS_PER_SET_MAX - 7)
		return err_set(e, EINVAL, "%zu labels: at most %d are possible", c->n_labels,
			       LABELS_PER_SET_MAX - 7);
	for (size_t i = 0; i < c->n_labels; i++) {
		const char *eq = strchr(c->label[i], '=');
		if (!eq || eq == c->label[i]) {
			err_set(e, EINVAL, "label '%s' is not KEY=VALUE", c->label[i]);
			return -EINVAL;
		}
		if (!eq[1]) {
			err_set(e, EINVAL, "label '%s' has no value: readers could not tell it "
				"from a missing label", c->label[i]);
			return -EINVAL;
		}
		if (strncmp(c->label[i], "pprof::", 7) == 0) {
			err_set(e, EINVAL, "label '%s': keys that begin with pprof:: are reserved",
				c->label[i]);
			return -EINVAL;
		}
	}
	return 0;
}

/* Goroutines are found by a register. */
static int check_go(const struct cprof_config *c, struct err *e)
{
	bool is_needed = c->go_labels == CPROF_GO_LABELS_EXACT || c->go_ids;
	if (!is_needed || c->callgraph == CPROF_CALLGRAPH_AUTO ||
	    c->callgraph == CPROF_CALLGRAPH_DWARF)
		return 0;
	err_set(e, EINVAL, "Go labels are found by registers, which samples have only together "
		"with copies of the stack");
	err_hint(e, "leave out --call-graph, or these labels");
	return -EINVAL;
}

unsigned setup_optional_labels(const struct cprof_config *c)
{
	unsigned bits = SAMPLELABELS_OPTIONAL;
	/* If all processes are recorded, there is always more than one. */
	if (c->all_processes)
		bits &= ~(unsigned)(SAMPLELABEL_PID | SAMPLELABEL_PROCESS_NAME);
	for (unsigned bit = 1; bit <= SAMPLELABEL_CGROUP; bit <<= 1) {
		const char *key = samplelabels_key(bit);
		for (size_t i = 0; i < c->n_labels; i++)
			if (strncmp(c->label[i], key, strlen(key)) == 0 &&
			    c->label[i][strlen(key)] == '=')
				bits &= ~bit;
	}
	return bits;
}

/* Checks what depends on the request alone: an -EINVAL from here is wrong usage. */
static int check_request(struct cprof_recorder *rec, struct err *e)
{
	struct kind_session *k = &rec->session;
	int r = allprocs_check(&rec->config, k->host, k->log, e);
	if (r < 0)
		return r;
	r = check_labels(&rec->config, e);
	if (r == 0)
		r = check_go(&rec->config, e);
	return r < 0 ? r : rec->kind->choose(k, e);
}

int setup_recorder(struct cprof_recorder *rec, struct err *e)
{
	const struct cprof_machine *m = rec->config.machine;
	struct kind_session *k = &rec->session;
	k->host = m ? m->host : NULL;
	if (!k->host) {
		int r = host_open(&rec->own_host, NULL, NULL, NULL, e);
		if (r < 0)
			return r;
		k->host = &rec->own_host;
	}
	int r = check_request(rec, e);
	if (r == -EINVAL && e)
		e->is_usage = true;
	if (r < 0)
		return r;
	r = check_targets(k, e);
	if (r < 0)
		return r;
	return rec->kind->open(k, e);
}
