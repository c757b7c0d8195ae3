#ifndef CPROF_H
#define CPROF_H

/*
 * libcprof: record a profile of this program, of other processes or threads, or of a command.
 *
 *     struct cprof_config config = { .self = CPROF_SELF_PROCESS };
 *     struct cprof_recorder *r;
 *     struct cprof_error e;
 *     if (cprof_recorder_new(&config, &r, &e) < 0)
 *             fprintf(stderr, "%s\n%s\n", e.what, e.hint);
 *     cprof_recorder_start(r, &e);
 *     ...                                           // call cprof_recorder_step regularly
 *     cprof_recorder_stop(r, &e);
 *     cprof_recorder_write_file(r, 0, "cpu.pb.gz", &e);
 *     cprof_recorder_free(r);
 *
 * libcprof(3) has the complete rules.  Functions that can fail return a negative errno and fill a
 * struct cprof_error.  The library never prints, exits or changes signal handlers, creates threads
 * only if n_readers requests them, and has no state outside of its objects.  A recorder belongs to
 * one thread at a time, which may change; several threads may use different recorders at the same
 * time.  After fork(2) it still belongs to the parent: in the child all functions except
 * cprof_recorder_free, statistics and cprof_recorder_write fail with -ECHILD.
 *
 * Structs that may grow are passed with their size: the inline functions pass the sizeof that the
 * program was compiled with.  Fields that the library does not know must be zero (-E2BIG), and
 * fields that the program does not know are left out.  The first fields of struct cprof_config
 * alone are therefore a valid configuration.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cprof-error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Independent of the flags of the program that includes this. */
#pragma GCC visibility push(default)

struct cprof_recorder;
struct cprof_cgroup;
struct cprof_kind;
struct cprof_machine;
struct cprof_preload;
struct perf_event_attr;

enum cprof_scope {
	CPROF_SCOPE_AUTO,    /* the best scope that is allowed */
	CPROF_SCOPE_TASK,    /* inherited per-thread events: no privileges, misses short threads */
	CPROF_SCOPE_CPU,     /* per-CPU events, filtered to the target */
	CPROF_SCOPE_CGROUP,  /* per-CPU events of a cgroup created for the command */
};

enum cprof_callgraph {
	CPROF_CALLGRAPH_AUTO,   /* DWARF if the kernel provides user registers, else FP */
	CPROF_CALLGRAPH_DWARF,  /* CFI, user registers and a copy of the stack */
	CPROF_CALLGRAPH_FP,     /* frame pointers, followed by the kernel */
	CPROF_CALLGRAPH_NONE,   /* the sampled address only */
	CPROF_CALLGRAPH_LBR,    /* the CPU's record of calls; some Intel CPUs only */
};

/* Bits of cprof_config.labels. */
enum cprof_label {
	CPROF_LABEL_PID = 1, CPROF_LABEL_TID = 2, CPROF_LABEL_THREAD_NAME = 4,
	CPROF_LABEL_PROCESS_NAME = 8, CPROF_LABEL_CPU = 16, CPROF_LABEL_CGROUP = 32,
	CPROF_LABEL_STACK = 64,
	CPROF_LABEL_EXE = 128,  /* exe, the path of the program, and exe_build_id */
	CPROF_LABEL_PROCESS_TITLE = 256,  /* as ps shows it, with the arguments */
};

/* The calling program as target. */
enum cprof_self {
	CPROF_SELF_NONE,
	CPROF_SELF_PROCESS,  /* all threads, and children */
	CPROF_SELF_THREAD,   /* only the thread that calls cprof_recorder_new */
};

enum cprof_demangle {
	CPROF_DEMANGLE_SIMPLE,         /* scopes and template arguments, no parameters */
	CPROF_DEMANGLE_NONE,           /* as in the object file */
	CPROF_DEMANGLE_FULL,           /* as c++filt shows it */
};

/* Whether to fetch debug files from the servers in $DEBUGINFOD_URLS. */
enum cprof_debuginfod {
	CPROF_DEBUGINFOD_OFF,
	CPROF_DEBUGINFOD_AUTO,         /* if that variable is set */
	CPROF_DEBUGINFOD_ON,           /* with a warning if it is not set */
};

