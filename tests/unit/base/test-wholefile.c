#include "base/err.h"
#include "base/wholefile.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char path[] = "/tmp/test-wholefile-XXXXXX", *text = NULL;
	struct err e = { 0 };
	size_t n = 0;
	int fd = mkstemp(path), pipes[2];
	if (fd < 0 || write(fd, "one\ntwo\n", 8) != 8 || pipe(pipes) < 0)
		return 1;
	lseek(fd, 0, SEEK_SET);
	tap_int(wholefile_read(fd, path, 8, &text, &n, &e), 0, "a file of the largest size");
	tap_int((long long)n, 8, "all its bytes");
	tap_str(text, "one\ntwo\n", "with a NUL");
	free(text);
	text = NULL;
	lseek(fd, 0, SEEK_SET);
	tap_int(wholefile_read(fd, path, 7, &text, &n, &e), -EFBIG, "a larger file");
	tap_ok(strstr(e.what, path) && !text, "its name is in the message");
	tap_int(wholefile_read(pipes[0], "pipe", 7, &text, &n, &e), -EINVAL, "a pipe");
	lseek(fd, 0, SEEK_END);
	tap_int(wholefile_read(fd, path, 7, &text, &n, &e), 0, "nothing");
	tap_ok(n == 0 && text && !*text, "is an empty text");
	free(text);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	unlink(path);
	return tap_done();
}
