/* Processes whose runtimes cannot be read, in one line. */

#include "proc/refused.h"
#include "tap.h"

#include <string.h>

static void test_counts(void)
{
	struct refused r = { .line = "" }, other = { .line = "" };
	tap_str(r.line, "", "there are none");
	refused_add(&r, 7, "it is too old");
	tap_str(r.line, "process 7: it is too old", "one");
	refused_add(&r, 7, "it is too old");
	tap_ok(refused_n(&r) == 1, "the same again");
	refused_add(&r, 8, "it is too old");
	refused_add(&other, 9, "it is too old");
	refused_add(&other, 8, "it is too old");
	refused_add(&other, 3, "it is closed");
	refused_join(&r, &other);
	tap_str(r.line, "process 7 and 2 others: it is too old; process 3: it is closed",
		"several, for two reasons");
	tap_ok(refused_n(&r) == 4, "their number");
	refused_remove(&r, 7);
	refused_remove(&r, 3);
	refused_remove(&r, 12);
	tap_str(r.line, "process 9 and 1 other: it is too old", "some can be read after all");
	refused_add(&r, 3, "it is closed");
	tap_str(r.line, "process 9 and 1 other: it is too old; process 3: it is closed",
		"and one cannot again");
	for (uint32_t pid = 1; pid < 10; pid++)
		refused_remove(&r, pid);
	tap_str(r.line, "", "all can");
	refused_done(&r);
	refused_done(&other);
}

static void test_limits(void)
{
	struct refused r = { .line = "" };
	char reason[400];
	for (uint32_t pid = 1; pid <= 10000; pid++) {
		memset(reason, 'a' + (int)(pid % 10), sizeof(reason) - 1);
		reason[sizeof(reason) - 1] = '\0';
		refused_add(&r, pid, reason);
	}
	tap_ok(strlen(r.line) == sizeof(r.line) - 1 &&
	       strncmp(r.line, "process 1 and 999 others: b", 27) == 0,
	       "a line that is too long is cut");
	tap_ok(refused_n(&r) == 3 * 1000 + 4096, "and so is what is counted");
	tap_ok(strlen(r.reason[0].text) == sizeof(r.reason[0].text) - 1,
	       "the same long reason is one");
	refused_done(&r);
}

int main(void)
{
	test_counts();
	test_limits();
	return tap_done();
}
