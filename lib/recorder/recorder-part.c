/* Records a part of a program: one call to begin, one to end. */

#include "base/err.h"
#include "recorder/recorder-private.h"

int cprof_record_begin_sized(const struct cprof_config *config, size_t config_bytes,
			    struct cprof_recorder **ret_recorder, struct err *e)
{
	struct cprof_config c = { .self = CPROF_SELF_THREAD };
	struct cprof_recorder *rec;
	int r = config ? recorder_take_config(&c, config, config_bytes, e) : 0;
	if (r < 0)
		return r;
	if (c.n_pids + c.n_tids == 0 && !c.command_pid && c.self == CPROF_SELF_NONE)
		c.self = CPROF_SELF_THREAD;
	r = cprof_recorder_new(&c, &rec, e);
	if (r < 0)
		return r;
	r = cprof_recorder_start(rec, e);
	if (r < 0) {
		cprof_recorder_free(rec);
		return r;
	}
	*ret_recorder = rec;
	return 0;
}

int cprof_record_end(struct cprof_recorder *rec, const char *path, struct err *e)
{
	if (!rec)
		return 0;
	int r = cprof_recorder_stop(rec, e);
	if (r < 0 || !path)
		goto out;
	r = cprof_recorder_write_file(rec, 0, path, e);
out:
	cprof_recorder_free(rec);
	return r;
}
