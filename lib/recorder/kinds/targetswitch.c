/* What a script or another program will start is not known in advance. */

#include "recorder/kinds/targetswitch.h"

#include "base/cleanup.h"
#include "base/commandpath.h"
#include "base/foreign.h"
#include "base/host.h"
#include "base/rights.h"
#include "cprof.h"
#include "symbolize/runtime/runtime-file.h"

#include <fcntl.h>

static int open_program(const struct host *h, const char *name)
{
	const struct foreign_want want = { .dir_fd = AT_FDCWD, .path = name };
	return foreign_open(h->foreign, &want, NULL);
}

static int open_command(const struct host *h, const char *file)
{
	char name[PATH_MAX];
	const char *found = commandpath_find(file, name);
	return found ? open_program(h, found) : -1;
}

static bool process_switches(const struct host *h, pid_t id)
{
	const struct foreign_want want = { .flags = FOREIGN_MAGIC_LINKS, .pid = (uint32_t)id };
	CLEANUP_RIGHTS bool raised = rights_raise();
	CLEANUP_CLOSE int link = host_open_process_link(h, (uint32_t)id, "exe");
	CLEANUP_CLOSE int fd = link < 0 ? link : foreign_open_path(h->foreign, &want, link, NULL);
	return fd >= 0 && runtime_file_switches(fd);
}

bool targetswitch_any(const struct host *h, const struct cprof_config *c)
{
	if (c->command_file) {
		CLEANUP_CLOSE int fd = open_command(h, c->command_file);
		if (fd >= 0 && runtime_file_switches(fd))
			return true;
	}
	for (size_t i = 0; i < c->n_pids; i++)
		if (process_switches(h, c->pid[i]))
			return true;
	for (size_t i = 0; i < c->n_tids; i++)
		if (process_switches(h, c->tid[i]))
			return true;
	return false;
}
