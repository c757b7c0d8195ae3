/* Conditions and regular expressions of options: "CONDITION\nREGEX\nTEXT". */

#include "base/err.h"
#include "view/table/failif.h"
#include "view/model/pattern.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct failif g;
	struct err e = { 0 };
	if (size > 200)
		return 0;
	char *text = strndup((const char *)data, size), *save = NULL;
	char *word = strtok_r(text, "\n", &save);
	if (word) {
		int r = failif_parse(&g, word, &e);
		assert(r == 0 || (r == -EINVAL && e.is_usage));
		failif_done(&g);
	}
	word = strtok_r(NULL, "\n", &save);
	struct pattern p = { 0 };
	if (word && pattern_compile_foreign(&p, word))
		pattern_matches(&p, save ? save : "");
	pattern_done(&p);
	free(text);
	return 0;
}
