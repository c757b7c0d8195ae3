/* cprof built without libpfm4. */
#include "event/evpfm.h"

#include "base/err.h"

#include <errno.h>

int evpfm_find(const char *text, struct evpfm_attr *ret, struct err *e)
{
	(void)ret;
	err_set(e, EOPNOTSUPP, "event '%s': cprof was built without libpfm4", text);
	err_hint(e, "write it as 'cpu/event=0xd1,umask=0x01/' or as a raw code, such as r01d1");
	return -EOPNOTSUPP;
}

bool evpfm_is_there(void)
{
	return false;
}

bool evpfm_pmu_at(int i, struct evpfm_pmu *ret)
{
	(void)i, (void)ret;
	return false;
}

void evpfm_each(int i, evpfm_fn *fn, void *ctx)
{
	(void)i, (void)fn, (void)ctx;
}
