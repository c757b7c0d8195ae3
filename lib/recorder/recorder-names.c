/*
 * Names of a recorder's frames.  A child process that writes a profile looks them up, and sends
 * what it has learned to the recorder, so that the next child knows it.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "cprof-names.h"
#include "profile/names-kept.h"
#include "recorder/recorder-private.h"

#include <errno.h>

#define KNOWN_PART 16u                 /* of --max-memory, for names of earlier profiles */

static struct names_options options_of(const struct cprof_recorder *rec)
{
	return (struct names_options){
		.symbols = { .host = rec->session.host, .log = rec->session.log,
			     .demangle = (uint8_t)rec->config.naming.demangle,
			     .only_addresses = rec->config.naming.no_symbols,
			     .no_inlines = rec->config.naming.no_debug_info,
			     .timeout_ns = rec->config.symbol_timeout_ns },
		.naming = &rec->config.naming,
		.running_kernel = rec->session.source->facts.running_kernel,
		.may_ask_kernel = !rec->config.no_bpf && !rec->config.machine,
		.kernel_release = rec->session.source->facts.kernel_release,
		.cache_dir = rec->config.cache_dir,
		.known = &rec->known,
	};
}

int recorder_look_up_names(struct cprof_recorder *rec, struct err *e)
{
	if (rec->names_ready && rec->names_compactions == rec->engine.gc.tables.n_runs)
		return 0;
	/* Names refer to frames and strings, whose ids have changed. */
	if (rec->names_compactions != rec->engine.gc.tables.n_runs)
		names_done(&rec->names);
	rec->names_compactions = rec->engine.gc.tables.n_runs;
	struct names_options o = options_of(rec);
	int r = names_resolve(&rec->engine, &o, &rec->names, e);
	rec->names_ready = r == 0;
	return r;
}

int cprof_recorder_send_names(struct cprof_recorder *rec,
			      int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			      struct err *e)
{
	struct namecache_bytes bytes = { 0 };
	struct names_options o = options_of(rec);
	if (!rec->names_ready)
		return err_set(e, EINVAL, "no profile was written, so no names are known");
	int r = names_kept_put(&rec->engine, &rec->names, &o, &rec->known, &bytes) ? 0 : -ENOMEM;
	if (r == 0 && bytes.data.n)
		r = write(ctx, bytes.data.v, bytes.data.n);
	VEC_FREE(&bytes.data);
	return r < 0 ? err_errno(e, -r, "cannot send the names") : 0;
}

/* All or nothing: names are a convenience. */
static bool charge_known(struct cprof_recorder *rec)
{
	struct budget *b = &rec->engine.budget;
	size_t n = namecache_bytes_used(&rec->known);
	if (n > rec->n_known_bytes && !budget_charge(b, n - rec->n_known_bytes))
		return false;
	if (n < rec->n_known_bytes)
		budget_release(b, rec->n_known_bytes - n);
	rec->n_known_bytes = n;
	return true;
}

int cprof_recorder_add_names(struct cprof_recorder *rec, const void *data, size_t n_bytes,
			     struct err *e)
{
	int r = recorder_check_owner(rec, e);
	if (r < 0)
		return r;
	size_t limit = rec->engine.budget.limit_bytes;
	long n = namecache_add(&rec->known, data, n_bytes, (limit ? limit : SIZE_MAX) / KNOWN_PART);
	if (n < 0 || !charge_known(rec)) {
		namecache_done(&rec->known);
		charge_known(rec);
	}
	if (n < 0)
		return err_errno(e, (int)-n, "cannot keep the names");
	return (size_t)n == n_bytes ? 0 : err_set(e, EINVAL, "the names are incomplete");
}
