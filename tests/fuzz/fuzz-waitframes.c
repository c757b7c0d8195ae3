/* Names of functions and files, as a program chooses them.  The first line is the name of a thread,
 * each other one a frame: its function and, after a tab, its file. */

#include "symbolize/runtime/waitframes.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_label(const struct waitframes_label *l)
{
	assert(!l || (l->key && *l->key && l->value && *l->value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char start[] = "waits of threads: ";
	struct waitframes_frame f[WAITFRAMES_MAX];
	char *text = malloc(size + 1), *rest = text;
	size_t n = 0;
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	const char *thread = strsep(&rest, "\n");
	for (char *line; n < WAITFRAMES_MAX && (line = strsep(&rest, "\n"));) {
		const char *name = strsep(&line, "\t");
		f[n++] = (struct waitframes_frame){ name, line ? line : "" };
	}
	check_label(waitframes_label(f, n, true, thread));
	check_label(waitframes_label(f, n, false, thread));
	for (size_t i = 0; i < n; i++) {
		const char *remark = waitframes_remark(f[i].name);
		assert(!remark || strncmp(remark, start, sizeof(start) - 1) == 0);
		waitframes_is_call(&f[i]);
	}
	free(text);
	return 0;
}
