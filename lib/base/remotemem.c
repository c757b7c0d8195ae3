/*
 * Who is read directly, who is read by the helper (base/memhelper.h), and who is not read any more.
 */

#include "base/remotemem.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/log.h"
#include "base/memhelper.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRUST_NS 2000000u
#define TRUSTED_N 8u
#define STATUS_BYTES 2048u

struct remotemem {
	pthread_mutex_t mutex;         /* threads that unwind stacks read as well */
	int proc_fd;
	bool is_direct;                /* we may read nothing that is not ours */
	struct memhelper *helper;
	uint32_t stuck[HELPER_STUCK_MAX];
	struct remotemem_stats stats;
	/* Those that were found to be ours lately, by id: unwinding reads by thread, and names are
	 * read by process.  id 0: none. */
	struct { uint32_t id; uint64_t at_ns; } trusted[TRUSTED_N];
};

/* ---- /proc ---------------------------------------------------------------------------- */

/* proc(5).  The name of the thread comes first, and the kernel escapes its newlines. */
static bool read_status(const struct remotemem *m, uint32_t id, char text[STATUS_BYTES])
{
	char path[32];
	snprintf(path, sizeof(path), "%u/status", id);
	CLEANUP_CLOSE int fd = openat(m->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, STATUS_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The process of a thread: its other threads have the same memory. */
static uint32_t process_of(const struct remotemem *m, uint32_t tid)
{
	char text[STATUS_BYTES];
	unsigned pid;
	const char *line = read_status(m, tid, text) ? strstr(text, "\nTgid:") : NULL;
	return line && sscanf(line, "\nTgid: %u", &pid) == 1 ? pid : tid;
}

/* ---- whom we trust ------------------------------------------------------------------- */

static bool has_our_namespace(const struct remotemem *m, uint32_t id, const char *kind)
{
	char ours[32], theirs[48];
	struct stat a, b;
	snprintf(ours, sizeof(ours), "self/ns/%s", kind);
	snprintf(theirs, sizeof(theirs), "%u/ns/%s", id, kind);
	return fstatat(m->proc_fd, ours, &a, 0) == 0 && fstatat(m->proc_fd, theirs, &b, 0) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* All four user ids are ours. */
static bool has_our_user(const struct remotemem *m, uint32_t id)
{
	char text[STATUS_BYTES];
	unsigned uid[4], our = geteuid();
	const char *line = read_status(m, id, text) ? strstr(text, "\nUid:") : NULL;
	return line &&
	       sscanf(line, "\nUid: %u %u %u %u", &uid[0], &uid[1], &uid[2], &uid[3]) == 4 &&
	       uid[0] == our && uid[1] == our && uid[2] == our && uid[3] == our;
}

/* Many threads of one process are read one after the other, and soon afterwards it may be another
 * user's program. */
static bool is_trusted(struct remotemem *m, uint32_t id)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (id == (uint32_t)getpid())
		return true;
	if (m->trusted[id % TRUSTED_N].id == id &&
	    now_ns - m->trusted[id % TRUSTED_N].at_ns < TRUST_NS)
		return true;
	m->trusted[id % TRUSTED_N].id = 0;
	if (!has_our_user(m, id) || !has_our_namespace(m, id, "pid") ||
	    !has_our_namespace(m, id, "user"))
		return false;
	m->trusted[id % TRUSTED_N].id = id;
	m->trusted[id % TRUSTED_N].at_ns = now_ns;
	return true;
}

/* ---- those that are stuck ------------------------------------------------------------ */

static bool is_stuck(const struct remotemem *m, uint32_t id)
{
	uint32_t pid = m->stats.n_stuck ? process_of(m, id) : id;
	for (uint32_t i = 0; i < m->stats.n_stuck; i++)
		if (m->stuck[i] == pid)
			return true;
	return false;
}

/* May the helper be asked about this process? */
static bool may_ask(struct remotemem *m, uint32_t id)
{
	if (is_stuck(m, id))
		return false;
	if (m->stats.n_stuck < HELPER_STUCK_MAX)
		return true;
	m->stats.n_refused++;
	return false;
}

static long note_answer(struct remotemem *m, uint32_t id, long answer)
{
	if (answer == -ETIMEDOUT)
		m->stuck[m->stats.n_stuck++] = process_of(m, id);
	return answer;
}

static long ask_helper(struct remotemem *m, uint32_t id, bool by_file,
		       const struct memhelper_pieces *p)
{
	return may_ask(m, id) ? note_answer(m, id, memhelper_read(m->helper, id, by_file, p))
			      : -ETIMEDOUT;
}

/* ---- reading -------------------------------------------------------------------------- */

struct remotemem *remotemem_new(int proc_fd)
{
	struct remotemem *m = calloc(1, sizeof(*m));
	struct memhelper *helper = memhelper_new(proc_fd);
	if (!m || !helper) {
		free(m);
		memhelper_free(helper);
		return NULL;
	}
	m->helper = helper;
	m->proc_fd = proc_fd;
	m->is_direct = !(rights_permitted() & UINT64_C(1) << CAP_SYS_PTRACE);
	pthread_mutex_init(&m->mutex, NULL);
	return m;
}

void remotemem_free(struct remotemem *m)
{
	if (!m)
		return;
	memhelper_free(m->helper);
	pthread_mutex_destroy(&m->mutex);
	free(m);
}

static long read_directly(uint32_t pid, const struct memhelper_pieces *p)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	long n = process_vm_readv((pid_t)pid, p->local, p->n_local, p->remote, p->n_remote, 0);
	return n < 0 ? -errno : n;
}

static long read_file_directly(const struct remotemem *m, uint32_t tid,
			       const struct memhelper_pieces *p)
{
	char path[32];
	snprintf(path, sizeof(path), "%u/mem", tid);
	CLEANUP_RIGHTS bool raised = rights_raise();
	CLEANUP_CLOSE int fd = openat(m->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, p->local->iov_base, p->local->iov_len,
					(off_t)(uintptr_t)p->remote->iov_base);
	return n < 0 ? -errno : n;
}

static long read_memory(struct remotemem *m, uint32_t id, bool by_file,
			const struct memhelper_pieces *p)
{
	if (!m)
		return -ENOMEM;
	if (!m->is_direct) {
		pthread_mutex_lock(&m->mutex);
		bool is_ours = is_trusted(m, id);
		long n = is_ours ? 0 : ask_helper(m, id, by_file, p);
		pthread_mutex_unlock(&m->mutex);
		if (!is_ours)
			return n;
	}
	return by_file ? read_file_directly(m, id, p) : read_directly(id, p);
}

long remotemem_read(struct remotemem *m, uint32_t pid, const struct iovec *local, size_t n_local,
		    const struct iovec *remote, size_t n_remote)
{
	return read_memory(m, pid, false,
			   &(struct memhelper_pieces){ local, remote, n_local, n_remote });
}

long remotemem_read_file(struct remotemem *m, uint32_t tid, void *buf, size_t n_bytes,
			 uint64_t address)
{
	const struct iovec local = { buf, n_bytes };
	const struct iovec remote = { (void *)(uintptr_t)address, n_bytes };
	return read_memory(m, tid, true, &(struct memhelper_pieces){ &local, &remote, 1, 1 });
}

/* ---- files ----------------------------------------------------------------------------- */

bool remotemem_is_direct(struct remotemem *m, uint32_t id)
{
	if (!m || m->is_direct)
		return true;
	pthread_mutex_lock(&m->mutex);
	bool is_direct = is_trusted(m, id);
	pthread_mutex_unlock(&m->mutex);
	return is_direct;
}

long remotemem_read_text(struct remotemem *m, uint32_t id, const char *name, bool is_first,
			 const char **ret_text)
{
	char path[MEMHELPER_PATH_BYTES];
	snprintf(path, sizeof(path), "%u/%s", id, name);
	pthread_mutex_lock(&m->mutex);
	long n = may_ask(m, id)
		? note_answer(m, id, memhelper_text(m->helper, path, is_first, ret_text))
		: -ETIMEDOUT;
	pthread_mutex_unlock(&m->mutex);
	return n;
}

int remotemem_open_link(struct remotemem *m, uint32_t id, const char *name)
{
	char path[MEMHELPER_PATH_BYTES];
	snprintf(path, sizeof(path), "%u/%s", id, name);
	pthread_mutex_lock(&m->mutex);
	long fd = may_ask(m, id) ? note_answer(m, id, memhelper_link(m->helper, path))
				 : -ETIMEDOUT;
	pthread_mutex_unlock(&m->mutex);
	return (int)fd;
}

/* ---- what happened ------------------------------------------------------------------------ */

void remotemem_explain(const struct remotemem *m, const struct log *log)
{
	for (uint32_t i = 0; m && i < m->stats.n_stuck; i++)
		log_line(log, LOG_EXPLAIN, "process %u: its memory did not answer and is not "
			 "read again (FUSE, userfaultfd)", m->stuck[i]);
}

struct remotemem_stats remotemem_stats(const struct remotemem *m)
{
	return m->stats;
}
