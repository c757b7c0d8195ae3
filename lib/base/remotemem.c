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
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRUST_NS 2000000u
/* A process that enters another user namespace is still one of the same user, who can stop us
 * anyhow; and opening its uid_map takes as long as reading its memory. */
#define USERS_NS 1000000000u
#define TRUSTED_N 8u
/* A process that was gone is not looked for again for so long: its id is not in use again that
 * soon, and readers ask for one page after the other. */
#define GONE_NS 20000000u
#define STATUS_BYTES 2048u

struct remotemem {
	pthread_mutex_t mutex;         /* threads that unwind stacks read as well */
	int proc_fd;
	bool is_direct;                /* we may read nothing that is not ours */
	bool has_own_proc;             /* /proc shows the ids of our namespace */
	char uid_map[256];             /* of our user namespace; proc(5) */
	struct memhelper *helper;
	uint32_t stuck[HELPER_STUCK_MAX];
	struct remotemem_stats stats;
	/* Those that were found to be ours lately, by id: unwinding reads by thread, and names are
	 * read by process.  id 0: none. */
	struct { uint32_t id; uint64_t at_ns; } trusted[TRUSTED_N];
	struct { uint32_t id; uint64_t at_ns; } gone[TRUSTED_N];   /* likewise */
	uint32_t checked;              /* the last one of them that was not just another thread */
	uint64_t checked_ns;
	/* Of processes that were checked, by id; -1: none.  users_ns: when their uid_map was. */
	struct { uint32_t id; int fd; uint64_t users_ns; } pidfd[TRUSTED_N];
	uint32_t answered;             /* the thread that answered last; 0: none */
	uint64_t answered_ns;
};

/* ---- /proc ---------------------------------------------------------------------------- */

