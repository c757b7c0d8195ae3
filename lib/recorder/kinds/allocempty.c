#include "recorder/kinds/allocempty.h"

#include "base/commandpath.h"
#include "base/err.h"
#include "recorder/kinds/allocprogram.h"
#include "recorder/kinds/kind-alloc.h"

#include <errno.h>

/* Of a set-user-ID program an ordinary user gets no records. */
static int has_no_library(const struct kind_alloc *a, const char *command_file, struct err *e)
{
	char name[PATH_MAX];
	const char *path = *a->program ? a->program :
			   command_file ? commandpath_find(command_file, name) : NULL;
	const char *why = path ? allocprogram_why_not(path) : NULL;
	if (why)
		err_set(e, ENODATA, "no samples: '%s' does not load libcprof-alloc.so: %s", path,
			why);
	else
		err_set(e, ENODATA, "no samples: no process of the command has loaded "
			"libcprof-alloc.so");
	err_hint(e, "--growth needs no library in the program: see cprof-memory(7)");
	return -ENODATA;
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
