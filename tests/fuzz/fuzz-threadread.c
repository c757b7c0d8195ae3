/* Text as in the files "syscall", "stat" and "schedstat" of a thread in /proc. */

#include "proc/threadread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct threadread_call call = { .syscall = -7 };
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (threadread_parse(text, &call))
		assert(call.syscall >= -1);
	else
		assert(call.syscall == -7 && !call.arg[0] && !call.sp);
	char state = threadread_state(text);
	assert(!state || memchr(text, state, size));
	struct threadread_times times = { .n_runs = UINT64_MAX };
	if (!threadread_parse_times(text, &times))
		assert(times.n_runs == UINT64_MAX && !times.run_ns);
	free(text);
	return 0;
}
