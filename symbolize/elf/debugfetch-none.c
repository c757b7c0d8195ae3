#include "symbolize/elf/debugfetch.h"

#include "base/err.h"

#include <errno.h>

int debugfetch_open(uint64_t budget_ns, const struct log *log, struct debugfetch **ret_fetch,
		    struct err *e)
{
	return err_set(e, ENOSYS, "this cprof was built without libdebuginfod");
}

void debugfetch_close(struct debugfetch *f)
{
}

int debugfetch_get(struct debugfetch *f, const struct dso *d, char **ret_path)
{
	return -ENOENT;
}
