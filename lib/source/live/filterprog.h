#ifndef CPROF_SOURCE_LIVE_FILTERPROG_H
#define CPROF_SOURCE_LIVE_FILTERPROG_H

/*
 * Three small BPF programs that keep the samples of other tasks out of the rings of whole CPUs, as
 * instructions.  They need bpf(2) with CAP_BPF and CAP_PERFMON (Linux 5.8) or CAP_SYS_ADMIN, and
 * neither a compiler nor type information (BTF).
 *
 * Two maps say which tasks belong to the target.  IDS has the processes and threads that the user
 * named; TASKS has the addresses of tasks that they created later.
 *  - The filter runs at each sample of an event, and drops those of tasks in neither map.
 *  - The program at task_newtask, which runs before a new task does, adds it if its creator is in
 *    one of the maps.
 *  - The program at sched_process_free removes a task before its address can be used again.
 * So no sample of a new task is missing, however short it lives, and no reader has to keep up.  If
 * there is no room for a task, the filter accepts all samples from then on.
 *
 * Each function returns a descriptor, or -errno.
 */

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/live/bpfcode.h"

struct filterprog {
	int ids, tasks;        /* the maps; ids is -1 if the samples of all tasks are accepted,
				* tasks is -1 if later tasks are not targets */
	/* The pid namespace of the ids, as device and inode of /proc/self/ns/pid; inode 0: the
	 * initial one. */
	uint64_t ns_dev, ns_inode;
	int next;              /* the program that accepted samples run as well, if there is one */
};

/* A value of IDS: bits. */
enum filterprog_id {
	FILTERPROG_PROCESS = 1,    /* all threads of that process */
	FILTERPROG_THREAD = 2,     /* that thread */
	FILTERPROG_ALL = 4,        /* of id 0: accept everything */
};

#define FILTERPROG_TASKS_MAX 16384u

int filterprog_new_next(void);
int filterprog_set_next(int next, int program);
int filterprog_new_ids(uint32_t n_ids);
int filterprog_new_tasks(void);

/* Adds an id, or changes its value. */
int filterprog_set_id(int ids, uint32_t id, uint32_t bits);
/* The value of an id; 0: it has none. */
uint32_t filterprog_get_id(int ids, uint32_t id);

/* For PERF_EVENT_IOC_SET_BPF. */
int filterprog_load_filter(const struct filterprog *p);
/* The same without a filter, or as the next program of one: copies memory (samplecopy.h). */
struct samplecopy;
int filterprog_load_copy(const struct filterprog *p, const struct samplecopy *copy);

/* Attaches the programs for new and for released tasks; they run as long as the descriptor is
 * open. */
int filterprog_attach_new(const struct filterprog *p);
int filterprog_attach_free(const struct filterprog *p);

/* The instructions, for tests; each returns their number, at most BPFCODE_INSNS_MAX. */
size_t filterprog_filter(const struct filterprog *p, struct bpf_insn *ret);
size_t filterprog_copy(const struct filterprog *p, const struct samplecopy *copy,
		       struct bpf_insn *ret);
size_t filterprog_new_task(const struct filterprog *p, struct bpf_insn *ret);
size_t filterprog_free_task(const struct filterprog *p, struct bpf_insn *ret);

#endif
