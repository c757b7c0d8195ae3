/* A recorder's output: profiles with their names, files, and descriptors to write to or to wait on.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "proto/outfile.h"
#include "recorder/recorder-private.h"
#include "profile/results.h"
#include "recorder/setup.h"
#include "labels/samplelabels.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MODE_PRIVATE 0600

/* The requested period; the mean one if the kernel or --adaptive changed the rate. */
static uint64_t reported_period(const struct cprof_recorder *rec, size_t event,
			       const struct cprof_event_stats *ev)
{
	size_t first = recorder_first_variant(rec, event);
	uint64_t quantum_ns = rec->session.event[first].quantum_ns;
	if (quantum_ns)
		return quantum_ns;
	uint64_t asked = rec->period ? rec->period[first] : 0;
	if (asked && !ev->n_rate_cuts)
		return asked * ev->unit_each;
	return ev->period ? ev->period : ev->n_samples ? ev->value / ev->n_samples : 1;
}

int recorder_check_written(const struct cprof_recorder *rec, size_t event, struct err *e)
{
	if (!rec->stopped && !rec->counted)
		return err_set(e, EINVAL, "the recorder is not stopped, and no snapshot was "
			       "taken");
	if (event >= rec->session.n_outputs)
		return err_set(e, EINVAL, "there is no such event");
	return 0;
}

int cprof_recorder_write(struct cprof_recorder *rec, size_t event,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct err *e)
{
	return recorder_write_part(rec, event, NULL, NULL, write, ctx, e);
}

int recorder_write_part(struct cprof_recorder *rec, size_t event, const struct export_part *part,
			const char *comment,
			int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			struct err *e)
{
	int r = recorder_check_written(rec, event, e);
	if (r == 0)
		r = recorder_look_up_names(rec, e);
	if (r < 0)
		return r;
	struct cprof_stats stats;
	struct cprof_event_stats ev;
	cprof_recorder_stats(rec, &stats);
	cprof_recorder_event_stats(rec, event, &ev);
	CLEANUP_FREE struct cprof_scope_change *changes =
		calloc(stats.n_scope_changes + 1, sizeof(*changes));
	if (!changes)
		return err_errno(e, ENOMEM, "cannot write the profile");
	for (size_t i = 0; i < stats.n_scope_changes; i++)
		cprof_recorder_scope_change(rec, i, &changes[i]);
	const struct kind_event *first =
		&rec->session.event[recorder_first_variant(rec, event)];
	struct results_profile p = {
		.engine = &rec->engine, .names = &rec->names, .event = (uint32_t)event,
		.config = &rec->config, .source = rec->session.source, .stats = &stats, .ev = &ev,
		.cuts = rec->cost.event[recorder_first_variant(rec, event)].cuts.v,
		.changes = changes,
		.period = reported_period(rec, event, &ev),
		.coverage_percent = recorder_coverage_percent(rec, &stats, &ev),
		.count_type = first->count_type, .is_memory = first->is_memory,
		.held_count_type = first->held_count_type, .held_type = first->held_type,
		.period_type = first->period_type,
		.peak_count_type = first->peak_count_type, .peak_type = first->peak_type,
		.number = rec->session.number, .n_numbers = rec->session.n_numbers,
		.is_count = first->is_count,
		.start_ns = rec->window.start_ns, .end_ns = window_end_ns(&rec->window),
		.remark = (const char *const *)rec->session.remarks.v,
		.n_remarks = rec->session.remarks.n,
		.optional_labels = part ? SAMPLELABEL_PROCESS_NAME
				 : rec->config.labels_given ? 0
				 : setup_optional_labels(&rec->config),
		.part = part, .origin = comment,
	};
	return results_write(&p, write, ctx, e);
}

int cprof_recorder_write_fd(struct cprof_recorder *rec, size_t event, int fd, struct err *e)
{
	struct outfile f;
	outfile_open_fd(&f, fd);
	int r = cprof_recorder_write(rec, event, outfile_write, &f, e);
	if (f.code < 0)
		r = err_errno(e, -f.code, "cannot write the profile");
	outfile_abort(&f);
	return r;
}

int cprof_recorder_write_file(struct cprof_recorder *rec, size_t event, const char *path,
			      struct err *e)
{
	struct outfile f;
	int r = outfile_open(&f, path, e);
	if (r < 0)
		return r;
	r = cprof_recorder_write(rec, event, outfile_write, &f, e);
	if (f.code < 0)
		r = outfile_error(&f, e);
	if (r < 0)
		goto out;
	struct cprof_stats stats;
	cprof_recorder_stats(rec, &stats);
	if (stats.is_private)
		outfile_limit_mode(&f, MODE_PRIVATE);
	r = outfile_commit(&f, 1, e);
out:
	outfile_abort(&f);
	return r;
}

static int watch_fd(int poll_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Adds the source's descriptors and those of the targets. */
static int watch_all(const struct cprof_recorder *rec, int poll_fd)
{
	int fd;
	for (size_t i = 0; (fd = source_poll_fd(rec->session.source, i)) >= 0; i++) {
		int r = watch_fd(poll_fd, fd);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < rec->watch.n; i++) {
		int r = watch_fd(poll_fd, rec->watch.pidfd[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int cprof_recorder_fd(struct cprof_recorder *rec, struct err *e)
{
	int r = recorder_check_owner(rec, e);
	if (r < 0)
		return r;
	if (rec->poll_fd >= 0)
		return rec->poll_fd;
	CLEANUP_CLOSE int poll_fd = epoll_create1(EPOLL_CLOEXEC);
	r = poll_fd < 0 ? -errno : watch_all(rec, poll_fd);
	if (r < 0)
		return err_errno(e, -r, "cannot create a descriptor to wait on");
	return rec->poll_fd = TAKE_FD(poll_fd);
}
