#include "cmd/report/openbrowser.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A page that leads to the address, in a file that only this user may read. */
static bool write_file(struct openbrowser *b, const char *address)
{
	const char *folder = getenv("TMPDIR");
	int n = snprintf(b->path, sizeof(b->path), "%s/cprof-report-XXXXXX.html",
			 folder && *folder == '/' ? folder : "/tmp");
	int fd = n < (int)sizeof(b->path) ? mkostemps(b->path, 5, O_CLOEXEC) : -1;
	if (fd < 0) {
		b->path[0] = '\0';
		return false;
	}
	FILE *f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return false;
	}
	fprintf(f, "<!doctype html><meta charset=\"utf-8\"><title>cprof</title>"
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">"
		"<a href=\"%s\">the profile</a>\n", address, address);
	return fclose(f) == 0;
}

const char *openbrowser_start(struct openbrowser *b, const char *address, const sigset_t *mask)
{
	const char *browser = getenv("BROWSER");
	bool has_screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
	if (!browser || !*browser) {
		if (!has_screen)
			return "there is no screen (DISPLAY, WAYLAND_DISPLAY), and BROWSER is not "
			       "set";
		browser = "xdg-open";
	}
	if (!write_file(b, address))
		return "no temporary file can be written";
	b->pid = fork();
	if (b->pid == 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		/* What it prints is of no use here. */
		CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; null >= 0 && fd <= 2; fd++)
			dup2(null, fd);
		execlp(browser, browser, b->path, (char *)NULL);
		_exit(127);
	}
	if (b->pid > 0)
		return NULL;
	b->pid = 0;
	openbrowser_done(b);
	return "no process can be started";
}

void openbrowser_reap(struct openbrowser *b)
{
	int status;
	if (!b->pid || waitpid(b->pid, &status, WNOHANG) != b->pid)
		return;
	b->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		fputs("cprof report: there is no browser to open (xdg-open, BROWSER)\n", stderr);
}

void openbrowser_done(struct openbrowser *b)
{
	if (b->path[0])
		unlink(b->path);
	b->path[0] = '\0';
}
