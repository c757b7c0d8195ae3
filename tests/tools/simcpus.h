#ifndef CPROF_TESTS_TOOLS_SIMCPUS_H
#define CPROF_TESTS_TOOLS_SIMCPUS_H

/*
 * A machine with any number of CPUs, whose kernel is the program itself: for measuring and testing
 * recorders on machines of any size.  perf_event_open(2) gives files in memory, which the
 * recorder maps as rings; records are written into them as the kernel would.  The recorder is
 * cprof's own, unchanged.
 *
 * There is one such machine per program, which must be linked with -Wl,--wrap=ioctl,
 * -Wl,--wrap=epoll_ctl and -Wl,--wrap=clock_gettime.  Functions that fail for reasons of the real
 * machine end the program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct cprof_machine;

/* Who and when: the fields that all records share. */
struct simcpus_at {
	unsigned cpu;
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* What of it is written depends on the event that the recorder has opened. */
struct simcpus_sample {
	uint64_t ip;
	const uint64_t *callchain;     /* with PERF_CONTEXT_* marks */
	size_t n_callchain;
	const uint64_t *regs;          /* as many as the event samples */
	const void *stack;             /* truncated to the size that the event requests */
	size_t n_stack_bytes;
};

struct simcpus_map {
	uint64_t start, len, pgoff;
	uint32_t prot;
	const char *path;              /* an existing file: its device and inode are looked up */
};

/* Makes the machine.  ring_bytes: as in the recorder's configuration. */
void simcpus_open(unsigned n_cpus, uint64_t ring_bytes);
void simcpus_close(void);
/* For cprof_config.machine. */
const struct cprof_machine *simcpus_machine(void);

/* From now on CLOCK_MONOTONIC is this one; NULL: the real one, which simcpus_real_clock has in any
 * case, with all others. */
void simcpus_set_clock(uint64_t (*now_ns)(void));
void simcpus_real_clock(clockid_t id, struct timespec *ret);

/* A process that sees the files of the real machine. */
void simcpus_add_process(uint32_t pid);

/* Each writes one record; false, with nothing written, if the CPU's ring has no room for it. */
bool simcpus_put_sample(const struct simcpus_at *at, const struct simcpus_sample *s);
bool simcpus_put_map(const struct simcpus_at *at, const struct simcpus_map *m);
bool simcpus_put_comm(const struct simcpus_at *at, const char *name, bool is_exec);
/* at is the child. */
bool simcpus_put_fork(const struct simcpus_at *at, uint32_t ppid, uint32_t ptid);
bool simcpus_put_exit(const struct simcpus_at *at);
bool simcpus_put_lost(const struct simcpus_at *at, uint64_t n_lost);

/* How many bytes of a CPU's ring wait. */
uint64_t simcpus_fill(unsigned cpu);

/* Shows the recorder what was written to a CPU's ring. */
void simcpus_publish(unsigned cpu);

#endif
