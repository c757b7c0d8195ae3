/* Threads by the ids in their own pid namespace. */
#include "base/err.h"
#include "recorder/kinds/owntid.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <stdio.h>

static struct machine m;
static struct owntid c;

/* A thread with these ids in two namespaces. */
static void give(uint32_t tid, const char *ids)
{
	char path[64], text[200];
	snprintf(path, sizeof(path), "proc/100/task/%u/status", tid);
	snprintf(text, sizeof(text), "Name:\tNSpid: 7\nPid:\t%u\nNSpid:\t%s\nUid:\t0\n", tid, ids);
	machine_file(&m, path, text);
}

static void finds(uint32_t own, uint32_t want, const char *name)
{
	tap_int(owntid_find(&c, &m.host, 100, own), want, name);
}

int main(void)
{
	machine_open(&m);
	give(100, "100\t1");
	give(101, "101\t2");
	give(7, "7\t101");
	give(8, "8");
	machine_file(&m, "proc/100/task/9/status", "Name:\told\nPid:\t9\n");
	finds(1, 100, "the first thread of a container");
	finds(2, 101, "another one");
	finds(101, 7, "an id that is another thread's outside");
	finds(8, 8, "a thread in the same namespace");
	finds(9, 9, "a kernel that does not say");
	finds(55, 0, "no thread");
	finds(0, 0, "no id");
	give(101, "101\t3");
	finds(2, 101, "what was found is remembered");
	owntid_forget(&c, 100, 2);
	finds(2, 0, "until the thread has ended");
	machine_close(&m);
	return tap_done();
}