/* All zero is a valid start.  Its size never changes. */
struct cprof_naming {
	enum cprof_demangle demangle;
	bool no_symbols;               /* no names of code in files; the kernel and JIT code are
					* named nevertheless, because later is too late */
	bool kernel_debug;             /* inlined calls, files and lines of the kernel, too */
	bool no_cache;                 /* do not use cache_dir */
	bool kernel_addresses;         /* addresses of kernel code as they were in memory, not at
					* link time: they reveal where the kernel is */
	enum cprof_debuginfod debuginfod;
	bool no_debug_info;            /* symbol tables only: no inlined calls, files, lines */
	uint64_t debuginfod_ns;        /* for all files together; 0: 30 s */
	const char *kernel_debug_file; /* vmlinux, or a folder with it and *.ko; NULL: the
					* places where packages install it */
	uint64_t reserved[3];          /* zero */
};

/* The level of explanations. */
enum cprof_explain {
	CPROF_EXPLAIN_WARN,            /* something differs from the request */
	CPROF_EXPLAIN_NOTE,            /* a choice that users should know */
	CPROF_EXPLAIN_ALL,             /* which attributes, which fallback, which symbol source */
};

/* Which threads are stopped while a snapshot reads them, by ptrace(2): some system calls of a
 * thread that was stopped fail with EINTR. */
enum cprof_snapshot_stop {
	CPROF_STOP_NEVER, CPROF_STOP_RUNNING, CPROF_STOP_ALL,
};

/* What stacks show of an interpreter: see cprof-languages(7). */
enum cprof_interpreter {
	CPROF_INTERPRETER_AUTO,        /* its functions, and native ones that say something */
	CPROF_INTERPRETER_MIXED,       /* its functions, and all native ones */
	CPROF_INTERPRETER_ONLY,        /* its functions, and the innermost native one */
	CPROF_INTERPRETER_NONE,        /* native functions */
};

/* The labels of goroutines (cprof-go(7)). */
enum cprof_go_labels {
	CPROF_GO_LABELS_AUTO,          /* exact where that costs the program less than 1 % */
	CPROF_GO_LABELS_EXACT,         /* exact or none */
	CPROF_GO_LABELS_LATE,          /* as read some milliseconds after the sample */
	CPROF_GO_LABELS_OFF,
};

#define CPROF_READERS_MAX 256
#define CPROF_READERS_AUTO UINT32_MAX

/* What to record.  All zero but a target is a valid start; pointers are borrowed until
 * cprof_recorder_free. */

