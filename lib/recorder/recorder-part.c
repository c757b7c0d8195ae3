/* Records a part of a program: one call to begin, one to end. */

#include "base/err.h"
#include "recorder/recorder-private.h"

int cprof_record_begin_sized(const struct cprof_config *config, size_t config_bytes,
			    struct cprof_recorder **ret_recorder, struct err *e)
{
	struct cprof_config c = { .self = CPROF_SELF_THREAD };
	struct cprof_recorder *r;
	int code = 0;
	if (config)
		code = recorder_take_config(&c, config, config_bytes, e);
	if (code < 0)
		return code;
	if (c.n_pids + c.n_tids == 0 && !c.command_pid && c.self == CPROF_SELF_NONE)
		c.self = CPROF_SELF_THREAD;
	code = cprof_recorder_new(&c, &r, e);
	if (code < 0)
		return code;
	code = cprof_recorder_start(r, e);
	if (code < 0) {
		cprof_recorder_free(r);
		return code;
	}
	*ret_recorder = r;
	return 0;
}

int cprof_record_end(struct cprof_recorder *r, const char *path, struct err *e)
{
	if (!r)
		return 0;
	int code = cprof_recorder_stop(r, e);
	if (code == 0 && path)
		code = cprof_recorder_write_file(r, 0, path, e);
	cprof_recorder_free(r);
	return code;
}
