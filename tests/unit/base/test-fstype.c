#include "base/fstype.h"

#include "tap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum fstype type_at(struct fstype_cache *cache, const char *path, mode_t *ret_mode)
{
	int fd = open(path, O_PATH);
	enum fstype type = fstype_of(cache, fd, 0, ret_mode);
	close(fd);
	return type;
}

int main(void)
{
	struct fstype_cache cache = { 0 };
	mode_t mode;
	tap_int(fstype_by_name("ext4"), FSTYPE_LOCAL, "a disk");
	tap_int(fstype_by_name("tmpfs"), FSTYPE_LOCAL, "memory");
	tap_int(fstype_by_name("proc"), FSTYPE_PSEUDO, "nothing is stored in /proc");
	tap_int(fstype_by_name("fuse.sshfs"), FSTYPE_REMOTE, "a daemon");
	tap_int(fstype_by_name("nfs4"), FSTYPE_REMOTE, "a server");
	tap_int(fstype_by_name("autofs"), FSTYPE_REMOTE, "an automounter");
	tap_int(fstype_by_name("ext44"), FSTYPE_REMOTE, "an unknown type");

	for (int round = 0; round < 2; round++) {
		struct fstype_cache *c = round ? &cache : NULL;
		tap_int(type_at(c, "/", &mode), FSTYPE_LOCAL, "our own root");
		tap_ok(S_ISDIR(mode), "is a folder");
		tap_int(type_at(c, "/proc/self/status", &mode), FSTYPE_PSEUDO, "a process");
		tap_ok(S_ISREG(mode), "its files are regular ones");
		tap_int(type_at(c, "/proc/self/status", &mode), FSTYPE_PSEUDO, "again");
		int fd = memfd_create("test", 0);
		tap_int(fstype_of(c, fd, 0, &mode), FSTYPE_LOCAL, "memory with a name");
		close(fd);
		int ends[2];
		tap_ok(pipe(ends) == 0 && fstype_of(c, ends[0], 0, &mode) != FSTYPE_LOCAL &&
		       S_ISFIFO(mode), "a pipe is nowhere");
		close(ends[0]);
		close(ends[1]);
	}
	tap_int(fstype_of(&cache, -1, 0, &mode), FSTYPE_REMOTE, "a bad descriptor");
	tap_int(mode, 0, "has no type");
	return tap_done();
}