struct cprof_config {
	const struct cprof_kind *kind; /* NULL: cprof_cpu_recorder() */
	enum cprof_self self;          /* this program as a target */
	enum cprof_scope scope;
	const char *const *event;      /* in the syntax of cprof-events(7); NULL: chosen */
	size_t n_events;
	const char *freq, *period;     /* default rate, "999", "max"; set at most one; neither:
					* 999 Hz for clocks and the PMU, a period for others.  A
					* period with a unit ("1ms") is for clocks and waits */
	const pid_t *pid, *tid;        /* targets: processes, single threads */
	size_t n_pids, n_tids;
	pid_t command_pid;             /* a child that waits to exec; 0: none */
	enum cprof_callgraph callgraph;
	uint32_t stack_bytes;          /* of each stack copy, a multiple of 8; 0: chosen */
	uint32_t max_depth;            /* frames of one stack unwound by CFI; 0: 16384 */
	bool only_user, only_kernel;
	bool scale;                    /* scale values of multiplexed events */
	bool adaptive;                 /* lower a rate that is too high for the machine */
	bool no_inherit;               /* leave out threads and children created later */
	bool pausable;                 /* allow cprof_recorder_pause */
	bool start_paused;             /* start paused, until cprof_recorder_resume */
	bool labels_given;             /* false: the default labels that differ between samples */
	unsigned labels;               /* enum cprof_label bits */
	const char *const *label;      /* "KEY=VALUE" on every sample */
	size_t n_labels;
	uint64_t ring_bytes;           /* per CPU; 0: chosen */
	uint64_t max_memory_bytes;     /* 0: 256 MiB */
	uint64_t delay_ns;             /* skip this time at the start */
	uint64_t keep_last_ns;         /* only this last time, or a little more; 0: all */
	const char *command_line;      /* for the file's comments; NULL: none */
	const char *note;              /* an additional comment; NULL: none */
	struct cprof_naming naming;
	uint64_t symbol_timeout_ns;    /* for one file's debug information; 0: 10 s */
	const char *cache_dir; /* for kernel names and unpacked debug information; NULL: none */
	/* Called with explanations up to explain_max, one line each; may be NULL. */
	void (*explain)(void *ctx, unsigned level, const char *text);
	void *explain_ctx;
	enum cprof_explain explain_max;
	const struct cprof_machine *machine; /* for cprof's own tests; NULL */
	bool all_processes;            /* of the machine, instead of other targets; scope cpu */
	const char *cpus;              /* with it, these CPUs only: "0-3,8"; NULL: all */
	const char *command_file;      /* the file that command_pid will execute; NULL: unknown */
	const struct cprof_cgroup *command_cgroup; /* where command_pid was started; NULL */
	/* Threads that read samples, the caller's included; 0: 1.  CPROF_READERS_AUTO: one, and
	 * more while they are too busy, up to a quarter of the CPUs; for snapshots of threads, up
	 * to four while CPUs are idle.  With more than 1, other threads may replace rings by
	 * larger ones, and look on which CPUs targets run while a snapshot is taken. */
	uint32_t n_readers;
	/* Called in each thread that the recorder creates to read, when it begins and before it
	 * ends; NULL.  Such a thread calls nothing else of the caller's. */
	void (*on_reader)(void *ctx, bool begins);
	void *on_reader_ctx;
	bool no_bpf;                   /* load no BPF program: see --no-bpf of cprof record */
	/* Events of waits (cprof-waiting(7)).  Shorter ones are left out, except of wall; 0: none.
	 * Up to switch_rate_max per second get a stack each; 0: 10000.  locks: waits for locks have
	 * the labels lock and holder. */
	bool locks;
	uint64_t off_cpu_min_ns, switch_rate_max;
	/* Snapshots: only what has been waiting at least so long; 0: all. */
	uint64_t min_wait_ns;
	enum cprof_snapshot_stop snapshot_stop;  /* of kinds that take snapshots */
	/* While a snapshot is taken, its threads do not run on CPUs that the targets use, if others
	 * are idle.  leaves_cpus: nor does the calling thread until the recorder is freed. */
	bool leaves_cpus;
	enum cprof_interpreter interpreter;      /* in snapshots of threads, and in waits */
	bool no_runtime_names;         /* do not read names from the memory of language runtimes */
	enum cprof_go_labels go_labels;
	bool go_ids;                   /* the number of the goroutine is a label, too */
	bool page_bytes;               /* page faults count as the bytes of a page */
	/* Profiles of memory: what command_pid was started with; NULL.  delta: what is in use is
	 * shown as the change since the profile's start. */
	const struct cprof_preload *command_preload;
	bool delta;
	bool peak;                     /* in use at the peak, too; not with delta */
	bool age;                      /* blocks in use have the label age */
	/* Samples have the label time, in ns since the profile's start: when a bucket of time began
	 * that is so long, or longer after 600 of them; 0: they have not. */
	uint64_t timeline_ns;
	/* For recordings without an end at a low rate: memory of programs is read seldom, so that
	 * more samples lack labels that change fast, or the callers of interpreted functions; and
	 * no process's owner is read, so all count as the caller's. */
	bool frugal;
};