static bool read_start(const struct remotemem *m, const char *path, char *text, size_t n_bytes)
{
	CLEANUP_CLOSE int fd = openat(m->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, n_bytes - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* proc(5).  The name of the thread comes first, and the kernel escapes its newlines. */
static bool read_status(const struct remotemem *m, uint32_t id, char text[STATUS_BYTES])
{
	char path[32];
	snprintf(path, sizeof(path), "%u/status", id);
	return read_start(m, path, text, STATUS_BYTES);
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

/*
 * Only files without a lock are read here.  Links such as ns/pid have one since Linux 7.2 and in
 * the stable series of that time: a process holds it while it executes another program.
 */

/* Does /proc show just one id of the process, that of our own namespace? */
static bool has_one_id(const char *status)
{
	const char *line = strstr(status, "\nNSpid:\t");
	return line && !strchr("\t ", line[8 + strspn(line + 8, "0123456789")]);
}

/* All four user ids are ours. */
static bool has_our_user(const char *status)
{
	unsigned uid[4], our = geteuid();
	const char *line = strstr(status, "\nUid:");
	return line &&
	       sscanf(line, "\nUid: %u %u %u %u", &uid[0], &uid[1], &uid[2], &uid[3]) == 4 &&
	       uid[0] == our && uid[1] == our && uid[2] == our && uid[3] == our;
}

/* Other user namespaces show other ids, or none. */
static bool has_our_users(const struct remotemem *m, uint32_t id)
{
	char path[32], text[sizeof(m->uid_map)];
	snprintf(path, sizeof(path), "%u/uid_map", id);
	return read_start(m, path, text, sizeof(text)) && strcmp(text, m->uid_map) == 0;
}

static bool is_one_of_us(const struct remotemem *m, uint32_t id)
{
	char status[STATUS_BYTES];
	return m->has_own_proc && read_status(m, id, status) && has_our_user(status) &&
	       has_one_id(status) && has_our_users(m, id);
}

/*
 * The user of a process that was one of us, by Linux 6.13's ioctl(2) of pidfds (PIDFD_GET_INFO of
 * linux/pidfd.h, which takes no lock): a tenth of the time.  A process does not change its pid
 * namespace, and /proc was that process's if it still lives afterwards.
 */
struct pidfd_info_v0 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid, exit_code;
};
#define PIDFD_INFO_CREDS_BIT (1u << 1)
#define PIDFD_GET_INFO_V0 _IOWR(0xff, 11, struct pidfd_info_v0)

static bool is_still_one_of_us(struct remotemem *m, uint32_t id, uint64_t now_ns)
{
	struct pidfd_info_v0 info = { .mask = PIDFD_INFO_CREDS_BIT };
	uint32_t our = geteuid(), i = id % TRUSTED_N;
	int fd = m->pidfd[i].fd;
	if (fd < 0 || m->pidfd[i].id != id)
		return false;
	if (now_ns - m->pidfd[i].users_ns >= USERS_NS) {
		if (!has_our_users(m, id))
			return false;
		m->pidfd[i].users_ns = now_ns;
	}
	return ioctl(fd, PIDFD_GET_INFO_V0, &info) == 0 &&
	       info.mask & PIDFD_INFO_CREDS_BIT && info.ruid == our && info.euid == our &&
	       info.suid == our && info.fsuid == our;
}

/* The next checks of this process are is_still_one_of_us.  Threads have no pidfd. */
static bool is_now_one_of_us(struct remotemem *m, uint32_t id, uint64_t now_ns)
{
	uint32_t i = id % TRUSTED_N;
	if (m->pidfd[i].fd >= 0)
		close(m->pidfd[i].fd);
	m->pidfd[i].fd = (int)syscall(SYS_pidfd_open, id, 0);
	m->pidfd[i].id = id;
	m->pidfd[i].users_ns = now_ns;
	return is_one_of_us(m, id);
}

static bool is_thread_of(const struct remotemem *m, uint32_t pid, uint32_t tid)
{
	char path[32];
	snprintf(path, sizeof(path), "%u/task/%u", pid, tid);
	return faccessat(m->proc_fd, path, F_OK, 0) == 0;
}

static void note_trusted(struct remotemem *m, uint32_t id, uint64_t at_ns)
{
	m->trusted[id % TRUSTED_N].id = id;
	m->trusted[id % TRUSTED_N].at_ns = at_ns;
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
	if (m->checked && now_ns - m->checked_ns < TRUST_NS && is_thread_of(m, m->checked, id)) {
		note_trusted(m, id, m->checked_ns);
		return true;
	}
	m->checked = 0;
	if (!is_still_one_of_us(m, id, now_ns) && !is_now_one_of_us(m, id, now_ns))
		return false;
	m->checked = id;
	m->checked_ns = now_ns;
	note_trusted(m, id, now_ns);
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

static bool is_gone(const struct remotemem *m, uint32_t id)
{
	char path[16];
	snprintf(path, sizeof(path), "%u", id);
	return faccessat(m->proc_fd, path, F_OK, 0) < 0 && errno == ENOENT;
}

static bool was_gone(const struct remotemem *m, uint32_t id)
{
	return m->gone[id % TRUSTED_N].id == id &&
	       clock_monotonic_ns() - m->gone[id % TRUSTED_N].at_ns < GONE_NS;
}

static void note_gone(struct remotemem *m, uint32_t id)
{
	m->gone[id % TRUSTED_N].id = id;
	m->gone[id % TRUSTED_N].at_ns = clock_monotonic_ns();
}

/* May the helper be asked about this process?  0, -ETIMEDOUT or -ESRCH: it is gone. */
static int may_ask(struct remotemem *m, uint32_t id)
{
	if (is_gone(m, id))
		return -ESRCH;
	if (is_stuck(m, id))
		return -ETIMEDOUT;
	if (m->stats.n_stuck < HELPER_STUCK_MAX)
		return 0;
	m->stats.n_refused++;
	return -ETIMEDOUT;
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
	int r = may_ask(m, id);
	if (r == -ESRCH)
		note_gone(m, id);
	if (r < 0)
		return r == -ESRCH && by_file ? -ENOENT : r;
	return note_answer(m, id, memhelper_read(m->helper, id, by_file, p));
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
	for (uint32_t i = 0; i < TRUSTED_N; i++)
		m->pidfd[i].fd = -1;
	m->is_direct = !(rights_permitted() & UINT64_C(1) << CAP_SYS_PTRACE);
	char status[STATUS_BYTES];
	m->has_own_proc = read_start(m, "self/status", status, sizeof(status)) &&
		has_one_id(status) && read_start(m, "self/uid_map", m->uid_map, sizeof(m->uid_map));
	pthread_mutex_init(&m->mutex, NULL);
	return m;
}

void remotemem_free(struct remotemem *m)
{
	if (!m)
		return;
	memhelper_free(m->helper);
	for (uint32_t i = 0; i < TRUSTED_N; i++)
		if (m->pidfd[i].fd >= 0)
			close(m->pidfd[i].fd);
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
		bool is_gone_still = was_gone(m, id);
		bool is_ours = !is_gone_still && is_trusted(m, id);
		long n = is_gone_still ? (by_file ? -ENOENT : -ESRCH)
		       : is_ours ? 0 : ask_helper(m, id, by_file, p);
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

/* What the helper reads or opens; the path begins with the id. */
enum want { TEXT, MORE_TEXT, LINK_TEXT, LINK };

static long ask_for_path(struct remotemem *m, uint32_t id, const char *name, enum want want,
			 const char **ret_text)
{
	char path[MEMHELPER_PATH_BYTES];
	snprintf(path, sizeof(path), "%u/%s", id, name);
	pthread_mutex_lock(&m->mutex);
	long r = may_ask(m, id);
	if (r == 0)
		r = note_answer(m, id, want == LINK ? memhelper_link(m->helper, path)
				: want == LINK_TEXT ? memhelper_read_link(m->helper, path, ret_text)
				: memhelper_text(m->helper, path, want == TEXT, ret_text));
	pthread_mutex_unlock(&m->mutex);
	return r == -ESRCH ? -ENOENT : r;
}

long remotemem_read_text(struct remotemem *m, uint32_t id, const char *name, bool is_first,
			 const char **ret_text)
{
	return ask_for_path(m, id, name, is_first ? TEXT : MORE_TEXT, ret_text);
}

long remotemem_read_link(struct remotemem *m, uint32_t id, const char *name, const char **ret_text)
{
	return ask_for_path(m, id, name, LINK_TEXT, ret_text);
}

int remotemem_open_link(struct remotemem *m, uint32_t id, const char *name)
{
	return (int)ask_for_path(m, id, name, LINK, NULL);
}

/* ---- events ------------------------------------------------------------------------------ */

/* This file needs the lock that opening an event needs, and no other, and has the shorter
 * deadline. */
static int check_answer(struct remotemem *m, uint32_t tid)
{
	uint64_t now_ns = clock_monotonic_ns();
	char path[32];
	const char *text;
	int r = may_ask(m, tid);
	if (r < 0 || (m->answered == tid && now_ns - m->answered_ns < TRUST_NS))
		return r;
	snprintf(path, sizeof(path), "%u/personality", tid);
	if (note_answer(m, tid, memhelper_text(m->helper, path, true, &text)) == -ETIMEDOUT)
		return -ETIMEDOUT;
	m->answered = tid;
	m->answered_ns = now_ns;
	return 0;
}

int remotemem_open_event(struct remotemem *m, const struct memhelper_event *ev)
{
	pthread_mutex_lock(&m->mutex);
	long r = check_answer(m, ev->tid);
	if (r == 0)
		r = note_answer(m, ev->tid, memhelper_event(m->helper, ev));
	pthread_mutex_unlock(&m->mutex);
	return (int)r;
}

/* ---- giving up ------------------------------------------------------------------------------ */

void remotemem_give_up(struct remotemem *m, uint32_t id)
{
	pthread_mutex_lock(&m->mutex);
	if (may_ask(m, id) == 0)
		note_answer(m, id, -ETIMEDOUT);
	pthread_mutex_unlock(&m->mutex);
}

bool remotemem_is_given_up(struct remotemem *m, uint32_t id)
{
	pthread_mutex_lock(&m->mutex);
	bool is_given_up = is_stuck(m, id);
	pthread_mutex_unlock(&m->mutex);
	return is_given_up;
}

/* ---- what happened ------------------------------------------------------------------------ */

void remotemem_explain(const struct remotemem *m, const struct log *log)
{
	for (uint32_t i = 0; m && i < m->stats.n_stuck; i++)
		log_line(log, LOG_EXPLAIN, "process %u: its memory did not answer and is not "
			 "read again (FUSE, userfaultfd, or it executes a program)", m->stuck[i]);
}

struct remotemem_stats remotemem_stats(const struct remotemem *m)
{
	return m->stats;
}
