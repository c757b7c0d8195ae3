#include "snapshot/idlecpus.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOOKS_MAX 4u

/* proc_loadavg(5): "0.20 0.18 0.12 1/80 11206". */
static unsigned look(const struct host *h)
{
	char text[128];
	unsigned n;
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "loadavg");
	ssize_t n_bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n_bytes > 0 ? n_bytes : 0] = '\0';
	return sscanf(text, "%*s %*s %*s %u/", &n) == 1 ? n : 0;
}

unsigned idlecpus_runnable(const struct host *h, unsigned enough, unsigned pause_us)
{
	unsigned least = look(h);
	for (unsigned i = 1; i < LOOKS_MAX && least > enough; i++) {
		if (pause_us)
			usleep(pause_us);
		unsigned n = look(h);
		if (n < least)
			least = n;
	}
	return least;
}
