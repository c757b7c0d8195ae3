/*
 * A pipe to the pager replaces stdout, so other code does not notice it.  The shell starts the
 * pager, since PAGER may contain options; if it is missing, cat replaces it.
 */

#include "cmd/term.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "cmd/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static int find_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	if (columns && atoi(columns) > 0)
		return atoi(columns);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return 80;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && value[0];
}

static void start_pager(struct term *t)
{
	const char *pager = getenv("PAGER");
	if (pager && (!pager[0] || strcmp(pager, "cat") == 0))
		return;
	int fd[2];
	CLEANUP_FREE char *command = NULL;
	if (asprintf(&command, "%s || cat", pager ? pager : "less 2>/dev/null") < 0) {
		command = NULL;
		return;
	}
	if (pipe(fd) < 0)
		return;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fd[0], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		caller_leave();
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid > 0 && dup2(fd[1], STDOUT_FILENO) >= 0) {
		t->pager = pid;
		/* Leaving the pager early must not end the program. */
		signal(SIGPIPE, SIG_IGN);
	}
	close(fd[0]);
	close(fd[1]);
}

void term_open(struct term *t, bool use_pager)
{
	*t = (struct term){ .out = stdout, .is_terminal = isatty(STDOUT_FILENO) == 1 };
	if (!t->is_terminal)
		return;
	setlocale(LC_CTYPE, "");
	t->has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	const char *term = getenv("TERM");
	t->has_color = !is_set("NO_COLOR") && term && strcmp(term, "dumb") != 0;
	t->width = find_width();
	if (use_pager)
		start_pager(t);
}

int term_close(struct term *t)
{
	errno = 0;
	bool failed = fflush(stdout) != 0 || ferror(stdout);
	int r = failed ? (errno ? errno : EIO) : 0;
	if (!t->pager)
		return r;
	/* The pager reads end of file only after the last descriptor is closed. */
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		close(null);
	} else {
		close(STDOUT_FILENO);
	}
	clearerr(stdout);
	while (waitpid(t->pager, NULL, 0) < 0 && errno == EINTR)
		;
	t->pager = 0;
	return r == EPIPE ? 0 : r;
}

/* Measures one character of valid UTF-8: its bytes, and its columns. */
static size_t measure_character(const struct term *t, const char *p, int *columns)
{
	const unsigned char *u = (const unsigned char *)p;
	*columns = 1;
	if (u[0] < 0x80)
		return 1;
	size_t n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	wchar_t c = (wchar_t)(u[0] & (0xff >> (n + 1)));
	for (size_t i = 1; i < n; i++)
		c = (wchar_t)(c << 6 | (u[i] & 0x3f));
	int width = t->has_utf8 ? wcwidth(c) : 1;
	uint32_t control;
	*columns = width < 0 || utf8_control(p, &control) ? 1 : width;
	return n;
}

static void put_character(const struct term *t, const char *p, size_t n)
{
	uint32_t c;
	if (utf8_control(p, &c) || (n > 1 && t->is_terminal && !t->has_utf8))
		fputc('?', t->out);
	else
		fwrite(p, 1, n, t->out);
}

int term_print_name(const struct term *t, const char *name, int columns)
{
	size_t n = strlen(name), used = 0;
	CLEANUP_FREE char *copy = malloc(UTF8_CLEAN_MAX(n) + 1);
	if (!copy) {
		fputc('?', t->out);
		return 1;
	}
	copy[utf8_clean(copy, name, n)] = '\0';
	int total = 0, width = 0, w;
	for (const char *p = copy; *p; total += w)
		p += measure_character(t, p, &w);
	const char *dots = t->has_utf8 ? "\xe2\x80\xa6" : "..";
	int dots_width = t->has_utf8 ? 1 : 2;
	bool cut = columns > 0 && total > columns;
	int room = cut ? columns - dots_width : total;
	for (const char *p = copy; *p; p += used) {
		used = measure_character(t, p, &w);
		if (width + w > room)
			break;
		put_character(t, p, used);
		width += w;
	}
	if (cut && columns >= dots_width) {
		fputs(dots, t->out);
		width += dots_width;
	}
	return width;
}

void term_color(const struct term *t, enum term_color color)
{
	static const char *const code[] = { "0", "1", "2", "31", "33", "32", "36" };
	if (t->has_color)
		fprintf(t->out, "\033[%sm", code[color]);
}

enum term_color term_heat(double share)
{
	share = share < 0 ? -share : share;
	return share >= 0.1 ? TERM_RED : share >= 0.02 ? TERM_YELLOW : TERM_PLAIN;
}
