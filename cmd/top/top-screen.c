/*
 * Changes three things: the alternate screen, the cursor, and the terminal's modes.  Handlers for
 * the signals of a crash restore them with async-signal-safe functions, and then let the signal
 * take its usual effect.  ISIG stays on, so that Ctrl-C and Ctrl-Z send signals as usual.
 *
 * To avoid flicker, each picture is one write: home, the lines, each with "erase to the end of the
 * line", and finally "erase below".
 */

#include "cmd/top/top-screen.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define CRASH_STACK_BYTES 16384

/* For the handlers, which take no argument. */
static struct termios modes_before;
static volatile sig_atomic_t is_changed;
static char crash_stack[CRASH_STACK_BYTES];

static const int crash[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGQUIT };
#define N_CRASH (sizeof(crash) / sizeof(*crash))

static bool write_all(const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, text, n);
		if (done < 0 && errno == EAGAIN) {
			/* A non-blocking terminal whose other end is slow. */
			struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
			poll(&p, 1, 1000);
		} else if (done < 0 && errno != EINTR) {
			return false;
		}
		text += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* Restores the terminal.  Also called by handlers. */
static void leave_screen(void)
{
	static const char off[] = "\033[0m\033[?25h\033[?7h\033[?1049l";
	if (!is_changed)
		return;
	is_changed = 0;
	write_all(off, sizeof(off) - 1);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_before);
}

/* Stops by the signal itself, so that the shell notices. */
static void stop_program(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* SA_RESETHAND has removed this handler, so the signal takes its default effect. */
static void on_crash(int signal)
{
	leave_screen();
	raise(signal);
}

static void enter_screen(void)
{
	static const char on[] = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
	struct termios raw;
	if (is_changed || tcgetattr(STDIN_FILENO, &modes_before) < 0)
		return;
	raw = modes_before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	is_changed = 1;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	write_all(on, sizeof(on) - 1);
}

static void find_size(struct top_screen *s)
{
	struct winsize ws;
	s->width = 80;
	s->height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0)
		return;
	if (ws.ws_col > 0)
		s->width = ws.ws_col;
	if (ws.ws_row > 0)
		s->height = ws.ws_row;
}

static void catch_crashes(bool on)
{
	stack_t stack = { .ss_sp = crash_stack, .ss_size = sizeof(crash_stack) };
	struct sigaction act = { .sa_flags = (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK) };
	act.sa_handler = on ? on_crash : SIG_DFL;
	/* Keep a sanitizer's stack for its handlers. */
	stack_t now;
	if (on && sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
		sigaltstack(&stack, NULL);
	for (size_t i = 0; i < N_CRASH; i++)
		sigaction(crash[i], &act, NULL);
}

int top_screen_check(struct err *e)
{
	const char *term = getenv("TERM");
	bool is_dumb = term && strcmp(term, "dumb") == 0;
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1 || is_dumb) {
		err_set(e, ENOTTY, is_dumb ? "the terminal is dumb: it cannot move the cursor"
					   : "stdin and stdout are not both a terminal");
		err_hint(e, "--batch N prints N refreshes as text");
		return -ENOTTY;
	}
	return 0;
}

int top_screen_open(struct top_screen *s, struct err *e)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*s = (struct top_screen){ .signal_fd = -1 };
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return err_errno(e, errno, "cannot wait for signals");
	catch_crashes(true);
	enter_screen();
	s->is_open = true;
	find_size(s);
	return 0;
}

void top_screen_close(struct top_screen *s)
{
	if (!s->is_open)
		return;
	leave_screen();
	catch_crashes(false);
	close(s->signal_fd);
	s->signal_fd = -1;
	s->is_open = false;
}

void top_screen_abandon(void)
{
	leave_screen();
}

bool top_screen_signals(struct top_screen *s)
{
	struct signalfd_siginfo info;
	bool redraw = false;
	while (s->is_open && read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP) {
			leave_screen();
			stop_program();
		}
		/* Other programs may have left the terminal in any state meanwhile. */
		if (info.ssi_signo != SIGWINCH) {
			leave_screen();
			enter_screen();
		}
		find_size(s);
		redraw = true;
	}
	return redraw;
}

static int escape_key(const char *p, size_t n, size_t *ret_used)
{
	static const struct { const char *text; int key; } known[] = {
		{ "\033[A", TOP_SCREEN_UP }, { "\033OA", TOP_SCREEN_UP },
		{ "\033[B", TOP_SCREEN_DOWN }, { "\033OB", TOP_SCREEN_DOWN },
		{ "\033[5~", TOP_SCREEN_PAGE_UP }, { "\033[6~", TOP_SCREEN_PAGE_DOWN },
		{ "\033[H", TOP_SCREEN_HOME }, { "\033[1~", TOP_SCREEN_HOME },
		{ "\033OH", TOP_SCREEN_HOME },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t len = strlen(known[i].text);
		if (len <= n && memcmp(known[i].text, p, len) == 0) {
			*ret_used = len;
			return known[i].key;
		}
	}
	/* Other escape sequences end in a letter or '~'; ignore them. */
	size_t i = 1;
	if (i < n && (p[i] == '[' || p[i] == 'O'))
		for (i++; i < n && !(p[i] >= '@' && p[i] <= '~'); i++)
			;
	*ret_used = i < n ? i + 1 : n;
	return TOP_SCREEN_OTHER;
}

int top_screen_key(struct top_screen *s)
{
	size_t used = 1;
	if (s->n_pending == 0) {
		ssize_t n = read(STDIN_FILENO, s->pending, sizeof(s->pending));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return TOP_SCREEN_EOF;
		struct pollfd p = { .fd = STDIN_FILENO };
		if (n == 0 && poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR)))
			return TOP_SCREEN_EOF;
		s->n_pending = n > 0 ? (size_t)n : 0;
	}
	if (s->n_pending == 0)
		return TOP_SCREEN_NONE;
	int key = (unsigned char)s->pending[0];
	if (key == '\033')
		key = escape_key(s->pending, s->n_pending, &used);
	s->n_pending -= used;
	memmove(s->pending, s->pending + used, s->n_pending);
	return key;
}

void top_screen_draw(struct top_screen *s, const char *text)
{
	char *all = NULL;
	size_t n = 0;
	FILE *out = s->is_open ? open_memstream(&all, &n) : NULL;
	if (!out)
		return;
	fputs("\033[H", out);
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		fwrite(line, 1, len, out);
		fputs("\033[K", out);
		line += len;
		if (*line == '\n' && *++line)
			fputs("\r\n", out);
	}
	fputs("\033[J", out);
	bool ok = fclose(out) == 0;
	if (ok)
		write_all(all, n);
	free(all);
}
