#ifndef CPROF_SOURCE_LIVE_LIVEFILTER_H
#define CPROF_SOURCE_LIVE_LIVEFILTER_H

/*
 * With events of whole CPUs, the kernel drops samples of other tasks before they are written into a
 * ring (filterprog.h), where it allows that.  Without the filter everything works, and costs more.
 */

#include "source/live/filterprog.h"
#include "source/live/live.h"

struct host;

struct livefilter {
	struct filterprog prog;
	int filter_fd, new_fd, free_fd;  /* filter_fd -1: there is no filter */
};

/* A filter that does not exist. */
#define LIVEFILTER_NONE { .prog = { .ids = -1, .tasks = -1, .next = -1 }, .filter_fd = -1, \
			  .new_fd = -1, .free_fd = -1 }

/* Loads the filter; new tasks are followed from now on.  False: *ret_why_not is the reason in a few
 * words, static or of strerror(3), and f is LIVEFILTER_NONE. */
bool livefilter_open(struct livefilter *f, const struct live_targets *want,
		     const struct host *h, const char **ret_why_not);
void livefilter_close(struct livefilter *f);

/* Loads the program that copies memory, which runs at the samples that the filter accepts.  Its
 * descriptor, which is for livefilter_attach_program if there is no filter; or -errno. */
struct samplecopy;
int livefilter_load_copy(const struct livefilter *f, const struct samplecopy *copy,
			 const struct host *h);

/* Filters an event; 0 or -errno: the kernel does not filter events of this kind. */
int livefilter_attach(const struct livefilter *f, int event_fd);
int livefilter_attach_program(int program_fd, int event_fd);

/* Has it had no room for a task, so that it accepts all samples now? */
bool livefilter_is_full(const struct livefilter *f);

#endif
