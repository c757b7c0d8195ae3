/* One zstd stream per file: compressed records are its pieces. */

#include "source/perfdata/perfdata-zstd.h"

#include "base/err.h"

#include <errno.h>
#include <zstd.h>

int perfdata_zstd_new(struct perfdata_zstd **ret_zstd, struct err *e)
{
	ZSTD_DStream *s = ZSTD_createDStream();
	if (!s)
		return err_errno(e, ENOMEM, "cannot read compressed records");
	*ret_zstd = (struct perfdata_zstd *)s;
	return 0;
}

void perfdata_zstd_free(struct perfdata_zstd *z)
{
	ZSTD_freeDStream((ZSTD_DStream *)z);
}

long perfdata_zstd_run(struct perfdata_zstd *z, const void *in, size_t n_in, size_t *io_done,
		       void *out, size_t n_out, struct err *e)
{
	ZSTD_inBuffer from = { .src = in, .size = n_in, .pos = *io_done };
	ZSTD_outBuffer to = { .dst = out, .size = n_out };
	while (to.pos < to.size) {
		size_t before = to.pos, taken = from.pos;
		size_t r = ZSTD_decompressStream((ZSTD_DStream *)z, &to, &from);
		if (ZSTD_isError(r))
			return err_set(e, EINVAL, "a compressed record is damaged: %s",
				       ZSTD_getErrorName(r));
		if (to.pos == before && from.pos == taken)
			break;
	}
	*io_done = from.pos;
	return (long)to.pos;
}
