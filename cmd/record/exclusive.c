/*
 * A record lock of fcntl(2): it goes with the process, children do not have it, and the kernel
 * tells who holds it.  /run/lock has the sticky bit, where a file of another user may not be
 * opened with O_CREAT (fs.protected_regular), so that is tried only when there is none.
 */
#include "cmd/record/exclusive.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
			/* The others' users must be able to lock it, too. */
			if (fd >= 0)
				fchmod(fd, 0666);
			else if (errno == EEXIST)
				fd = open(paths[i], O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		}
	}
	return fd;
}

static void say_for_whom(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[64], line[200];
	if (fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
		return;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)l.l_pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	if (f)
		fclose(f);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = line[i] ? '?' : ' ';
	line[n] = '\0';
	fprintf(stderr, "cprof record: waiting for the exclusive recording of process %d (%s)\n",
		(int)l.l_pid, line);
}

int exclusive_take(bool quiet, struct err *e)
{
	const char *path;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open_lock(&path);
	if (fd < 0)
		return err_errno(e, errno, "--exclusive: cannot open '%s'", path);
	if (fcntl(fd, F_SETLK, &l) == 0)
		return 0;
	if (!quiet)
		say_for_whom(fd);
	int code;
	do
		code = fcntl(fd, F_SETLKW, &l);
	while (code < 0 && errno == EINTR);
	return code < 0 ? err_errno(e, errno, "--exclusive: cannot lock '%s'", path) : 0;
}

/* The first word of a file. */
static bool read_word(const char *sys, const char *name, char ret[32])
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", sys, name);
	FILE *f = fopen(path, "re");
	bool ok = f && fscanf(f, "%31s", ret) == 1;
	if (f)
		fclose(f);
	return ok;
}

const char *exclusive_describe(const char *sys, char buf[EXCLUSIVE_TEXT_MAX])
{
	char governor[32], other[32], word[32], name[64];
	const char *turbo = "unknown", *smt = "unknown";
	if (!read_word(sys, "cpu0/cpufreq/scaling_governor", governor))
		strcpy(governor, "unknown");
	for (int cpu = 1; cpu < 4096; cpu++) {
		snprintf(name, sizeof(name), "cpu%d/cpufreq/scaling_governor", cpu);
		if (!read_word(sys, name, other))
			break;
		if (strcmp(other, governor) != 0) {
			strcpy(governor, "mixed");
			break;
		}
	}
	if (read_word(sys, "intel_pstate/no_turbo", word))
		turbo = word[0] == '0' ? "on" : "off";
	else if (read_word(sys, "cpufreq/boost", word))
		turbo = word[0] == '0' ? "off" : "on";
	if (read_word(sys, "smt/active", word))
		smt = word[0] == '0' ? "off" : "on";
	snprintf(buf, EXCLUSIVE_TEXT_MAX, "governor %s, turbo %s, SMT %s", governor, turbo, smt);
	return buf;
}
