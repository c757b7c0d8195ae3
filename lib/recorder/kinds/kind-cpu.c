#include "recorder/kind.h"

#include "recorder/recorder-private.h"
#include "recorder/setup.h"

static void feed(struct cprof_recorder *r, const struct record *record)
{
	engine_feed(&r->engine, record);
}

const struct cprof_kind *cprof_cpu_recorder(void)
{
	static const struct cprof_kind cpu = {
		.name = "cpu", .open = setup_recorder, .feed = feed,
	};
	return &cpu;
}

const char *cprof_kind_name(const struct cprof_kind *kind)
{
	return kind->name;
}
