/* Text as in the files "syscall", "stat" and "schedstat" of a thread in /proc. */

#include "proc/threadread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long number = -7;
	uint64_t sp = 1, pc = 2;
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (threadread_parse(text, &number, &sp, &pc))
		assert(number >= -1);
	else
		assert(number == -7);
	char state = threadread_state(text);
	assert(!state || memchr(text, state, size));
	struct threadread_times times = { .n_runs = UINT64_MAX };
	if (!threadread_parse_times(text, &times))
		assert(times.n_runs == UINT64_MAX && !times.run_ns);
	free(text);
	return 0;
}
