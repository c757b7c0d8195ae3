/* What the grammar of events accepts is a sound event, and parses to the same again. */

#include "base/err.h"
#include "event/evspec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool made_of(const char *s, const char *letters)
{
	return *s && strspn(s, letters) == strlen(s);
}

static void check_event(const struct evspec *s)
{
	char type[EVSPEC_NAME_MAX], part[EVSPEC_NAME_MAX];
	const char *unit;
	check(s->type <= PERF_TYPE_RAW && s->type != PERF_TYPE_TRACEPOINT);
	check(!(s->only_user && s->only_kernel) && s->precise_ip <= 3 && !s->by_default);
	check(!(s->only_user && evspec_in_kernel(s)));
	check(s->rate_kind == EVSPEC_RATE_FREQ || s->rate_kind == EVSPEC_RATE_PERIOD
	      ? s->rate > 0 && s->rate >> 63 == 0 : s->rate == 0);
	check(made_of(s->name, LETTERS "_.-:"));
	evspec_sample_type(s, type, &unit);
	check(made_of(type, "abcdefghijklmnopqrstuvwxyz0123456789_"));
	evspec_file_part(s, part);
	check(made_of(part, LETTERS "_.-"));
	check(strlen(part) == strlen(s->name));

}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evspec_list l = { NULL, 0 };
	struct err e = { .code = 1 };
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	int code = evspec_parse(&l, NULL, text, &e);
	check(code == 0 || code == -EINVAL || code == -ENOMEM);
	if (code < 0)
		check(e.code == code && e.what[0] && l.n == 0);
	for (size_t i = 0; i < l.n; i++)
		check_event(&l.v[i]);
	enum evspec_rate kind;
	uint64_t rate;
	if (evspec_parse_rate(text, true, &kind, &rate, &e) == 0)
		check(kind == EVSPEC_RATE_FREQ ? rate > 0 : kind == EVSPEC_RATE_FREQ_MAX);
	if (evspec_parse_rate(text, false, &kind, &rate, NULL) == 0)
		check(kind == EVSPEC_RATE_PERIOD && rate > 0);
	evspec_list_done(&l);
	free(text);
	return 0;
}
