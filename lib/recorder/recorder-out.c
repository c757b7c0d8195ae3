/* A recorder's output: profiles with their names, files, and descriptors to write to or to wait on.
 */

#include "base/err.h"
#include "proto/outfile.h"
#include "recorder/recorder-private.h"
#include "profile/results.h"
#include "recorder/setup.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

static int look_up_names(struct cprof_recorder *r, struct err *e)
{
	if (r->names_ready && r->names_compactions == r->engine.gc.n_runs)
		return 0;
	/* Names refer to frames and strings, whose ids have changed. */
	if (r->names_compactions != r->engine.gc.n_runs)
		names_done(&r->names);
	r->names_compactions = r->engine.gc.n_runs;
	struct names_options o = {
		.symbols = { .host = r->session.host, .log = r->session.log,
			     .demangle = (uint8_t)r->config.naming.demangle,
			     .only_addresses = r->config.naming.no_symbols,
			     .timeout_ns = r->config.symbol_timeout_ns },
		.naming = &r->config.naming,
		.running_kernel = r->session.source->facts.running_kernel,
		.kernel_release = r->session.source->facts.kernel_release,
		.cache_dir = r->config.cache_dir,
	};
	int code = names_resolve(&r->engine, &o, &r->names, e);
	r->names_ready = code == 0;
	return code;
}

/* The requested period; the mean one if the kernel or --adaptive changed the rate. */
static uint64_t reported_period(const struct cprof_recorder *r, size_t event,
			       const struct cprof_event_stats *ev)
{
	uint64_t asked = r->period ? r->period[recorder_first_variant(r, event)] : 0;
	if (asked && !ev->n_rate_cuts)
		return asked;
	return ev->period ? ev->period : ev->n_samples ? ev->value / ev->n_samples : 1;
}

int cprof_recorder_write(struct cprof_recorder *r, size_t event,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct err *e)
{
	if (!r->stopped && !r->counted)
		return err_set(e, EINVAL, "the recorder is neither stopped nor was a snapshot "
			       "taken");
	if (event >= r->session.n_outputs)
		return err_set(e, EINVAL, "there is no such event");
	int code = look_up_names(r, e);
	if (code < 0)
		return code;
	struct cprof_stats stats;
	struct cprof_event_stats ev;
	cprof_recorder_stats(r, &stats);
	cprof_recorder_event_stats(r, event, &ev);
	struct results_profile p = {
		.engine = &r->engine, .names = &r->names, .event = (uint32_t)event,
		.config = &r->config, .source = r->session.source, .stats = &stats, .ev = &ev,
		.cuts = r->cost.event[recorder_first_variant(r, event)].cuts.v,
		.period = reported_period(r, event, &ev),
		.coverage_percent = recorder_coverage_percent(r, &stats, &ev),
		.count_type = r->session.event[recorder_first_variant(r, event)].count_type,
		.optional_labels = r->config.labels_given ? 0 : setup_optional_labels(&r->config),
	};
	return results_write(&p, write, ctx, e);
}

int cprof_recorder_write_fd(struct cprof_recorder *r, size_t event, int fd, struct err *e)
{
	struct outfile f;
	outfile_open_fd(&f, fd);
	int code = cprof_recorder_write(r, event, outfile_write, &f, e);
	if (f.code < 0)
		code = err_errno(e, -f.code, "cannot write the profile");
	outfile_abort(&f);
	return code;
}

int cprof_recorder_write_file(struct cprof_recorder *r, size_t event, const char *path,
			      struct err *e)
{
	struct outfile f;
	int code = outfile_open(&f, path, e);
	if (code < 0)
		return code;
	code = cprof_recorder_write(r, event, outfile_write, &f, e);
	if (f.code < 0)
		code = outfile_error(&f, e);
	if (code == 0)
		code = outfile_commit(&f, 1, e);
	outfile_abort(&f);
	return code;
}

static int watch_fd(int poll_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int cprof_recorder_fd(struct cprof_recorder *r, struct err *e)
{
	int code = recorder_check_owner(r, e);
	if (code < 0 || r->poll_fd >= 0)
		return code < 0 ? code : r->poll_fd;
	int poll_fd = epoll_create1(EPOLL_CLOEXEC);
	code = poll_fd < 0 ? -errno : 0;
	int fd;
	for (size_t i = 0; code == 0 && (fd = source_poll_fd(r->session.source, i)) >= 0; i++)
		code = watch_fd(poll_fd, fd);
	for (size_t i = 0; code == 0 && i < r->watch.n; i++)
		code = watch_fd(poll_fd, r->watch.pidfd[i]);
	if (code < 0) {
		if (poll_fd >= 0)
			close(poll_fd);
		return err_errno(e, -code, "cannot make a descriptor to wait on");
	}
	return r->poll_fd = poll_fd;
}
