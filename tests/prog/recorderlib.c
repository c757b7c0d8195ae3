/* Records the program that loads it, from its constructor to its destructor; see recorders.c. */
#include <cprof.h>
#include <stdio.h>

static struct cprof_recorder *recorder;

__attribute__((constructor)) static void begin(void)
{
	const struct cprof_config c = { .self = CPROF_SELF_PROCESS };
	struct cprof_error e;
	if (cprof_record_begin(&c, &recorder, &e) < 0)
		printf("constructor: no (%s)\n", e.what);
}

__attribute__((destructor)) static void end(void)
{
	struct cprof_error e;
	if (cprof_record_end(recorder, "library.pb.gz", &e) < 0)
		printf("destructor: no (%s)\n", e.what);
}
