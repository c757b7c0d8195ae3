/*
 * A record lock of fcntl(2): it ends with the process, children do not inherit it, and the kernel
 * reports its holder.  /run/lock has the sticky bit, so that a file of another user may not be
 * opened with O_CREAT there (fs.protected_regular): that is tried only when there is no file.
 */
#include "cmd/record/exclusive.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "cmd/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longer command lines are shown only up to here. */
#define COMMAND_LINE_MAX 200

static int open_lock(const char **ret_path)
{
	static const char *const paths[] = { "/run/lock/cprof.lock", "/tmp/cprof.lock" };
	int fd = -1;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && fd < 0; i++) {
		*ret_path = paths[i];
		fd = open(paths[i], O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT) {
			fd = open(paths[i], O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  0666);
			/* Other users must be able to lock it, too. */
			if (fd >= 0)
				fchmod(fd, 0666);
			else if (errno == EEXIST)
				fd = open(paths[i], O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		}
	}
	return fd;
}

const char *exclusive_command_line(const struct host *h, pid_t pid, char buf[EXCLUSIVE_TEXT_MAX])
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;
	buf[0] = '\0';
	if (host_read_process_file(h, (uint32_t)pid, "cmdline", &text, &n) < 0)
		return buf;
	while (n && !text[n - 1])
		n--;
	n = n < COMMAND_LINE_MAX ? n : COMMAND_LINE_MAX;
	for (size_t i = 0; i < n; i++)
		buf[i] = text[i] ? text[i] : ' ';
	buf[n] = '\0';
	return buf;
}

static void report_holder(const struct host *h, int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[EXCLUSIVE_TEXT_MAX];
	if (fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
		return;
	fprintf(stderr, "cprof record: waiting for the exclusive recording of process %d (",
		(int)l.l_pid);
	printable_text(stderr, exclusive_command_line(h, l.l_pid, text));
	fputs(")\n", stderr);
}

int exclusive_take(const struct host *h, bool quiet, struct err *e)
{
	const char *path;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open_lock(&path);
	if (fd < 0)
		return err_errno(e, errno, "--exclusive: cannot open '%s'", path);
	if (fcntl(fd, F_SETLK, &l) == 0)
		return 0;
	if (!quiet)
		report_holder(h, fd);
	int r;
	do
		r = fcntl(fd, F_SETLKW, &l);
	while (r < 0 && errno == EINTR);
	return r < 0 ? err_errno(e, errno, "--exclusive: cannot lock '%s'", path) : 0;
}

/* The first word of a file about the CPUs. */
static bool read_word(const struct host *h, const char *name, char ret[32])
{
	CLEANUP_FREE char *text = NULL;
	return host_read_file(h, HOST_SYS, &text, NULL, "devices/system/cpu/%s", name) == 0 &&
	       sscanf(text, "%31s", ret) == 1;
}

const char *exclusive_describe(const struct host *h, char buf[EXCLUSIVE_TEXT_MAX])
{
	char governor[32], other[32], word[32], name[64];
	const char *turbo = "unknown", *smt = "unknown";
	if (!read_word(h, "cpu0/cpufreq/scaling_governor", governor))
		strcpy(governor, "unknown");
	for (int cpu = 1; cpu < 4096; cpu++) {
		snprintf(name, sizeof(name), "cpu%d/cpufreq/scaling_governor", cpu);
		if (!read_word(h, name, other))
			break;
		if (strcmp(other, governor) != 0) {
			strcpy(governor, "mixed");
			break;
		}
	}
	if (read_word(h, "intel_pstate/no_turbo", word))
		turbo = word[0] == '0' ? "on" : "off";
	else if (read_word(h, "cpufreq/boost", word))
		turbo = word[0] == '0' ? "off" : "on";
	if (read_word(h, "smt/active", word))
		smt = word[0] == '0' ? "off" : "on";
	snprintf(buf, EXCLUSIVE_TEXT_MAX, "governor %s, turbo %s, SMT %s", governor, turbo, smt);
	return buf;
}
