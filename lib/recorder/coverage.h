#ifndef CPROF_RECORDER_COVERAGE_H
#define CPROF_RECORDER_COVERAGE_H

/*
 * How much CPU time the target really used while it was recorded, by the kernel's own accounts, to
 * compare with what the samples stand for.
 */

#include "proc/childpids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;
struct cprof_config;
struct cprof_event_stats;
struct cprof_stats;
struct host;
struct procs;

struct coverage_task {
	pid_t id;
	bool is_thread;
	uint64_t base_ns, base_children_ns;  /* when recording began */
};

struct coverage {
	const struct host *host;
	struct coverage_task *task;
	size_t n_tasks;
	const struct cgroup *cgroup;  /* the target's own, which accounts for all of it; or NULL */
	uint64_t base_cgroup_ns;
	bool all;                     /* all processes: the busy time of these CPUs */
	const char *cpus;             /* NULL: all CPUs */
	uint64_t base_cpus_ns;
	bool follow;                  /* children belong to the target */
	struct childpids outside;     /* but not these, which existed before the recording */
	bool command_done;            /* task[0] was a command that used command_ns in total */
	uint64_t command_ns;
	bool known;
	uint64_t used_ns;
};

/* Call it before events are opened, which new children inherit.  The arrays are borrowed only
 * during the call.  -ENOMEM. */
int coverage_init(struct coverage *c, const struct host *h, const pid_t *pid, size_t n_pids,
		  const pid_t *tid, size_t n_tids, pid_t command_pid, bool follow,
		  const struct cgroup *cgroup);
void coverage_done(struct coverage *c);

/* If `all`, the target is everything that runs on these CPUs (borrowed; see cpus_busy_ns), and the
 * targets given to coverage_init are ignored. */
void coverage_watch_cpus(struct coverage *c, bool all, const char *cpus);

/* Recording begins now. */
void coverage_start(struct coverage *c);

/* Recording ends now: adds up what each target and each living child used.  If a target has ended,
 * the sum is unknown, unless the target is a command; also if a child has ended that existed before
 * the recording, because the kernel adds its whole time to its parent's account. */
void coverage_stop(struct coverage *c, const struct procs *procs);

/* What the targets and their living children have used so far, which only differences of may be
 * used; false: unknown, as above.  Accounts of ended children have a resolution of 10 ms each. */
bool coverage_used(const struct coverage *c, const struct procs *procs, uint64_t *ret_ns);

/* CPU time of a command and the children that it waited for, since the fork, from wait4(2).  Call
 * it before coverage_stop. */
void coverage_command_used(struct coverage *c, uint64_t cpu_ns);

/* Do samples of a clock with this name stand for user or kernel code only? */
bool coverage_is_one_side(const struct cprof_config *config, const char *name,
			  bool given_up_kernel);

/* The percentage of CPU time used, or of the event's count, that the samples stand for; negative if
 * the two cannot be compared. */
double coverage_percent(const struct cprof_config *config, const struct cprof_stats *stats,
			const struct cprof_event_stats *event);

#endif
