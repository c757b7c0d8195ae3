/*
 * Files are read by pread, never mapped, so that truncation meanwhile does no harm.  A file that
 * has grown is read from where reading ended.  A file that has become shorter, or has changed
 * without growing, is read anew, and jitcode_add ignores duplicates.
 *
 * A map has no times.  Its last lines were written when the file was last changed, so that is the
 * time assumed for its new lines.
 */

#include "proc/jitread.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/units.h"
#include "symbolize/jit/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES (512u << 10)
#define FILE_BYTES_MAX (1ull << 30)
#define TOTAL_BYTES_MAX (4 * FILE_BYTES_MAX) /* of a file that is rewritten again and again */
#define HOLE_BYTES_MIN (4u << 20)
#define LATE_NS 100000000u
/* A missing map is looked for every 50 ms at first, then less and less often. */
#define RETRY_NS 10000000u
#define RETRY_NS_MAX 1000000000u

void jitread_init(struct jitread *r, struct budget *budget)
{
	*r = (struct jitread){
		.map = { .fd = -1, .end = FILE_BYTES_MAX },
		.dump = { .fd = -1, .end = FILE_BYTES_MAX }, .process = { .tmp_fd = -1 },
		.map_outcome = JITFILE_ABSENT, .dump_outcome = JITFILE_ABSENT,
	};
	jitcode_init(&r->code, budget);
	jitdump_init(&r->jitdump);
}

