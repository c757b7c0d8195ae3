/*
 * libpfm4 keeps global state: the first caller initialises it, and it is never torn down.  Its
 * tables hold the events of all models that it knows; it encodes only those of this machine, unless
 * the environment says otherwise (LIBPFM_ENCODE_INACTIVE=1).
 *
 * It is loaded on demand: its tables are 2 MB of pointers, which cost every program that is linked
 * with it nearly a millisecond at startup.
 */
#include "event/evpfm.h"

#include "base/err.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SONAME "libpfm.so.4"

/* Its functions, without the pfm_ in front. */
struct api {
	__typeof__(&pfm_initialize) initialize;
	__typeof__(&pfm_get_pmu_info) get_pmu_info;
	__typeof__(&pfm_strerror) strerror;
	__typeof__(&pfm_get_os_event_encoding) get_os_event_encoding;
	__typeof__(&pfm_get_event_attr_info) get_event_attr_info;
	__typeof__(&pfm_get_event_next) get_event_next;
	__typeof__(&pfm_get_event_info) get_event_info;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int init_code = PFM_ERR_NOINIT;
static struct api api;           /* strerror NULL: it could not be loaded */

static bool load_function(void *library, const char *name, void *ret_function)
{
	void *p = dlsym(library, name);
	memcpy(ret_function, &p, sizeof(p));
	return p != NULL;
}

static bool load(struct api *ret)
{
	struct api a;
	void *l = dlopen(SONAME, RTLD_LAZY | RTLD_LOCAL);
	if (!l || !load_function(l, "pfm_initialize", &a.initialize) ||
	    !load_function(l, "pfm_get_pmu_info", &a.get_pmu_info) ||
	    !load_function(l, "pfm_strerror", &a.strerror) ||
	    !load_function(l, "pfm_get_os_event_encoding", &a.get_os_event_encoding) ||
	    !load_function(l, "pfm_get_event_attr_info", &a.get_event_attr_info) ||
	    !load_function(l, "pfm_get_event_next", &a.get_event_next) ||
	    !load_function(l, "pfm_get_event_info", &a.get_event_info))
		return false;
	*ret = a;
	return true;
}

static void init(void)
{
	if (load(&api))
		init_code = api.initialize();
}

static bool is_ready(void)
{
	pthread_once(&once, init);
	return init_code == PFM_SUCCESS;
}

bool evpfm_is_there(void)
{
	return is_ready();
}

bool evpfm_pmu_at(int i, struct evpfm_pmu *ret)
{
	pfm_pmu_info_t info = { .size = sizeof(info) };
	if (!is_ready() || i >= PFM_PMU_MAX)
		return false;
	*ret = (struct evpfm_pmu){ NULL, NULL, false, 0 };
	if (api.get_pmu_info((pfm_pmu_t)i, &info) != PFM_SUCCESS)
		return true;
	*ret = (struct evpfm_pmu){ info.name, info.desc, info.is_present, info.nevents };
	return true;
}

static bool pmu_named(const char *name, size_t n, struct evpfm_pmu *ret)
{
	for (int i = 0; evpfm_pmu_at(i, ret); i++)
		if (ret->name && strlen(ret->name) == n && memcmp(ret->name, name, n) == 0)
			return true;
	return false;
}

static int fail(const char *text, int r, struct err *e)
{
	const char *colons = strstr(text, "::");
	struct evpfm_pmu pmu;
	if (colons && !pmu_named(text, (size_t)(colons - text), &pmu)) {
		err_set(e, ENOENT, "libpfm4 knows no PMU '%.*s'", (int)(colons - text), text);
		err_hint(e, "'cprof list --pmu' shows those of this machine");
		return -ENOENT;
	}
	if (colons && !pmu.is_here && r == PFM_ERR_NOTFOUND) {
		err_set(e, ENODEV, "event '%s' belongs to another CPU: %s", text, pmu.what);
		err_hint(e, "'cprof list --pmu' shows the PMUs of this machine");
		return -ENODEV;
	}
	err_set(e, r == PFM_ERR_NOTFOUND ? ENOENT : EINVAL, "event '%s': libpfm4 says: %s", text,
		api.strerror(r));
	err_hint(e, "'cprof list --search WORD' finds names");
	return r == PFM_ERR_NOTFOUND ? -ENOENT : -EINVAL;
}

int evpfm_find(const char *text, struct evpfm_attr *ret, struct err *e)
{
	struct perf_event_attr a = { .size = sizeof(a) };
	pfm_perf_encode_arg_t arg = { .attr = &a, .size = sizeof(arg) };
	if (!is_ready())
		return err_set(e, EOPNOTSUPP, "libpfm4 does not start: %s",
			       api.strerror ? api.strerror(init_code) : "no " SONAME);
	int r = api.get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT,
					     &arg);
	if (r != PFM_SUCCESS)
		return fail(text, r, e);
	*ret = (struct evpfm_attr){
		.type = a.type, .config = a.config, .config1 = a.config1, .config2 = a.config2,
		.only_user = a.exclude_kernel, .only_kernel = a.exclude_user,
		.precise_ip = a.precise_ip, .period = a.sample_period, .is_freq = a.freq,
	};
	return 0;
}

static bool each_mask(const char *pmu, const pfm_event_info_t *ev, evpfm_fn *fn, void *ctx)
{
	char name[256], what[512];
	bool any = false, more = true;
	for (int k = 0; more && k < ev->nattrs; k++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };
		if (api.get_event_attr_info(ev->idx, k, PFM_OS_NONE, &attr) != PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		any = true;
		snprintf(name, sizeof(name), "%s::%s:%s", pmu, ev->name, attr.name);
		snprintf(what, sizeof(what), "%s: %s", ev->desc, attr.desc);
		more = fn(ctx, &(struct evpfm_event){ name, what });
	}
	if (any || !more)
		return more;
	snprintf(name, sizeof(name), "%s::%s", pmu, ev->name);
	return fn(ctx, &(struct evpfm_event){ name, ev->desc });
}

void evpfm_each(int i, evpfm_fn *fn, void *ctx)
{
	pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
	if (!is_ready() || api.get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS)
		return;
	/* Events are listed for PMUs that this machine does not have, too. */
	for (int idx = pmu.first_event; idx != -1; idx = api.get_event_next(idx)) {
		pfm_event_info_t ev = { .size = sizeof(ev) };
		if (api.get_event_info(idx, PFM_OS_NONE, &ev) == PFM_SUCCESS &&
		    !each_mask(pmu.name, &ev, fn, ctx))
			return;
	}
}
