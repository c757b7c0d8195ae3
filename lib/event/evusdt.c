/*
 * A probe has a breakpoint at each of its locations.  Programs that compute expensive arguments do
 * so only while a counter in their data, the semaphore, is not zero.  The kernel increments it when
 * it places the breakpoint, and decrements it when it removes it, also after SIGKILL
 * (Documentation/trace/uprobetracer.rst, SDT markers; perf: ref_ctr_offset, Linux 4.20).
 */
#include "event/evusdt.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evpmu.h"
#include "event/evsdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_semaphore(struct evspec *s, const struct host *h, uint64_t off, struct err *e)
{
	struct evpmu pmu = { .name = (char *)"uprobe" };
	struct evpmu_bits bits;
	uint64_t config[4] = { s->config };
	if (!off)
		return 0;
	if (evpmu_format(h, &pmu, "ref_ctr_offset", strlen("ref_ctr_offset"), &bits) < 0)
		return err_set(e, EOPNOTSUPP, "probe '%s' counts its users, which needs Linux "
			       "4.20", s->name);
	if (!evpmu_spread(&bits, off, config))
		return err_set(e, EOPNOTSUPP, "probe '%s' counts its users beyond the first 4 GiB "
			       "of the file", s->name);
	s->config = config[0];
	return 0;
}

/* Argument n of the location. */
static int find_arg(const struct evusdt *u, unsigned n, struct evarg *ret, struct err *e)
{
	int r = evarg_find(u->text, n, u->arch, ret);
	if (r == -ENOENT) {
		r = err_set(e, EINVAL, "probe '%s:%s' has no argument %u", u->provider, u->name, n);
		err_hint(e, "its arguments are: %.200s", *u->text ? u->text : "none");
	} else if (r < 0) {
		r = err_set(e, EINVAL, "argument %u of probe '%s:%s' is not in a sample", n,
			    u->provider, u->name);
		err_hint(e, "a sample has the general registers and a copy of the stack; the "
			 "arguments are: %.200s", u->text);
	}
	return r;
}

int evusdt_find_args(struct evusdt *u, struct err *e)
{
	struct evusdt_args a = { .sp = u->arch ? u->arch->sp : 0, .n_labels = u->n_labels };
	int r = 0;
	a.has_value = u->value_arg != 0;
	if (a.has_value)
		r = find_arg(u, u->value_arg, &a.value, e);
	for (unsigned i = 0; r == 0 && i < u->n_labels; i++) {
		a.key[i] = u->key[i];
		r = find_arg(u, u->label_arg[i], &a.label[i], e);
	}
	if (r == 0)
		u->args = a;
	return r;
}

int evusdt_locate(struct evspec *s, const struct host *h, const struct evsdt *file,
		  const struct evsdt_location *at, const char *path, int fd, struct err *e)
{
	struct evspec to = *s;
	struct evusdt u = *s->usdt;
	CLEANUP_FREE char *text = strdup(at->args), *own_path = strdup(path);
	if (!text || !own_path)
		return err_errno(e, ENOMEM, "cannot store an event");
	u.text = text;
	u.arch = file->arch;
	int r = set_semaphore(&to, h, at->semaphore_off, e);
	if (r == 0)
		r = evusdt_find_args(&u, e);
	if (r < 0)
		return r;
	u.is_located = true;
	u.fd = fd;
	/* The keys of the arguments are in the structure that stays. */
	for (unsigned i = 0; i < u.n_labels; i++)
		u.args.key[i] = s->usdt->key[i];
	*s->usdt = u;
	to.config2 = at->file_off;
	to.path = TAKE_PTR(own_path);
	*s = to;
	text = NULL;
	return 0;
}

bool evusdt_copy(const struct evspec *pending, struct evspec *ret)
{
	CLEANUP_FREE struct evusdt *u = malloc(sizeof(*u));
	CLEANUP_FREE char *provider = strdup(pending->usdt->provider);
	CLEANUP_FREE char *name = strdup(pending->usdt->name);
	if (!u || !provider || !name)
		return false;
	*u = *pending->usdt;
	u->provider = TAKE_PTR(provider);
	u->name = TAKE_PTR(name);
	*ret = *pending;
	ret->usdt = TAKE_PTR(u);
	return true;
}

const struct evusdt_args *evusdt_args(const struct evspec *s)
{
	return s->usdt && (s->usdt->value_arg || s->usdt->n_labels) ? &s->usdt->args : NULL;
}

void evusdt_free(struct evusdt *u)
{
	if (!u)
		return;
	if (u->fd >= 0)
		close(u->fd);
	free(u->provider);
	free(u->name);
	free(u->text);
	free(u);
}
