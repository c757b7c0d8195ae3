#include "cmd/signals.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mapguard.h"
#include "cmd/signalwatch.h"
#include "proto/outfile.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define WORK_SECONDS 2

/* What the removal of files may take on a file system that does not answer. */
#define REMOVAL_SECONDS 1

/* Signals this soon after the one that ends the recording belong to it: timeout(1) signals its
 * child and then its process group. */
#define SAME_NS UINT64_C(100000000)

/* For the handlers, which take no argument. */
static const struct outfile *const *abort_file;
static size_t n_abort_files;
static void (*work_cleanup)(void);
static volatile sig_atomic_t work_signal;  /* the first one; 0: none */
static volatile uint64_t ended_ns;  /* when a signal ended what is recorded; 0: not yet */

static void fill_end_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

static bool is_end(uint32_t signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

void signals_note_end(void)
{
	if (!ended_ns)
		ended_ns = clock_monotonic_ns();
}

/* Does a signal that comes now belong to one that came before? */
static bool is_same(void)
{
	return ended_ns && clock_monotonic_ns() - ended_ns < SAME_NS;
}

static void end_now(int signal)
{
	for (size_t i = 0; i < n_abort_files; i++)
		outfile_unlink_unfinished(abort_file[i]);
	_exit(128 + signal);
}

/* In another thread, because the main one waits in the kernel. */
static void end_stuck(int signal)
{
	static const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t set;
	sigaction(SIGALRM, &plain, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	alarm(REMOVAL_SECONDS);
	end_now(signal);
}

int signals_open(struct signals *s, int extra, struct err *e)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;
	fill_end_set(&set);
	/* Signals that the parent made us ignore (nohup, a shell's background job) stay ignored:
	 * once blocked they would be queued. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct sigaction now;
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			sigdelset(&set, ends[i]);
	}
	sigaddset(&set, SIGCHLD);
	if (extra)
		sigaddset(&set, extra);
	sigprocmask(SIG_BLOCK, &set, &s->before);
	signalwatch_start(end_stuck);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd >= 0)
		return 0;
	int r = err_errno(e, errno, "cannot wait for signals");
	err_hint_files(e, -r);
	return r;
}

int signals_open_service(bool has_children, struct err *e)
{
	sigset_t set;
	fill_end_set(&set);
	if (has_children)
		sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_errno(e, errno, "cannot receive signals") : fd;
}

void signals_close(struct signals *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int signals_next(struct signals *s, bool *ret_from_terminal)
{
	struct signalfd_siginfo info;
	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	*ret_from_terminal = info.ssi_code == SI_KERNEL;
	if (is_end(info.ssi_signo))
		signals_note_end();
	return (int)info.ssi_signo;
}

static void end_at_once(int signal)
{
	if (!is_same())
		end_now(signal);
}

/* Ignored signals stay ignored. */
static void unblock_with(void (*handler)(int signal))
{
	sigset_t set;
	struct sigaction end = { .sa_handler = handler, .sa_flags = SA_RESTART };
	signalwatch_start(end_stuck);
	fill_end_set(&set);
	for (int signal = 1; signal < NSIG; signal++) {
		struct sigaction now;
		if (sigismember(&set, signal) == 1 && sigaction(signal, NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN)
			sigaction(signal, &end, NULL);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_abort_on(const struct outfile *const *unfinished, size_t n)
{
	abort_file = unfinished;
	n_abort_files = n;
	unblock_with(end_at_once);
}

static void end_work(int signal)
{
	if (!work_signal && signal != SIGALRM) {
		work_signal = signal;
		signals_note_end();
		alarm(WORK_SECONDS);
		return;
	}
	if (signal != SIGALRM && is_same())
		return;
	work_cleanup();
	end_now(work_signal);
}

void signals_work_begin(const struct outfile *const *unfinished, void (*cleanup)(void))
{
	const struct sigaction late = { .sa_handler = end_work, .sa_flags = SA_RESTART };
	abort_file = unfinished;
	n_abort_files = unfinished ? 1 : 0;
	work_cleanup = cleanup;
	work_signal = 0;
	sigaction(SIGALRM, &late, NULL);
	unblock_with(end_work);
}

bool signals_work_end(void)
{
	signals_hold();
	alarm(0);
	abort_file = NULL;
	n_abort_files = 0;
	return work_signal != 0;
}

static struct mapguard_table maps;

static void repair_map(int signal, siginfo_t *info, void *context)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	(void)context;
	/* The instruction is repeated, and then ends the program as without a handler. */
	if (!mapguard_repair(&maps, info->si_addr))
		sigaction(signal, &plain, NULL);
}

struct mapguard_table *signals_guard_maps(void)
{
	const struct sigaction repair = { .sa_sigaction = repair_map, .sa_flags = SA_SIGINFO };
	return sigaction(SIGBUS, &repair, NULL) == 0 ? &maps : NULL;
}

void signals_hold(void)
{
	sigset_t set;
	fill_end_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}
