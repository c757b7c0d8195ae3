/* Titles of processes. */
#include "base/budget.h"
#include "base/host.h"
#include "base/strtab.h"
#include "labels/processtitle.h"
#include "proc/procs.h"
#include "tests/unit/tap.h"

#include <string.h>
#include <unistd.h>

static void test_tidy(void)
{
	char text[300] = "postgres: me db SELECT\0\0\0  ";
	tap_int((long long)processtitle_tidy(text, 27), 22,
		"zeros and spaces at the end are no part of a title");
	memcpy(text, "java\0-cp\0.\0", 11);
	tap_ok(processtitle_tidy(text, 11) == 10 && memcmp(text, "java -cp .", 10) == 0,
	       "arguments are separated by spaces");
	memset(text, 'x', sizeof(text));
	memcpy(text + PROCESSTITLE_BYTES_MAX - 1, "\xc3\xa4", 2);
	tap_int((long long)processtitle_tidy(text, sizeof(text)), PROCESSTITLE_BYTES_MAX - 1,
		"a long title is cut between characters");
	tap_int((long long)processtitle_tidy(text, 0), 0, "a thread of the kernel has no title");
}

/* This process's own title. */
static void test_read(const struct host *h, struct strtab *strings)
{
	struct procs_process p = { .pid = (uint32_t)getpid() };
	uint32_t own = processtitle_at(h, strings, &p, 1);
	tap_ok(own && strstr(strtab_get(strings, own), "test-processtitle"), "a title: %s",
	       strtab_get(strings, own));
	p.title = strtab_add_cstr(strings, "changed");
	tap_str(strtab_get(strings, processtitle_at(h, strings, &p, PROCESSTITLE_EVERY_NS)),
		"changed", "it is not read for every sample");
	tap_int(processtitle_at(h, strings, &p, PROCESSTITLE_EVERY_NS + 1), own,
		"it is read again from time to time");
	p.pid = 0x7ffffff0u;      /* no kernel has such ids */
	tap_int(processtitle_at(h, strings, &p, 3 * PROCESSTITLE_EVERY_NS), own,
		"a process that has ended keeps its last title");
	p.title = 0;
	tap_int(processtitle_at(NULL, strings, &p, 9 * PROCESSTITLE_EVERY_NS), 0,
		"a replay reads none");
}

int main(void)
{
	struct budget budget;
	struct strtab strings;
	struct host h;
	budget_init(&budget, 0);
	if (strtab_init(&strings, &budget) < 0 || host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return 1;
	test_tidy();
	test_read(&h, &strings);
	host_close(&h);
	strtab_done(&strings);
	return tap_done();
}
