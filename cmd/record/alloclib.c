#include "cmd/record/alloclib.h"

#include "cmd/beside.h"

static const char *const places[] = {
	CPROF_ALLOCLIB_FOLDER, "../lib/preload",
};

char *alloclib_path(struct err *e)
{
	return beside_find(places, sizeof(places) / sizeof(*places), "libcprof-alloc.so", e);
}
