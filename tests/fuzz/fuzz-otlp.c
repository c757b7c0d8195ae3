/* Profiles for OpenTelemetry: the request is well-formed, and a refused profile leaves no trace. */

#include "proto/otlp.h"

#include "base/err.h"
#include "proto/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Tables of the dictionary begin with their zero value. */
static void check_dictionary(struct bytes b)
{
	struct wire_field f;
	bool seen[8] = { false };
	int r;
	while ((r = wire_next(&b, &f)) == 1) {
		check(f.number >= 1 && f.number <= 7 && f.type == WIRE_BYTES);
		check(seen[f.number] || bytes_left(&f.body) == 0);
		seen[f.number] = true;
	}
	check(r == 0);
	for (int i = 1; i <= 7; i++)
		check(seen[i]);
}

static unsigned int check_request(const struct wire *w)
{
	struct bytes b = bytes_of(w->p, w->n);
	struct wire_field f, g;
	unsigned int n = 0;
	int r;
	while ((r = wire_next(&b, &f)) == 1) {
		check((f.number == 1 || f.number == 2) && f.type == WIRE_BYTES);
		if (f.number == 2) {
			check_dictionary(f.body);
			continue;
		}
		n++;
		while ((r = wire_next(&f.body, &g)) == 1)
			check(g.number == 1 || g.number == 2);
		check(r == 0);
	}
	check(r == 0);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct otlp_attribute service[] = { { "service.name", "x" } };
	static const struct otlp_resource resource = { service, 1, { 1 } };
	struct wire w = { 0 };
	struct err e = { 0 };
	struct otlp *o = otlp_new();
	check(o != NULL);
	int r = otlp_add(o, data, size, (size_t)1 << 20, &resource, &e);
	check(r == 0 || r == -EINVAL || r == -E2BIG || r == -ENOMEM);
	check(r == 0 || e.what[0]);
	if (r != -ENOMEM) {
		check(otlp_finish(o, &w, &e) == 0);
		check(check_request(&w) == (r == 0));
	}
	wire_done(&w);
	otlp_free(o);
	return 0;
}