static void close_file(struct jitread_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void jitread_close(struct jitread *r)
{
	close_file(&r->map);
	close_file(&r->dump);
	jitfile_process_done(&r->process);
}

void jitread_done(struct jitread *r)
{
	jitread_close(r);
	jitcode_done(&r->code);
	jitdump_done(&r->jitdump);
	free(r->dump_path);
}

static void open_map(struct jitread *r)
{
	int fd;
	if (!r->is_known || r->map.is_bad)
		return;
	r->map_outcome = jitfile_open_map(&r->process, &fd);
	if (r->map_outcome != JITFILE_OPENED)
		return;
	close_file(&r->map);
	uint64_t n_bytes = r->map.n_bytes;
	r->map = (struct jitread_file){ .fd = fd, .end = FILE_BYTES_MAX, .n_bytes = n_bytes };
}

void jitread_open(struct jitread *r, const struct host *h, uint32_t pid)
{
	int result = jitfile_process_init(&r->process, h, pid);
	r->is_known = result == 0;
	if (foreign_lacks_descriptor(result)) {
		r->process.ns_pid = pid;
		r->map_outcome = JITFILE_NO_DESCRIPTOR;
	}
	open_map(r);
}

void jitread_set_dump(struct jitread *r, int fd, const char *path)
{
	struct stat st;
	if (r->dump.fd >= 0 || r->dump.is_bad || !r->is_known || fstat(fd, &st) < 0)
		return;
	free(r->dump_path);
	r->dump_path = strdup(path);
	r->dump_outcome = jitfile_check(&r->process, &st);
	if (r->dump_outcome == JITFILE_OPENED)
		r->dump.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (r->dump.fd < 0 && r->dump_outcome == JITFILE_OPENED)
		r->dump_outcome = JITFILE_NO_DESCRIPTOR;
}

/* ---- reading --------------------------------------------------------------- */

/* Where reading f ends this time: its size now; false if nothing is new. */
static bool has_news(struct jitread_file *f, uint64_t *ret_size)
{
	struct stat st;
	f->has_more = false;
	if (f->fd < 0 || f->is_bad || fstat(f->fd, &st) < 0)
		return false;
	int64_t mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	uint64_t size = (uint64_t)st.st_size;
	f->is_too_large |= size > FILE_BYTES_MAX && f->end >= FILE_BYTES_MAX;
	f->is_too_large |= f->n_bytes > TOTAL_BYTES_MAX;
	if (size > f->end)
		size = f->end;
	bool is_rewritten = size < f->off || (size == f->off && mtime_ns != f->mtime_ns);
	if (f->n_reads && !is_rewritten && size == f->off)
		return false;
	if (is_rewritten)
		f->off = 0;
	f->mtime_ns = mtime_ns;
	*ret_size = size;
	return size > f->off && f->n_bytes <= TOTAL_BYTES_MAX;
}

/* The next bytes of f into buf; 0: no more before size, or none allowed (has_more). */
static size_t read_next(struct jitread_file *f, uint64_t size, char *buf,
			const struct jitread_limit *limit)
{
	if (f->off >= size)
		return 0;
	f->has_more = limit->n_bytes == 0 || clock_monotonic_ns() >= limit->end_ns;
	if (f->has_more)
		return 0;
	uint64_t left = size - f->off;
	/* A hole of a map has no names, and a sparse file may have terabytes of it. */
	off_t data = left > HOLE_BYTES_MIN ? lseek(f->fd, (off_t)f->off, SEEK_DATA) : -1;
	if (left > HOLE_BYTES_MIN && (data > (off_t)f->off || (data < 0 && errno == ENXIO))) {
		f->off = data < 0 || (uint64_t)data > size ? size : (uint64_t)data;
		return f->off < size ? read_next(f, size, buf, limit) : 0;
	}
	ssize_t got = pread(f->fd, buf, left < READ_BYTES ? (size_t)left : READ_BYTES,
			    (off_t)f->off);
	return got > 0 ? (size_t)got : 0;
}

static void note_used(struct jitread_file *f, uint64_t n_used, struct jitread_limit *limit)
{
	f->off += n_used;
	f->n_bytes += n_used;
	limit->n_bytes -= n_used < limit->n_bytes ? n_used : limit->n_bytes;
}

/* CLOCK_MONOTONIC of the file's last change, which was between the last look at it and now. */
static uint64_t change_time(const struct jitread *r, const struct jitread_file *f, uint64_t now_ns)
{
	int64_t offset = (int64_t)(clock_now_ns(CLOCK_REALTIME) - clock_monotonic_ns());
	int64_t at = f->mtime_ns - offset;
	if (f->n_reads == 0 && at <= 0)
		return 0;
	if (at > (int64_t)now_ns)
		return now_ns;
	return f->n_reads && at < (int64_t)r->polled_ns ? r->polled_ns : (uint64_t)at;
}

static void read_map(struct jitread *r, char *buf, uint64_t now_ns, struct jitread_limit *limit)
{
	uint64_t size;
	struct jitread_file *f = &r->map;
	if (f->fd >= 0 && !r->has_ended && jitfile_is_replaced(&r->process, f->fd)) {
		/* Until the new file may be read, the old one is the best there is. */
		enum jitfile_outcome before = r->map_outcome;
		open_map(r);
		if (r->map_outcome == JITFILE_ABSENT)
			r->map_outcome = before;
	}
	if (!has_news(f, &size))
		return;
	uint64_t from_ns = change_time(r, f, now_ns);
	uint32_t n_before = r->code.n;
	while (!r->code.is_full) {
		size_t got = read_next(f, size, buf, limit);
		size_t used = got ? perfmap_take(&r->code, buf, got, from_ns, &r->n_bad_lines) : 0;
		if (!used)
			break;
		note_used(f, used, limit);
	}
	f->n_reads++;
	r->n_map_entries += r->code.n - n_before;
}

/* One record that is larger than the buffer. */
static long read_large(struct jitread *r, size_t want, uint64_t now_ns, size_t *ret_want)
{
	CLEANUP_FREE char *buf = malloc(want);
	if (!buf || pread(r->dump.fd, buf, want, (off_t)r->dump.off) != (ssize_t)want)
		return 0;
	return jitdump_take(&r->jitdump, &r->code, buf, want, now_ns, ret_want);
}

static void read_dump(struct jitread *r, char *buf, uint64_t now_ns, struct jitread_limit *limit)
{
	uint64_t size;
	struct jitread_file *f = &r->dump;
	uint64_t n_done = 0, last_ns = r->jitdump.last_ns;
	if (!has_news(f, &size))
		return;
	if (f->off == 0) {
		/* New, or started over. */
		jitdump_done(&r->jitdump);
		jitdump_init(&r->jitdump);
	}
	while (!r->code.is_full && !r->jitdump.is_closed) {
		size_t want, got = read_next(f, size, buf, limit);
		if (!got)
			break;
		long used = jitdump_take(&r->jitdump, &r->code, buf, got, now_ns, &want);
		if (used == 0 && want > READ_BYTES && want <= JITDUMP_RECORD_BYTES_MAX &&
		    want <= size - f->off)
			used = read_large(r, want, now_ns, &want);
		f->is_bad |= used < 0;
		if (used <= 0)
			break;
		note_used(f, (uint64_t)used, limit);
		n_done += (uint64_t)used;
	}
	/* A text written since the last look describes times before it. */
	if (f->n_reads && last_ns && r->jitdump.last_ns > last_ns)
		r->lags |= last_ns + LATE_NS < r->polled_ns && n_done > READ_BYTES;
	f->n_reads++;
}

static void end_file(struct jitread_file *f)
{
	struct stat st;
	if (f->fd >= 0 && fstat(f->fd, &st) == 0 && (uint64_t)st.st_size < f->end)
		f->end = (uint64_t)st.st_size;
}

void jitread_end(struct jitread *r)
{
	if (r->has_ended)
		return;
	if (r->map.fd < 0)
		open_map(r);
	r->has_ended = true;
	end_file(&r->map);
	end_file(&r->dump);
}

bool jitread_has_more(const struct jitread *r)
{
	return (r->map.fd >= 0 && r->map.has_more) || (r->dump.fd >= 0 && r->dump.has_more);
}

bool jitread_has_unread(const struct jitread *r)
{
	return r->map.is_too_large || r->dump.is_too_large || r->map_outcome == JITFILE_REMOTE;
}

long jitread_poll(struct jitread *r, uint64_t now_ns, struct jitread_limit *limit,
		  uint64_t **ret_replaced)
{
	*ret_replaced = NULL;
	uint64_t wait_ns = r->n_map_tries * RETRY_NS;
	if (wait_ns > RETRY_NS_MAX)
		wait_ns = RETRY_NS_MAX;
	if (r->map.fd < 0 && !r->has_ended && now_ns - r->map_tried_ns >= wait_ns) {
		r->map_tried_ns = now_ns;
		r->n_map_tries++;
		open_map(r);
	}
	if (r->map.fd < 0 && r->dump.fd < 0)
		return 0;
	CLEANUP_FREE char *buf = malloc(READ_BYTES);
	if (!buf)
		return -ENOMEM;
	read_map(r, buf, now_ns, limit);
	read_dump(r, buf, now_ns, limit);
	/* Mapped long before its header is written: the writer has a buffer. */
	r->is_late = r->lags || (r->dump.fd >= 0 && !r->jitdump.has_header);
	r->polled_ns = now_ns;
	return jitcode_settle(&r->code, ret_replaced);
}

/* ---- results ------------------------------------------------------- */

bool jitread_lacks_descriptor(const struct jitread *r)
{
	return r->map_outcome == JITFILE_NO_DESCRIPTOR ||
	       r->dump_outcome == JITFILE_NO_DESCRIPTOR;
}

void jitread_explain(const struct jitread *r, uint32_t pid, size_t n_generations,
		     const struct log *log)
{
	const char *why = jitfile_why(r->map_outcome), *dump_why = jitfile_why(r->dump_outcome);
	if (why)
		log_line(log, LOG_WARN,
			 "names of JIT code of process %u are missing: its '/tmp/perf-%u.map' %s",
			 pid, r->process.ns_pid, why);
	if (dump_why)
		log_line(log, LOG_WARN, "names of JIT code of process %u are missing: its '%s' %s",
			 pid, r->dump_path ? r->dump_path : "jitdump", dump_why);
	if (r->dump.is_bad || (r->dump_path && r->jitdump.n_bad))
		log_line(log, LOG_WARN, "'%s' of process %u is damaged: the readable part is used",
			 r->dump_path, pid);
	if (r->map.is_too_large || r->dump.is_too_large)
		log_line(log, LOG_WARN, "names of JIT code of process %u are incomplete: at most "
			 "1 GiB of a file is read", pid);
	if (r->code.is_full)
		log_line(log, LOG_WARN,
			 "names of JIT code of process %u are incomplete: memory limit", pid);
	if (r->code.n)
		log_line(log, LOG_EXPLAIN,
			 "JIT code of process %u: %u function%s, %llu of them from "
			 "'/tmp/perf-%u.map'%s%s%s; %zu generation%s",
			 pid, r->code.n, units_s(r->code.n),
			 (unsigned long long)r->n_map_entries, r->process.ns_pid,
			 r->dump_path ? ", the others from '" : "",
			 r->dump_path ? r->dump_path : "", r->dump_path ? "'" : "", n_generations,
			 units_s(n_generations));
	else if (r->is_known && r->map_outcome == JITFILE_ABSENT && !r->dump_path)
		log_line(log, LOG_EXPLAIN,
			 "JIT code of process %u has no names: it writes neither "
			 "'/tmp/perf-%u.map' nor a jitdump",
			 pid, r->process.ns_pid);
}