/* The results of one event; strings are borrowed from the recorder. */
struct cprof_event_stats {
	const char *name;              /* "cache-misses:u" */
	const char *file_part;         /* the name as a part of a file name */
	const char *sample_type, *unit;
	double count_scale;            /* a count times this is one count_unit; 0: none */
	const char *count_unit;        /* "Joules", if the PMU has a unit; "": none */
	uint32_t group;                /* of events counted together; 0: none */
	bool is_clock, given_up_kernel;
	uint64_t freq_hz, period;      /* as opened: one of them, the other 0 */
	uint64_t n_samples, value;     /* in the profile, lost ones not included */
	uint64_t n_lost; /* because the ring was full; of all tasks in scope cpu */
	uint64_t n_lost_shown;         /* the target's part, shown as one frame in the profile */
	/* According to LOST records, LOST_SAMPLES records (the PMU's own buffer), and the kernel's
	 * counter (Linux 6.0); n_lost is the best of the three.  With events of threads, all of
	 * them include other records of the event, about mappings and new threads; with a period
	 * of 1, n_lost does not. */
	uint64_t n_lost_records, n_lost_by_pmu, n_lost_counted;
	bool lost_counted_known;
	uint64_t n_throttles, throttled_ns;  /* how often and how long */
	size_t n_rate_cuts;            /* see cprof_recorder_rate_cut */
	unsigned precise_asked, precise;
	uint64_t sample_cost_ns;       /* for the interrupted task; 0: unknown */
	double scale;                  /* the factor of the values in the file */
	uint64_t counted; /* by the event's counter; in scope cpu of all tasks */
	bool counted_target;           /* counted covers the target only */
	uint64_t time_enabled_ns, time_running_ns;
	/* The target's part of n_lost.  In scope cpu, where samples of other tasks are lost, too,
	 * it is an estimate: at most n_lost_max of n_lost_all.  Otherwise these two are 0. */
	uint64_t n_lost_target, n_lost_max, n_lost_all;
	uint64_t n_foreign;            /* samples of other tasks, discarded (scope cpu) */
	/* The value is time of threads, most of it without a CPU (cprof-waiting(7)); in part of it
	 * they waited with an unknown stack. */
	bool is_waiting;
	uint64_t no_stack_ns;
	/* Part of no_stack_ns: the record of their end is missing, so that they are counted up to
	 * the next one of their thread, with the run between. */
	uint64_t torn_ns;
	/* Waits without a stack of their own, because there were more than switch_rate_max: their
	 * time is divided among others of the same thread. */
	uint64_t n_unsampled;
	/* The profile is what the targets were doing at one moment, or at some moments: n_samples
	 * threads or goroutines, and for how long they had waited then. */
	bool is_snapshot;
	uint64_t unit_each;            /* what an event counts for in value: a page's bytes, or 1 */
	bool is_argument;              /* value is the sum of an argument of a probe, in unit */
};

