/*
 * Where there is a filter, its program runs the other one, because an event has one program only.
 * Events that are opened later get it as well.
 */

#include "source/live/live-private.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <unistd.h>

/* The counters of a group, which each sample contains, are compared with those of the sample before
 * it: see filter_event. */
void live_copy_attach(const struct live *l, const struct live_fd *f)
{
	if (l->copy_fd < 0 || l->filter.filter_fd >= 0 || f->event == RECORD_NO_EVENT ||
	    l->event[f->event].attr.read_format & PERF_FORMAT_GROUP)
		return;
	livefilter_attach_program(l->copy_fd, f->fd);
}

const struct samplecopy *live_copies(struct source *s, uint32_t n_cpus)
{
	struct live *l = (struct live *)s;
	if (s->ops != &live_ops || !l->options.open.host)
		return NULL;
	if (l->copy_fd >= 0)
		return &l->copy;
	if (samplecopy_open(&l->copy, n_cpus) < 0)
		return NULL;
	int fd = livefilter_load_copy(&l->filter, &l->copy, l->options.open.host);
	if (fd < 0) {
		samplecopy_close(&l->copy);
		return NULL;
	}
	l->copy_fd = fd;
	for (size_t i = 0; i < l->fds.n; i++)
		live_copy_attach(l, &l->fds.v[i]);
	return &l->copy;
}

void live_copy_done(struct live *l)
{
	if (l->copy_fd >= 0)
		close(l->copy_fd);
	l->copy_fd = -1;
	samplecopy_close(&l->copy);
}
