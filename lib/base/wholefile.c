#include "base/wholefile.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int wholefile_read(int fd, const char *name, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot read '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", name);
	CLEANUP_FREE char *text = malloc(max + 2);
	if (!text)
		return err_errno(e, ENOMEM, "cannot read '%s'", name);
	size_t n = 0;
	ssize_t got = 0;
	while (n <= max && ((got = read(fd, text + n, max + 1 - n)) > 0 ||
			    (got < 0 && errno == EINTR)))
		n += got > 0 ? (size_t)got : 0;
	if (got < 0)
		return err_errno(e, errno, "cannot read '%s'", name);
	if (n > max)
		return err_set(e, EFBIG, "'%s' has more than %zu bytes", name, max);
	text[n] = '\0';
	*ret = TAKE_PTR(text);
	*ret_n = n;
	return 0;
}