struct cprof_stats {
	int64_t start_realtime_ns;
	uint64_t duration_ns;
	enum cprof_scope scope;        /* the present one; AUTO: an import does not know it */
	bool user_only;                /* kernel code could not be sampled */
	bool cpu_used_known;
	uint64_t cpu_used_ns;          /* CPU time of the target, by the kernel's accounts */
	uint64_t n_stacks, n_frames, n_processes, n_threads;
	uint64_t n_truncated;          /* stacks with [truncated] for lack of space */
	uint64_t n_cut;                /* stacks that ended before the root for another reason */
	uint64_t n_not_unwound;        /* samples of 32-bit code, without callers */
	uint64_t n_unknown_pc, n_shortened, n_dropped, n_labels_dropped;
	/* Labels set by programs (cprof-labels.h): processes with labels; processes whose labels
	 * may not be read; samples with unknown labels; changes beyond the limit. */
	uint64_t n_labelled, n_labels_denied, n_labels_unknown, n_labels_other;
	uint64_t n_undecodable, n_unknown_records, n_out_of_order;
	uint64_t n_foreign;            /* samples of other tasks, discarded (scope cpu) */
	uint64_t n_frames_user, n_frames_user_named, n_frames_kernel, n_frames_kernel_named;
	uint64_t peak_memory_bytes;    /* of the memory charged to max_memory_bytes */
	uint64_t own_cpu_ns;           /* of this process since cprof_recorder_new */
	bool cost_known;
	uint64_t cost_ns;              /* estimated cost of sampling in the target's time */
	uint64_t ring_bytes;
	uint64_t record_bytes;         /* delivered by the kernel since the start */
	uint32_t stack_bytes;          /* of each stack copy at the end; 0: none */
	uint32_t n_fds, n_cpus, n_cpus_failed;
	bool kernel_names_hidden;
	uint64_t n_debug_misfits;      /* files whose debug file belongs to another file */
	uint64_t n_symbol_timeouts;    /* files cut short by symbol_timeout_ns */
	uint64_t n_own_samples;        /* with all_processes: of the recording process */
	uint64_t n_born;               /* threads and processes created by the target */
	int64_t end_realtime_ns;       /* start_realtime_ns, the duration and all pauses */
	/* A profile shows processes of other users, or (once it is written) addresses of the
	 * kernel: it is for its owner only. */
	bool is_private;
	const char *scope_reason;      /* why this scope; borrowed from the recorder */
	/* Each ring has copies of its own size: stack_bytes is the largest at the end, this one the
	 * smallest; how often a ring could not carry its copies, and they were halved. */
	uint32_t stack_bytes_min, n_stack_cuts;
	uint32_t n_readers;            /* threads that read samples now */
	uint64_t switch_period_max;    /* one of so many switches was sampled, at the least; 0: none
					* was */
	const char *waits_from;        /* how waits were measured; static, NULL: they were not */
	bool kernel_filter;            /* scope cpu: the kernel drops samples of other tasks */
	size_t n_scope_changes;        /* see cprof_recorder_scope_change */
	uint32_t n_readers_max;        /* the most at any time */
	/* Labels of goroutines: processes that have some; their samples with exact labels, with
	 * labels read late, and with unknown ones; of the late ones, the share that may be wrong
	 * at most. */
	uint64_t n_go_labelled, n_go_exact, n_go_late, n_go_unknown;
	double go_late_wrong_max;
	uint64_t n_go_changes, go_changes_ns; /* reported by breakpoints; what that cost */
	const char *go_not_exact;      /* why labels are late; borrowed from the recorder, or "" */
	uint64_t n_go_unsupported;     /* Go programs whose layout is unknown, and */
	const char *go_unsupported;    /* the version of one; likewise */
	/* With page_bytes: huge pages that page faults of all programs got meanwhile; each counts
	 * as a small one. */
	uint64_t n_huge_pages;
	/* Functions of interpreters (cprof-languages(7)): samples whose functions are exact, or
	 * whose callers are remembered, or unknown; and those where the innermost function is
	 * unknown, so that they have none. */
	uint64_t n_functions_exact, n_functions_remembered, n_functions_innermost;
	uint64_t n_functions_unknown;
	uint64_t functions_lag_ns;     /* between a sample and its reading, on average */
	uint64_t functions_ns;         /* time that reading has taken */
	uint64_t functions_step_ns;    /* the shortest time between two readings; 0: none was */
	const char *functions_of;      /* "python 3.11.2"; "": there were none */
	const char *functions_refused; /* which processes' are unknown, and why; or "" */
	uint64_t n_functions_refused;  /* samples of these processes */
	/* Profiles of memory: samples of blocks, and of their ends, that did not fit into the ring;
	 * sampled blocks whose end could not be known; rings that hold something else; and how
	 * often half of the blocks in use were dropped because there were too many. */
	uint64_t n_allocs_lost, n_frees_lost, n_allocs_untracked, n_rings_bad, n_held_halvings;
	/* Samples whose functions have code of their own, with names in a map: python3 -X perf. */
	uint64_t n_functions_mapped;
};

/* ---- life ---------------------------------------------------------------------------- */

/* The kinds of recorders. */
const struct cprof_kind *cprof_cpu_recorder(void);  /* perf events of any type */

/*
 * How long threads wait (cprof-waiting(7)): one event each, so that n_events is 0.  With the period
 * "N", one of N switches gets a stack, and stands for the others of its thread; with "1ms", whole
 * quanta of that time are counted; without, each wait.  Of wall, freq or period is the rate of the
 * clock that samples running threads.
 */
