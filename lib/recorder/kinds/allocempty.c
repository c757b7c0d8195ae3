#include "recorder/kinds/allocempty.h"

#include "base/commandpath.h"
#include "base/err.h"
#include "base/foreign.h"
#include "base/host.h"
#include "cprof.h"
#include "recorder/kinds/allocprogram.h"
#include "recorder/kinds/kind-alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* Of a set-user-ID program an ordinary user gets no records. */
static int has_no_library(const struct kind_alloc *a, const char *command_file, struct err *e)
{
	char name[PATH_MAX];
	const char *path = *a->program ? a->program :
			   command_file ? commandpath_find(command_file, name) : NULL;
	const struct foreign_want want = { .dir_fd = AT_FDCWD, .path = path };
	const char *why = path ? allocprogram_why_not(&want) : NULL;
	if (why)
		err_set(e, ENODATA, "no samples: '%s' does not load libcprof-alloc.so: %s", path,
			why);
	else
		err_set(e, ENODATA, "no samples: no process of the command has loaded "
			"libcprof-alloc.so");
	err_hint(e, "--growth needs no library in the program: see cprof-memory(7)");
	return -ENODATA;
}

/* NULL: it could have been loaded, or the file of the process cannot be read. */
static const char *why_not_loaded(const struct host *h, pid_t pid)
{
	char path[PATH_MAX];
	const struct foreign_want want = {
		.dir_fd = AT_FDCWD, .path = path, .flags = FOREIGN_MAGIC_LINKS,
		.pid = (uint32_t)pid,
	};
	snprintf(path, sizeof(path), "%s/%d/exe", h->path[HOST_PROC], (int)pid);
	return allocprogram_why_not(&want);
}

int allocempty_no_process(const struct host *h, const struct cprof_config *c, struct err *e)
{
	const char *why = c->n_pids == 1 && !c->n_tids ? why_not_loaded(h, c->pid[0]) : NULL;
	if (why) {
		err_set(e, ENOENT, "process %d cannot load libcprof-alloc.so: %s", (int)c->pid[0],
			why);
		err_hint(e, "--growth needs no library in the program: see cprof-memory(7)");
		return -ENOENT;
	}
	err_set(e, ENOENT, "no process has libcprof-alloc.so or the probes otel_memory:alloc and "
		"free, or lets them be used");
	err_hint(e, "start the program with LD_PRELOAD=libcprof-alloc.so, or by cprof record: see "
		 "cprof-memory(7)");
	return -ENOENT;
}

int allocempty_why(const struct kind_alloc *a, const char *command_file, bool has_probes,
		   struct err *e)
{
	if (!allocrings_n(&a->rings) && has_probes)
		return err_set(e, ENODATA, "no samples: the probes of the program did not fire");
	if (!allocrings_n(&a->rings))
		return has_no_library(a, command_file, e);
	if (allocrings_any_shadowed(&a->rings)) {
		err_set(e, ENODATA, "no samples: the program has a malloc of its own, as programs "
			"with a sanitizer do, or of a library before libcprof-alloc.so");
		err_hint(e, "--growth works for any malloc: see cprof-memory(7)");
		return -ENODATA;
	}
	err_set(e, ENODATA, "no samples: less than %llu bytes were allocated, about",
		(unsigned long long)a->mean);
	err_hint(e, "-c gives a shorter distance between samples, in bytes");
	return -ENODATA;
}
