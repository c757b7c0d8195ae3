/* For builds without libzstd: compressed records are refused. */

#include "source/perfdata/perfdata-zstd.h"

#include "base/err.h"

#include <errno.h>

int perfdata_zstd_new(struct perfdata_zstd **ret_zstd, struct err *e)
{
	(void)ret_zstd;
	err_set(e, ENOTSUP, "the records are compressed, but this cprof was built without libzstd");
	err_hint(e, "record without -z, or build cprof where libzstd's headers are installed");
	return -ENOTSUP;
}

void perfdata_zstd_free(struct perfdata_zstd *z)
{
	(void)z;
}

long perfdata_zstd_run(struct perfdata_zstd *z, const void *in, size_t n_in, size_t *io_done,
		       void *out, size_t n_out, struct err *e)
{
	(void)z, (void)in, (void)n_in, (void)io_done, (void)out, (void)n_out;
	return err_set(e, ENOTSUP, "compressed records need libzstd");
}