const struct cprof_kind *cprof_off_cpu_recorder(void);
const struct cprof_kind *cprof_wall_recorder(void);
const struct cprof_kind *cprof_block_recorder(void);
const struct cprof_kind *cprof_mutex_recorder(void);
/* What each goroutine of Go programs is doing at a moment, cprof-go(7): cprof_recorder_snapshot
 * reads it, without stopping the programs.  See cprof-snapshot.h. */
const struct cprof_kind *cprof_goroutine_recorder(void);

/*
 * Memory (cprof-memory(7)): who allocates, and with heap, who holds what is in use, too.  One
 * event, so that n_events is 0; period is the number of bytes between two samples, on average.  The
 * targets are processes with libcprof-alloc.so: a command gets it by cprof_preload_new.
 */
const struct cprof_kind *cprof_alloc_recorder(void);
const struct cprof_kind *cprof_heap_recorder(void);

/*
 * What a command needs so that its memory can be recorded: start it with these variables in its
 * environment ("NAME=value", borrowed; NULL after the last one), and pass the object as
 * config.command_preload.  library is the absolute path of libcprof-alloc.so: -EPERM if another
 * user can write to it.  Free it after the recorder.
 */
int cprof_preload_new(const char *library, struct cprof_preload **ret, struct cprof_error *e);
const char *cprof_preload_variable(const struct cprof_preload *p, size_t i);
void cprof_preload_free(struct cprof_preload *p);

/*
 * What each thread of the targets is doing (cprof-snapshot(1)), without events: it records nothing
 * until cprof_recorder_snapshot, which reads the threads and adds a sample for each.  The targets
 * are running processes and threads.
 */
const struct cprof_kind *cprof_snapshot_recorder(void);
const char *cprof_kind_name(const struct cprof_kind *kind);  /* "cpu"; static */

/*
 * A cgroup for a command, below this process's own.  The kernel then delivers the samples of the
 * command and its descendants, and no others.  Create it before the command is forked, start the
 * command in it (clone3(2), CLONE_INTO_CGROUP) and pass it as config.command_cgroup.  With
 * CPROF_SCOPE_AUTO it is created only where it changes nothing for the command.  The descriptor is
 * borrowed; -1: there is no group, and the recorder knows why.  NULL: no memory.
 *
 * Free it after the recorder: that moves running processes back and removes the group.
 */
struct cprof_cgroup *cprof_cgroup_new(enum cprof_scope scope);
int cprof_cgroup_fd(const struct cprof_cgroup *g);
void cprof_cgroup_free(struct cprof_cgroup *g);

/* Opens all events, disabled; e says what failed, why, and what to do.  The caller frees. */
int cprof_recorder_new_sized(const struct cprof_config *config, size_t config_bytes,
			     struct cprof_recorder **ret_recorder, struct cprof_error *e);
static inline int cprof_recorder_new(const struct cprof_config *config,
				     struct cprof_recorder **ret_recorder, struct cprof_error *e)
{
	return cprof_recorder_new_sized(config, sizeof(*config), ret_recorder, e);
}
/* In any state; r may be NULL.  Discards what was not written. */
void cprof_recorder_free(struct cprof_recorder *r);

/* Enables the events; once (-EALREADY).  For a command, call it before the child execs. */
int cprof_recorder_start(struct cprof_recorder *r, struct cprof_error *e);

enum cprof_state { CPROF_RUNNING, CPROF_TARGET_GONE };

/*
 * A descriptor that poll(2) reports as readable when cprof_recorder_step has something to do.
 * Borrowed.  Only step drains the rings: a program that calls it too rarely (a few times a second
 * at 999 Hz) loses samples, which are counted.  For recordings of seconds the rings are large
 * enough.
 */
int cprof_recorder_fd(struct cprof_recorder *r, struct cprof_error *e);

/* Waits for records, at most timeout_ms or until one of the n descriptors is readable, which sets
 * its flag in ret_ready, and processes them.  Returns an enum cprof_state. */
int cprof_recorder_step(struct cprof_recorder *r, int timeout_ms, const int *fds, size_t n_fds,
			bool *ret_ready, struct cprof_error *e);

