/* Files are opened as for unwinding: those that are mapped, in any mount namespace, also when they
 * were deleted since. */
#include "probe/probefiles.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evsdt.h"
#include "proc/dsofile.h"
#include "proc/memoryrights.h"
#include "source/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

void probefiles_done(struct probefiles *f)
{
	VEC_FREE(&f->seen);
}

/* False: it was seen, or there are too many. */
static bool is_new(struct probefiles *f, const struct maps_entry *m)
{
	for (size_t i = f->seen.n; i-- > 0;) {
		const struct probefiles_id *id = &f->seen.v[i];
		if (id->ino == m->ino && id->maj == m->maj && id->min == m->min)
			return false;
	}
	return f->seen.n < PROBEFILES_MAX &&
	       VEC_PUSH(&f->seen, ((struct probefiles_id){ m->maj, m->min, m->ino }));
}

/* -errno.  A copy (base/foreign.h) has probes, but is not what the process executes. */
static int open_mapped(const struct host *h, pid_t pid, const struct maps_entry *m)
{
	const struct dsofile want = {
		.pid = (uint32_t)pid, .start = m->start, .end = m->end, .maj = m->maj,
		.min = m->min, .ino = m->ino, .filename = m->name,
	};
	CLEANUP_FREE char *path = NULL;
	struct stat st;
	CLEANUP_CLOSE int fd = dsofile_open(h, &want, &path);
	if (fd < 0)
		return fd;
	return fstat(fd, &st) == 0 && st.st_ino == m->ino ? TAKE_FD(fd) : -EREMOTE;
}

static int visit(struct probefiles *f, pid_t pid, const struct maps_entry *m, probefiles_fn *fn,
		 void *ctx, struct err *e)
{
	CLEANUP(evsdt_done) struct evsdt probes = { 0 };
	CLEANUP_CLOSE int fd = open_mapped(f->host, pid, m);
	if (fd < 0) {
		f->n_unread++;
		return 0;
	}
	/* Files of caches and of JIT code are no ELF files. */
	if (evsdt_read(fd, m->name, &probes, NULL) < 0 || !probes.locations.n)
		return 0;
	const struct probefiles_file file = { .name = m->name, .fd = fd, .probes = &probes };
	return fn(ctx, &file, e);
}

int probefiles_each(struct probefiles *f, pid_t pid, probefiles_fn *fn, void *ctx, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	uint32_t id = host_live_thread(f->host, (uint32_t)pid);
	int r = host_read_process_file(f->host, id, "maps", &text, NULL);
	if (r < 0) {
		err_errno(e, -r, "cannot read the mappings of process %d", pid);
		if (r == -EACCES || r == -EPERM) {
			struct memoryrights other;
			memoryrights_read(f->host, id, &other);
			memoryrights_hint(f->host, id, &other, true, e);
		}
		return r;
	}
	struct maps_entry m;
	r = 0;
	for (char *at = text; r == 0 && maps_next(&at, &m);)
		if (m.prot & PROT_EXEC && m.ino && is_new(f, &m))
			r = visit(f, pid, &m, fn, ctx, e);
	return r;
}
