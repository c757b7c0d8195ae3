/* Interpreters of processes that have ended are forgotten, however rarely records are read. */

#include "engine/functions.h"

#include "proc/procs.h"
#include "tap.h"

#define SECOND_NS UINT64_C(1000000000)

int main(void)
{
	const struct interp_tables tables = { .dsos = NULL };
	const struct procs none = { .n_threads = 0 };
	const struct procs_process ended = { .pid = 7 };
	struct functions f;
	functions_init(&f, &tables, NULL, NULL, INTERP_AUTO);
	uint64_t now_ns = 1000 * SECOND_NS + 5000000;
	functions_tick(&f, &none, now_ns);
	interp_cache_is_early(&f.cache, &ended, now_ns);
	tap_int((long long)f.cache.by_pid.item.n, 1, "a process");
	functions_tick(&f, &none, now_ns += SECOND_NS / 50);
	functions_tick(&f, &none, now_ns += SECOND_NS);
	tap_int((long long)f.cache.by_pid.item.n, 0, "it is forgotten a second after its end");
	functions_tick(&f, &none, now_ns += SECOND_NS);
	functions_done(&f);
	return tap_done();
}