/* Reports that the command has called exec: from now on its samples count, even if the kernel's
 * record of the exec is lost. */
void cprof_recorder_command_started(struct cprof_recorder *r);

/* Reports the CPU time that a command used, from wait4(2), which has the exact value. */
void cprof_recorder_command_used(struct cprof_recorder *r, uint64_t cpu_ns);

/* Disables the events, drains the rings, reads the counters. */
int cprof_recorder_stop(struct cprof_recorder *r, struct cprof_error *e);

/*
 * Pauses and resumes sampling of one event, or of CPROF_ALL_EVENTS, any number of times.  The
 * window of a profile is exact: it contains no samples and no counts of a pause.
 */
#define CPROF_ALL_EVENTS SIZE_MAX
int cprof_recorder_pause(struct cprof_recorder *r, size_t event, struct cprof_error *e);
int cprof_recorder_resume(struct cprof_recorder *r, size_t event, struct cprof_error *e);

/* Processes everything up to now, so that statistics and cprof_recorder_write include it;
 * recording continues. */
int cprof_recorder_snapshot(struct cprof_recorder *r, struct cprof_error *e);

/* Discards everything processed so far: the next profile begins.  After a snapshot that was
 * written, no sample is lost or counted twice. */
int cprof_recorder_clear(struct cprof_recorder *r, struct cprof_error *e);

/* ---- results --------------------------------------------------------------------------- */

/* There is one profile per event.  A "*" or a list in one event text can give several events. */
size_t cprof_recorder_n_events(const struct cprof_recorder *r);

/* The event with that name, as in cprof_event_stats, or with another name of the same event;
 * -ENOENT if there is no such event. */
int cprof_recorder_find_event(const struct cprof_recorder *r, const char *name);

/* The attr of the event (<linux/perf_event.h>); borrowed, and may change at each step.  NULL if the
 * kind of recorder opens no perf events. */
const struct perf_event_attr *cprof_recorder_attr(const struct cprof_recorder *r, size_t event);

/* Valid after start; complete after stop and snapshot. */
void cprof_recorder_stats_sized(struct cprof_recorder *r, struct cprof_stats *ret_stats,
				size_t n_bytes);
void cprof_recorder_event_stats_sized(struct cprof_recorder *r, size_t event,
				      struct cprof_event_stats *ret_stats, size_t n_bytes);
static inline void cprof_recorder_stats(struct cprof_recorder *r, struct cprof_stats *ret_stats)
{
	cprof_recorder_stats_sized(r, ret_stats, sizeof(*ret_stats));
}
static inline void cprof_recorder_event_stats(struct cprof_recorder *r, size_t event,
					      struct cprof_event_stats *ret_stats)
{
	cprof_recorder_event_stats_sized(r, event, ret_stats, sizeof(*ret_stats));
}

/* A rate that was lowered during the recording (config.adaptive).  Its size never changes. */
struct cprof_rate_cut {
	uint64_t time_ns;              /* since the start */
	bool is_freq;                  /* Hz, else a period */
	uint64_t from, to;
	const char *why;               /* static */
};
/* Cut i of an event; false after the last one. */
bool cprof_recorder_rate_cut(const struct cprof_recorder *r, size_t event, size_t i,
			     struct cprof_rate_cut *ret);

/* A change of the scope while this profile was recorded.  Its size never changes. */
struct cprof_scope_change {
	uint64_t time_ns;              /* since the start */
	enum cprof_scope from, to;
	const char *why;               /* static */
};
/* Change i; false after the last one. */
bool cprof_recorder_scope_change(const struct cprof_recorder *r, size_t i,
				 struct cprof_scope_change *ret);

/* How user stacks ended: counts by reason, in total or for the code of one file. */
#define CPROF_N_STACK_ENDS 11
#define CPROF_STACK_ENDS_MAX 24
struct cprof_stack_ends {          /* its size never changes */
	const char *path;              /* file of the outermost known frame; NULL: total */
	uint64_t n[CPROF_STACK_ENDS_MAX];  /* the first CPROF_N_STACK_ENDS are in use */
	uint64_t n_guessed; /* heuristic frames, found without CFI (in the total only) */
	uint64_t n_joined;  /* "beyond the copy", but completed (in the total only) */
};
/* Entry 0 is the total; the others are files with stacks that ended early, unordered; false after
 * the last one. */
