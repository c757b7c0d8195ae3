/* The limit on the number of different labels. */
#include "labels/appvalues.h"

#include "agg/labels.h"
#include "base/strtab.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

static struct strtab strings;
static struct appvalues values;

/* "key=value" after the limit; valid until the next call. */
static const char *label(const char *key, const char *value)
{
	static char text[256];
	struct label l;
	bool is_kept = appvalues_label(&values, key, value, &l);
	snprintf(text, sizeof(text), "%s=%s%s", strtab_get(&strings, l.key),
		 strtab_get(&strings, l.value), is_kept ? "" : " beyond");
	return text;
}

static bool is_pid(void *ctx, const char *key)
{
	(void)ctx;
	return strcmp(key, "pid") == 0;
}

static bool all_but_odd(void *ctx, uint32_t *string)
{
	(void)ctx;
	const char *text = strtab_get(&strings, *string);
	return text[0] < '0' || text[0] > '9' || atoi(text) % 2 == 0;
}

int main(void)
{
	char text[32];
	bool same = true;
	if (strtab_init(&strings, NULL) < 0)
		return 1;
	appvalues_init(&values, &strings);
	values.is_taken = is_pid;
	tap_str(label("k", "v"), "k=v", "a label");
	tap_str(label("k", ""), "k=", "an empty value");
	tap_str(label("pid", "1"), "app.pid=1", "a key that is taken gets a prefix");
	tap_str(label("pprof::k", "1"), "app.pprof::k=1", "and one of pprof's");
	tap_str(label("k\xff", "\xfev"), "k\xef\xbf\xbd=\xef\xbf\xbdv", "invalid UTF-8");

	for (unsigned i = 0; i < APPVALUES_PER_KEY; i++) {
		snprintf(text, sizeof(text), "%u", i);
		label("id", text);
	}
	tap_ok(appvalues_is_full(&values), "a key with the most values allowed");
	uint32_t n = strings.n;
	tap_str(label("id", "more"), "id=[other] beyond", "a value beyond the limit");
	n += strings.n > n;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "more %u", i);
		same &= strcmp(label("id", text), "id=[other] beyond") == 0;
	}
	tap_ok(same && strings.n == n, "ten thousand more leave nothing behind");
	tap_str(label("id", "77"), "id=77", "an old one stays");
	tap_str(label("k", "w"), "k=w", "other keys still have room");

	for (unsigned i = 0; i < APPVALUES_KEYS; i++) {
		snprintf(text, sizeof(text), "key %u", i);
		label(text, "x");
	}
	n = strings.n;
	tap_str(label("late", "x"), "[other]=[other] beyond", "a key beyond the limit");
	tap_str(label("k", "v"), "k=v", "keys that were there stay");
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "late %u", i);
		label(text, text);
	}
	tap_int(strings.n, n, "... nor do late keys");

	appvalues_renew(&values, all_but_odd, NULL);
	tap_ok(!appvalues_is_full(&values) || values.n_keys == APPVALUES_KEYS,
	       "half of the values were forgotten");
	tap_str(label("id", "78"), "id=78", "a kept one stays");
	tap_str(label("id", "more"), "id=more", "there is room for another");
	appvalues_clear(&values);
	tap_ok(!appvalues_is_full(&values), "all are free again");
	tap_str(label("late", "x"), "late=x", "a new key, too");
	appvalues_done(&values);
	strtab_done(&strings);
	return tap_done();
}
