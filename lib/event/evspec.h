#ifndef CPROF_EVENT_EVSPEC_H
#define CPROF_EVENT_EVSPEC_H

/*
 * What the user requests with -e: an event, user or kernel side, and the rate.  evparse.h reads
 * the text (cprof-events(7)); nothing here opens an event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVSPEC_NAME_MAX 128
#define EVSPEC_PMU_MAX 256      /* as long as a file name: two truncated names might be equal */

enum evspec_kind {
	EVSPEC_COUNTER,        /* software, hardware, cache, raw, or of some PMU */
	EVSPEC_TRACEPOINT,
	EVSPEC_BREAKPOINT,
	EVSPEC_UPROBE,
};

enum evspec_rate {
	EVSPEC_RATE_DEFAULT,   /* the session's -F or -c */
	EVSPEC_RATE_FREQ,      /* rate in Hz */
	EVSPEC_RATE_FREQ_MAX,  /* kernel.perf_event_max_sample_rate */
	EVSPEC_RATE_PERIOD,    /* rate in events (ns for clocks) */
};

enum evspec_callgraph {
	EVSPEC_CALLGRAPH_DEFAULT,  /* the session's */
	EVSPEC_CALLGRAPH_NONE, EVSPEC_CALLGRAPH_FP, EVSPEC_CALLGRAPH_DWARF,
};

/* Events that measure how long threads wait: cprof-waiting(7). */
enum evspec_waiting {
	EVSPEC_NOT_WAITING,
	EVSPEC_OFF_CPU,            /* the time without a CPU */
	EVSPEC_WALL,               /* all time */
	EVSPEC_BLOCK,              /* the time that threads wait for each other */
	EVSPEC_MUTEX,              /* the same, where they let each other wait */
};

/*
 * What is opened for an event.  One event of the user may need several variants: one for each kind
 * of core of a hybrid machine, or one for each of several similar PMUs.
 */
struct evspec {
	char name[EVSPEC_NAME_MAX];    /* perf's spelling, or name=; with modifiers: "branches:u" */
	uint16_t n_plain;              /* bytes of name before the modifiers; 0: unknown */
	uint32_t output;               /* index of the user's event; shared by its variants */
	char pmu[EVSPEC_PMU_MAX];      /* of one of several variants; otherwise "" */
	char *cpus;                    /* "0-3,8": only there; NULL: everywhere; owned */
	enum evspec_kind kind;
	uint32_t type;                 /* PERF_TYPE_*, or a PMU's number */
	uint64_t config, config1, config2, config3;
	uint32_t bp_type;              /* breakpoint: HW_BREAKPOINT_*; address and length are in
					* config1 and config2, as in struct perf_event_attr */
	char *path;                    /* uprobe: the file; its offset is config2; owned */
	struct evusdt *usdt;           /* a USDT probe (evusdt.h), or NULL; owned */
	bool only_user, only_kernel;   /* without the kernel side, without the user side (both:
				        * only :h) */
	bool with_hv;                  /* modifier h: the hypervisor, although sides are given */
	bool no_idle;                  /* I */
	bool with_guests, no_host;     /* G, GH: virtual machines; G: only those */
	bool pinned, weak;             /* D, W */
	uint8_t precise_ip;
	bool precise_max;              /* P: precise_ip is 3, and a lower level is no fallback */
	uint32_t group;                /* events of a group are neighbours; 0: no group */
	bool group_sample;             /* S: only the leader samples, and reads all members */
	enum evspec_waiting waiting;
	uint64_t quantum_ns;           /* waits are counted in whole quanta; 0: the session's */
	bool has_switches;             /* with a record for each switch from and to a task */
	bool has_raw;                  /* samples have the tracepoint's data */
	uint64_t bytes_each;           /* a page fault counts as so many bytes; 0: as one event */
	bool is_clock;                 /* cpu-clock, task-clock: counts nanoseconds */
	bool by_default;               /* chosen by cprof: may be replaced by a software clock */
	enum evspec_rate rate_kind;
	uint64_t rate;
	enum evspec_callgraph callgraph;
	uint32_t stack_bytes;          /* of stack copies; 0: the session's */
	double scale;                  /* a count times this is in units; 0: no scale */
	char unit[16];                 /* "Joules"; "": no unit */
};

struct evspec_list {
	struct evspec *v;              /* a VEC (base/vec.h) */
	size_t n, cap;
	uint32_t n_outputs, n_groups;
};

/* Free what one event owns, and a whole list. */
void evspec_done(struct evspec *s);
void evspec_list_done(struct evspec_list *l);

/* Does it happen only inside the kernel (context-switches, tracepoints)?  The kernel then reports
 * its own registers, so that with user code only there is never a sample. */
bool evspec_in_kernel(const struct evspec *s);

/* Is it an event that programs and kernels mark explicitly, so that each one is worth a sample by
 * default: a tracepoint, a breakpoint, a probe? */
bool evspec_is_mark(const struct evspec *s);

/*
 * The period of an event without a requested rate.  0: it is sampled by frequency, as clocks and
 * PMU counters are.  Marks are sampled each time.  So are rare software events, and one in eleven
 * of the frequent ones: for a frequency the kernel adapts the period too late for bursts such as a
 * program's first page faults, of which ten samples out of two thousand were left.
 */
uint64_t evspec_default_period(const struct evspec *s);

bool evspec_use_bytes(struct evspec *s);  /* false: it is no event of page faults */
/* Is it a member of a group that only counts while its leader samples? */
bool evspec_is_member(const struct evspec_list *l, size_t i);

/* Reads a rate: a number, or "max" for a frequency.  Returns NULL, or what is wrong with the text;
 * the outputs are unchanged then. */
const char *evspec_rate_problem(const char *text, bool is_freq, enum evspec_rate *ret_kind,
				uint64_t *ret_rate);

/* Likewise a time, "1ms", in ns. */
const char *evspec_time_problem(const char *text, uint64_t *ret_ns);

/* The event's sample type in a profile, without modifiers: "cpu"/"nanoseconds" for clocks,
 * otherwise the name in [a-z0-9_] and "count" ("l1_dcache_load_misses") or "bytes". */
void evspec_sample_type(const struct evspec *s, char ret_type[EVSPEC_NAME_MAX],
			const char **ret_unit);

/* Turns an event with records of switches into one without samples, which needs no right to sample
 * the kernel. */
void evspec_use_records(struct evspec *s);

/* What the samples of the event are counts of ("switches"); NULL: "samples". */
const char *evspec_count_type(const struct evspec *s);

/* The event's name as a part of a file name: characters outside [A-Za-z0-9_.-] become '-'. */
void evspec_file_part(const struct evspec *s, char ret_part[EVSPEC_NAME_MAX]);

/* All names for `cprof list` and completion. */
enum evspec_group { EVSPEC_SOFTWARE, EVSPEC_HARDWARE, EVSPEC_CACHE, EVSPEC_N_GROUPS };
struct evspec_known {
	const char *name;         /* canonical */
	const char *aliases;      /* separated by spaces, may be "" */
	enum evspec_group group;
	const char *what;         /* one line for people */
};
/* Entry i of the table; NULL after the last one. */
const struct evspec_known *evspec_known(size_t i);

#endif
