#include "base/strtab.h"

#include "base/budget.h"
#include "tap.h"

#include <stdlib.h>

static void test_ids(void)
{
	struct strtab t;
	tap_int(strtab_init(&t, NULL), 0, "init");
	tap_int(strtab_add_cstr(&t, ""), 0, "the empty string is 0");
	tap_str(strtab_get(&t, 0), "", "and can be read");
	tap_int(strtab_add_cstr(&t, "main"), 1, "ids count up");
	tap_int(strtab_add_cstr(&t, "mai"), 2, "a prefix is a different string");
	tap_int(strtab_add_cstr(&t, "main"), 1, "found again");
	tap_int(strtab_add(&t, "main()", 4), 1, "the first bytes of a longer string");
	tap_int(strtab_add(&t, "x\0y", 3), 3, "a string ends at its NUL");
	tap_str(strtab_get(&t, 3), "x", "the text before it");
	tap_int(strtab_add(&t, "x", 1), 3, "is the same string");
	tap_int(strtab_add(&t, "\0y", 2), 0, "a NUL first: the empty string");
	tap_int(strtab_add(&t, "zzz", 0), 0, "no bytes: the empty string");
	tap_int(t.n, 4, "nothing else was added");
	strtab_done(&t);
}

static void test_many(void)
{
	struct budget b;
	struct strtab t;
	budget_init(&b, 1000);
	strtab_init(&t, &b);
	const char *first = strtab_get(&t, strtab_add_cstr(&t, "first"));
	int n_wrong = 0;
	char text[32];
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 50000; i++) {
			snprintf(text, sizeof(text), "name-%u", i);
			n_wrong += strtab_add_cstr(&t, text) != i + 2;
		}
	for (uint32_t i = 0; i < 50000; i++) {
		snprintf(text, sizeof(text), "name-%u", i);
		n_wrong += strcmp(strtab_get(&t, i + 2), text) != 0;
	}
	tap_int(n_wrong, 0, "50000 strings keep their ids while the table grows");
	tap_str(first, "first", "a pointer stays valid");
	tap_ok(b.used_bytes > 50000 * 8, "its memory is charged, even beyond the limit");
	strtab_done(&t);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

static void test_large(void)
{
	struct budget b;
	struct strtab t;
	budget_init(&b, 0);
	strtab_init(&t, &b);
	size_t n = 1 << 20;
	char *text = malloc(n + 1);
	memset(text, 'a', n);
	text[n] = '\0';
	uint32_t id = strtab_add_cstr(&t, text);
	tap_ok(id == 1 && strcmp(strtab_get(&t, id), text) == 0, "a string of a MiB");
	tap_int(strtab_add(&t, text, n), 1, "found again");
	tap_int(strtab_add(&t, text, n - 1), 2, "one byte less is a different string");
	tap_int(strtab_add_cstr(&t, "small"), 3, "a small string after it");
	free(text);
	strtab_done(&t);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

int main(void)
{
	test_ids();
	test_many();
	test_large();
	return tap_done();
}