bool cprof_recorder_stack_ends(struct cprof_recorder *r, size_t i, struct cprof_stack_ends *ret);
/* "root", "beyond the copy" ...; NULL from CPROF_N_STACK_ENDS on. */
const char *cprof_stack_end_name(size_t reason);

/* What the samples represent, as a percentage of the kernel's accounts of the target (CPU time, or
 * the event's counter); negative if the two cannot be compared. */
double cprof_coverage_percent(struct cprof_recorder *r, size_t event);

/* Samples that show no function of the program's own language, because JIT code has no names or
 * only the frames of an interpreter are known. */
struct cprof_unnamed {             /* its size never changes */
	double percent;            /* of the profile's value; 0: less than 5 % */
	const char *what;          /* "in Java code without names" */
	const char *remedy;        /* how to get names; NULL: there is no way */
};
/* After the profile of this event was written; before, percent is 0. */
void cprof_recorder_unnamed(const struct cprof_recorder *r, size_t event,
			    struct cprof_unnamed *ret);

/*
 * 0 if the event has samples.  Otherwise -ENODATA, with the likely cause in e.  *ret_counted_zero
 * is set if the event did not happen at all.
 */
int cprof_recorder_check(struct cprof_recorder *r, size_t event, bool *ret_counted_zero,
			 struct cprof_error *e);

/* Writes the gzipped pprof of one event, after stop or snapshot; write returns 0 or -errno, which
 * is passed on.  The first call looks up names. */
int cprof_recorder_write(struct cprof_recorder *r, size_t event,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct cprof_error *e);

/* The same to a descriptor, which stays open and must be blocking; the caller handles SIGPIPE. */
int cprof_recorder_write_fd(struct cprof_recorder *r, size_t event, int fd, struct cprof_error *e);

/* The same to a file, which appears complete, replacing an existing one, or not at all. */
int cprof_recorder_write_file(struct cprof_recorder *r, size_t event, const char *path,
			      struct cprof_error *e);

/* ---- a part of a program ------------------------------------------------------------------- */

/*
 * Records the calling thread until cprof_record_end, which writes the first event's profile to path
 * (NULL: nowhere) and frees the recorder even if it fails.  config may be NULL; if it names no
 * target, the calling thread is recorded.  cprof_record_end(NULL, ...) does nothing and returns 0.
 */
int cprof_record_begin_sized(const struct cprof_config *config, size_t config_bytes,
			    struct cprof_recorder **ret_recorder, struct cprof_error *e);
static inline int cprof_record_begin(const struct cprof_config *config,
				    struct cprof_recorder **ret_recorder, struct cprof_error *e)
{
	return cprof_record_begin_sized(config, sizeof(*config), ret_recorder, e);
}
int cprof_record_end(struct cprof_recorder *r, const char *path, struct cprof_error *e);

#pragma GCC visibility pop

#ifdef __cplusplus
}

namespace cprof {

/* Records the calling thread during the object's life, then writes a file.  end() does what the
 * destructor would do; ok() and error() report failures of both. */
class recording {
public:
	explicit recording(const char *path, const cprof_config *config = nullptr)
		: path_(path), recorder_(nullptr), error_()
	{
		ok_ = cprof_record_begin(config, &recorder_, &error_) == 0;
	}
	~recording() { end(); }
	recording(const recording &) = delete;
	recording &operator=(const recording &) = delete;
	bool end()
	{
		if (recorder_)
			ok_ = cprof_record_end(recorder_, path_, &error_) == 0;
		recorder_ = nullptr;
		return ok_;
	}
	bool ok() const { return ok_; }
	const cprof_error &error() const { return error_; }
	cprof_recorder *recorder() const { return recorder_; }

private:
	const char *path_;
	cprof_recorder *recorder_;
	cprof_error error_;
	bool ok_;
};

}
#endif

#endif
