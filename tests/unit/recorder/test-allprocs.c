#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "cprof.h"
#include "recorder/allprocs.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err e;
static struct host real, fake;
static char dir[] = "/tmp/cprof-test-allprocs-XXXXXX";
static char last_line[256];

static void keep_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(last_line, sizeof(last_line), "%s", text);
}

static const struct log sink = { .line = keep_line, .max = LOG_WARN };

static int check(struct cprof_config *c, const struct host *h)
{
	memset(&e, 0, sizeof(e));
	last_line[0] = '\0';
	return allprocs_check(c, h, &sink, &e);
}

static void make(const char *name, bool is_folder)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = is_folder ? NULL : fopen(path, "w");
	if (is_folder)
		mkdir(path, 0700);
	else if (f)
		fclose(f);
}

/* The namespace's inode is that of the given machine's /proc, not of this one's. */
static void test_namespace(void)
{
	struct cprof_config c = { .all_processes = true };
	tap_int(check(&c, &fake), 0, "all processes of a machine without namespaces");
	tap_str(last_line, "", "no warning");
	make("self", true);
	make("self/ns", true);
	make("self/ns/pid", false);
	tap_int(check(&c, &fake), 0, "all processes in a pid namespace");
	tap_ok(strstr(last_line, "pid namespace"), "a warning: processes outside are left out");
	tap_int((int)c.scope, CPROF_SCOPE_CPU, "the scope is cpu");
}

static void test_cpus(void)
{
	struct cprof_config c = { .all_processes = true, .cpus = "0" };
	tap_int(check(&c, &real), 0, "a CPU that is online");
	c.cpus = "60000";
	tap_int(check(&c, &real), -ENODEV, "a CPU that is offline");
	c = (struct cprof_config){ .cpus = "0" };
	tap_ok(check(&c, &real) == -EINVAL && e.is_usage, "CPUs of a single process");
	c = (struct cprof_config){ .n_pids = 1 };
	tap_int(check(&c, &real), 0, "a single process needs no check");
}

int main(void)
{
	char command[64];
	if (!mkdtemp(dir) || host_open(&real, NULL, NULL, NULL, &e) < 0 ||
	    host_open(&fake, NULL, dir, NULL, &e) < 0)
		return 1;
	test_namespace();
	test_cpus();
	host_close(&fake);
	host_close(&real);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	tap_int(system(command), 0, "nothing remains");
	return tap_done();
}
