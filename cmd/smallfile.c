#include "cmd/smallfile.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *smallfile_read(const char *option, const char *path, mode_t forbidden, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_errno(e, errno, "%s: cannot read '%s'", option, path);
		return NULL;
	}
	if (st.st_mode & forbidden) {
		err_set(e, EPERM, "%s: others can read or change '%s'", option, path);
		err_hint(e, "chmod %o %s", 0600 | (0040 & ~forbidden), path);
		return NULL;
	}
	char *text = S_ISREG(st.st_mode) ? calloc(1, SMALLFILE_MAX + 1) : NULL;
	ssize_t n = text ? read(fd, text, SMALLFILE_MAX) : -1;
	if (n > 0 && n < SMALLFILE_MAX)
		return text;
	err_set(e, EINVAL, "%s: '%s' is not a file of 1 to %d bytes", option, path,
		SMALLFILE_MAX - 1);
	free(text);
	return NULL;
}
