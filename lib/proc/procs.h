#ifndef CPROF_PROC_PROCS_H
#define CPROF_PROC_PROCS_H

/*
 * The processes of a session as its records describe them: names of threads, forks, and address
 * spaces.  Records arrive in time order, so an address means what was mapped there at that moment.
 * Nothing is dropped for lack of memory.
 *
 * Threads and processes that have exited are kept until PROCS_KEEP_EXITED more threads have exited
 * (the kernel still samples an exiting task), and are then forgotten, so that memory grows with the
 * living threads only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/idmap.h"
#include "proc/mapdso.h"
#include "proc/procs-space.h"
#include "symbolize/elf/dso.h"

struct budget;
struct host;
struct record;
struct strtab;

#define PROCS_KEEP_EXITED 256u

enum procs_owner {
	PROCS_OWNER_UNREAD,
	PROCS_OWNER_CALLER,
	PROCS_OWNER_OTHER,
};

struct procs_thread {
	uint32_t tid;
	uint32_t name;         /* strtab id; 0 unknown */
	struct procs_process *process;
	void *user;            /* the session's (frame memo); freed with the thread by user_free */
	bool target;           /* recorded, even if the process as a whole is not */
	bool exited;
	bool is_missed;        /* the session's: see engine/gc-threads.c */
	uint32_t slot;         /* private: index in procs.thread */
	struct procs_thread *next_exited; /* private: the next one to exit */
};

struct procs_process {
	uint32_t pid, ppid;
	uint32_t name;         /* name of the leader thread, as of the last exec */
	uint32_t exe;          /* dso id of the main binary; UINT32_MAX unknown */
	uint32_t cgroup;       /* strtab id of its cgroup's path, kept by the session; 0 unknown */
	uint32_t parent_cgroup;/* of its parent at the fork */
	uint32_t title;        /* strtab id, kept by labels/processtitle.c; 0 unknown */
	uint32_t n_losses_seen; /* the session's: see engine/reread-maps.c */
	uint64_t remap_ns, exec_ns, title_ns;  /* likewise; of its last exec, and title; 0: none */
	struct procs_space space;
	bool target;           /* all its threads are targets */
	bool target_threads;   /* some of its threads are targets */
	bool exited;           /* all its threads have exited */
	uint8_t owner;         /* the session's: enum procs_owner, unread after each exec */
	bool known;            /* private, as all below: from a record, not only a look-up */
	bool saw_exec;         /* mappings come from an exec: the first file is the main binary */
	bool is_bare, is_removed; /* it has mapped no code since its exec; and got an EXIT */
	bool exe_is_read, exe_sure;
	uint64_t exe_ino;      /* of /proc/PID/exe; 0 unknown */
	uint32_t slot, n_threads, n_alive;  /* index in procs.process */
};

struct procs {
	struct budget *budget;        /* may be NULL */
	struct strtab *strings;       /* borrowed */
	struct dso_table *dsos;       /* borrowed */
	const struct host *host;      /* live: opens files through it; NULL: opens none (replay) */
	struct procs_process **process;  /* the known processes, in no order */
	size_t n_processes, cap_processes;
	struct procs_thread **thread;
	size_t n_threads, cap_threads;
	uint32_t first_exe;           /* dso of mapping[0]: the last program of the first process */
	uint32_t first_exe_pid;       /* that process */
	void (*user_free)(void *user);/* for procs_thread.user; NULL: free() */
	bool only_targets;            /* records of other processes are fed, too: see procs_feed */
	bool no_first_exe;            /* no program is the main one */
	uint64_t n_removed;           /* processes that go on without events */
	/* private */
	bool first_exe_sure;
	uint32_t next_serial;
	struct idmap pids, tids;
	struct mapdso mapdso;
	struct procs_thread *oldest_exited, *newest_exited;
	size_t n_exited;
	size_t n_index_bytes;         /* charged for pids and tids */
};

int procs_init(struct procs *p, struct budget *budget, struct strtab *strings,
	       struct dso_table *dsos, const struct host *host);
void procs_done(struct procs *p);

/*
 * Processes MMAP, MMAP2, COMM, FORK and EXIT; ignores other records, mappings of the kernel and
 * mappings without PROT_EXEC.  Duplicates are harmless.
 *
 * FORK of a process (pid != ppid): the child is a target if `follow` is set and the forking thread
 * is one.  FORK of a thread: it is a target if its whole process is one, or if `follow` is set and
 * the thread that made it is one.
 *
 * With a host, a file is opened when it is first mapped.  With only_targets, files that other
 * processes map are not opened, since their code is never named, and such processes do not set
 * first_exe.
 */
void procs_feed(struct procs *p, const struct record *r, bool follow);
/* Is this EXIT record no end, but the removal of a task's events by exec? */
bool procs_note_removal(struct procs *p, const struct record *r);

/* Makes the process, or one thread of it, a target, and opens the files it has mapped already.
 * Call it before feeding its mappings if they are to set first_exe. */
void procs_target_process(struct procs *p, struct procs_process *proc);
void procs_target_thread(struct procs *p, struct procs_thread *t);

/* Calls each with every string id that is kept here; each may change it. */
void procs_each_string(struct procs *p, void (*each)(void *ctx, uint32_t *string), void *ctx);

/* Sets used[] for DSOs that processes have mapped, and for main binaries; in the second case not
 * for those of ended processes. */
void procs_mark(const struct procs *p, bool *used);
void procs_mark_running(const struct procs *p, bool *used);

/* NULL if no record mentioned it. */
struct procs_process *procs_find(const struct procs *p, uint32_t pid);
struct procs_thread *procs_find_thread(const struct procs *p, uint32_t tid);

/* Gives p's space a new serial: the meaning of its addresses has changed other than by a
 * mapping. */
static inline void procs_renew(struct procs *p, struct procs_process *proc)
{
	proc->space.serial = p->next_serial++;
}

static inline bool procs_is_target(const struct procs_thread *t)
{
	return t->target || t->process->target;
}

/* Finds, or creates (with no mappings and an unknown name); NULL: no memory.  A thread whose
 * process changed (tid reused) is created anew.  Borrowed until the next procs_feed or procs_thread
 * that creates something. */
struct procs_process *procs_process(struct procs *p, uint32_t pid);
struct procs_thread *procs_thread(struct procs *p, uint32_t pid, uint32_t tid);

#endif
