/*
 * as UID COMMAND...: runs the command as that user; as UID,GID COMMAND...: with that group, too.
 * as caps FILE: gives the file the capabilities that cprof(1) names for setcap(8).
 */
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Since Linux 5.8; older headers lack it. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static int give_caps(const char *path)
{
	const int caps[] = { CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_SYS_NICE };
	struct vfs_cap_data d = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE };
	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++)
		d.data[caps[i] / 32].permitted |= 1u << caps[i] % 32;
	if (setxattr(path, "security.capability", &d, sizeof(d), 0) == 0)
		return 0;
	perror("as: setxattr");
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "caps") == 0)
		return give_caps(argv[2]);
	if (argc < 3)
		return 64;
	char *end;
	uid_t uid = (uid_t)strtoul(argv[1], &end, 10);
	gid_t group = *end == ',' ? (gid_t)strtoul(end + 1, NULL, 10) : 0;
	if (setgroups(*end == ',' ? 1 : 0, &group) < 0 || setgid(65534) < 0 || setuid(uid) < 0) {
		perror("as");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror("as: exec");
	return 127;
}
