/* Whose processes the samples belong to. */
#include "base/err.h"
#include "proc/owners.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <stdio.h>
#include <unistd.h>

static struct machine m;
static struct owners o;

/* /proc/PID/status of a process with these users. */
static void give(uint32_t pid, unsigned uid, unsigned euid)
{
	char path[64], text[200];
	snprintf(path, sizeof(path), "proc/%u/status", pid);
	snprintf(text, sizeof(text), "Name:\tUid: 7\nPid:\t%u\nUid:\t%u\t%u\t%u\t%u\n", pid, uid,
		 euid, euid, euid);
	machine_file(&m, path, text);
}

static bool is_other(uint32_t pid)
{
	struct procs_process p = { .pid = pid };
	o.any_other = false;
	owners_note(&o, &p);
	return o.any_other;
}

static void test_users(void)
{
	unsigned uid = getuid();
	give(10, uid, uid);
	give(11, uid + 1, uid + 1);
	give(12, uid, uid + 1);
	give(13, uid + 1, uid);
	tap_ok(!is_other(10), "a process of the caller");
	tap_ok(is_other(11), "a process of another user");
	tap_ok(is_other(12) && is_other(13), "a set-user-ID program, in both directions");
	machine_file(&m, "proc/14/status", "Name:\tx\n");
	tap_ok(is_other(14) && is_other(15), "an unknown user is another one");
	o.unknown_is_own = true;
	tap_ok(!is_other(15) && is_other(11), "unless the caller has started all targets");
	o.unknown_is_own = false;
	tap_ok(!is_other(UINT32_MAX), "a task without ids has no user");
}

static void test_times(void)
{
	unsigned uid = getuid();
	struct procs_process p = { .pid = 20 }, *list[] = { &p };
	struct procs all = { .process = list, .n_processes = 1 };
	o.any_other = false;
	give(20, uid, uid);
	owners_check(&o, &all);
	owners_note(&o, &p);
	give(20, uid + 1, uid + 1);
	owners_note(&o, &p);
	tap_ok(!o.any_other, "the user is read once");
	owners_check(&o, &all);
	tap_ok(o.any_other, "and again at the end");
	o.any_other = false;
	p.owner = PROCS_OWNER_UNREAD;
	owners_check(&o, &all);
	tap_ok(!o.any_other, "a process without samples does not count");
	owners_note(&o, &p);
	tap_ok(o.any_other, "after an exec the user is read again");
	o.any_other = false;
	owners_note(&o, &p);
	tap_ok(o.any_other, "each window has the users of its own samples");
	owners_init(&o, NULL);
	tap_ok(!is_other(11), "a replay has no users");
}

int main(void)
{
	machine_open(&m);
	owners_init(&o, &m.host);
	test_users();
	test_times();
	machine_close(&m);
	return tap_done();
}
