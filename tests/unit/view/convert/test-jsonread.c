/* The reader of JSON: values, escapes, and what is wrong. */

#include "tap.h"
#include "view/convert/jsonread.h"

#include <string.h>

static struct jsonread_text text;

static void is_string(const char *json, const char *want)
{
	struct jsonread j = jsonread_of(json, strlen(json));
	bool ok = jsonread_string(&j, &text);
	tap_ok(want ? ok && strcmp(text.bytes.v, want) == 0 : !ok && j.bad, "%s is %s string", json,
	       want ? "the" : "no");
}

/* The sum of the numbers in an array, or UINT64_MAX. */
static uint64_t sum(const char *json)
{
	struct jsonread j = jsonread_of(json, strlen(json));
	uint64_t n, all = 0;
	for (jsonread_begin(&j, '['); jsonread_more(&j, ']');)
		all += jsonread_number(&j, &n) ? n : 0;
	return j.bad ? UINT64_MAX : all;
}

/* The number with the key "x" of an object whose other values are skipped. */
static uint64_t x_of(const char *json)
{
	struct jsonread j = jsonread_of(json, strlen(json));
	uint64_t x = 0;
	for (jsonread_begin(&j, '{'); jsonread_more(&j, '}');)
		if (jsonread_key(&j, &text) && strcmp(text.bytes.v, "x") == 0)
			jsonread_number(&j, &x);
		else
			jsonread_skip(&j);
	return j.bad ? UINT64_MAX : x;
}

int main(void)
{
	is_string("\"a b\"", "a b");
	is_string(" \"\\\"\\\\\\/\\n\\t\"", "\"\\/\n\t");
	is_string("\"\\u0041\\u00e9\\u20ac\"", "A\303\251\342\202\254");
	is_string("\"\\ud83d\\u0000\"", "??");
	is_string("\"", NULL);
	is_string("\"a", NULL);
	is_string("\"\\", NULL);
	is_string("\"\\q\"", NULL);
	is_string("\"\\u00g0\"", NULL);
	is_string("\"\\u00", NULL);
	is_string("7", NULL);
	tap_int((long long)sum("[ 1, 2 ,3]"), 6, "an array");
	tap_int((long long)sum("[]"), 0, "an empty array");
	tap_ok(sum("[1 2]") == UINT64_MAX, "a comma is missing");
	tap_ok(sum("[1,") == UINT64_MAX, "the end is missing");
	tap_ok(sum("[-1]") == UINT64_MAX, "a negative number");
	tap_ok(sum("[18446744073709551616]") == UINT64_MAX, "a number that is too large");
	tap_int((long long)x_of("{\"a\":[1,{\"x\":2}],\"b\":\"]}\\\"\",\"c\":-1.5e3,"
				"\"x\":7,\"d\":null}"), 7, "other values are skipped");
	tap_ok(x_of("{\"a\":[1,\"x\":7") == UINT64_MAX, "a skipped value without an end");
	tap_ok(x_of("{\"a\"}") == UINT64_MAX, "a key without a value");
	tap_ok(x_of("{\"a\":}") == UINT64_MAX, "a value that is missing");
	VEC_FREE(&text.bytes);
	return tap_done();
}
