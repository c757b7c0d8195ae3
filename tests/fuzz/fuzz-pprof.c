/* Reads a profile, checks it, and adds it up for each sample type: nothing may be trusted. */

#include "base/err.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "view/scale.h"
#include "view/top.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define MAX_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = NULL;
	struct err e = { 0 };
	if (profile_read(data, size, MAX_BYTES, &p, &e) < 0) {
		assert(e.code < 0 && e.what[0]);
		return 0;
	}
	size_t n_errors = 0, n_text = 0;
	int r = pprof_check(p, NULL, NULL, &n_errors, NULL);
	assert(r == 0);
	for (size_t i = 0; i < p->n_sample_types && i < 3; i++) {
		struct top *t = NULL;
		char buf[SCALE_TEXT_MAX];
		if (top_of_profile(p, p->sample_type[i].type, &t, &e) < 0)
			continue;
		top_sort(t, TOP_BY_CUM);
		struct scale s = scale_choose(1, t->total, t->unit);
		for (size_t k = 0; k < t->n_rows; k++) {
			n_text +=
				strlen(scale_text(s, t->row[k].cum, buf)) + strlen(t->row[k].name);
			n_text += strlen(scale_percent(t->row[k].flat, t->total, buf));
		}
		assert(t->n_rows == 0 || n_text > 0);
		top_free(t);
	}
	profile_free(p);
	return 0;
}
