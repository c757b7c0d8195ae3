#include "base/err.h"
#include "cmd/output.h"
#include "tests/unit/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err e;
static char dir[] = "/tmp/test-output-XXXXXX";

/* The names in the folder, sorted, separated by blanks. */
static const char *files(void)
{
	static char text[1024];
	struct dirent **list;
	int n = scandir(".", &list, NULL, alphasort);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		if (strcmp(list[i]->d_name, ".") != 0 && strcmp(list[i]->d_name, "..") != 0) {
			strcat(text, text[0] ? " " : "");
			strcat(text, list[i]->d_name);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return text;
}

static void clear(void)
{
	DIR *d = opendir(".");
	struct dirent *entry;
	while (d && (entry = readdir(d)))
		remove(entry->d_name);
	if (d)
		closedir(d);
}

/* Opens the outputs of n events, writes, commits; returns the names of the files. */
static const char *named(const char *name, size_t n)
{
	static const char *const parts[] = { "cpu-clock", "page-faults", "x" };
	struct output o[3] = { 0 };
	e = (struct err){ 0 };
	clear();
	int code = output_open(o, parts, n, name, NULL, &e);
	for (size_t i = 0; i < n && code == 0; i++)
		output_write(&o[i], "data", 4);
	if (code == 0)
		code = output_commit(o, n, &e);
	for (size_t i = 0; i < n; i++)
		output_done(&o[i]);
	if (code < 0)
		printf("# %s\n", e.what);
	return code < 0 ? "(failed)" : files();
}

static void test_names(void)
{
	tap_str(named(NULL, 1), "cprof.cpu-clock.pb.gz", "no name: named after the event");
	tap_str(named(NULL, 2), "cprof.cpu-clock.pb.gz cprof.page-faults.pb.gz",
		"one file per event");
	static const char *const exact[] = { "x.pb.gz", "x.pprof", "x.pb",   "x.prof", "x.gz",
					     "x",	"x.y",	   ".pb.gz", "-x" };
	for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		tap_str(named(exact[i], 1), exact[i], "one event: exactly the given name");
	tap_str(named("x.pb.gz", 2), "x.cpu-clock.pb.gz x.page-faults.pb.gz",
		"several events: the event is inserted before the ending");
	tap_str(named("x.pb", 2), "x.cpu-clock.pb x.page-faults.pb", "with .pb");
	tap_str(named("x.pprof", 2), "x.cpu-clock.pprof x.page-faults.pprof", "with .pprof");
	tap_str(named("x.prof", 2), "x.cpu-clock.prof x.page-faults.prof", "with .prof");
	tap_str(named("x.gz", 2), "x.cpu-clock.gz x.page-faults.gz", "with .gz");
	tap_str(named("x.y", 2), "x.y.cpu-clock x.y.page-faults", "with an unknown ending");
	tap_str(named("x", 3), "x.cpu-clock x.page-faults x.x", "a name without an ending");
}

static void test_refusals(void)
{
	static const char *const same[] = { "a", "b", "a" };
	struct output o[3] = { 0 };
	clear();
	tap_int(output_open(o, same, 3, "x.pb.gz", NULL, &e), -EINVAL, "two equal names");
	tap_ok(strstr(e.what, "x.a.pb.gz") && e.hint[0], "are reported, with a remedy");
	tap_str(files(), "", "nothing is left behind");
	for (int i = 0; i < 3; i++)
		output_done(&o[i]);

	static const char *const parts[] = { "a", "b" };
	mkdir("x.b.pb.gz", 0700);
	memset(o, 0, sizeof(o));
	tap_ok(output_open(o, parts, 2, "x.pb.gz", NULL, &e) < 0, "the second name is a folder");
	tap_str(files(), "x.b.pb.gz", "nothing of the first file is left behind");
	for (int i = 0; i < 2; i++)
		output_done(&o[i]);

	memset(o, 0, sizeof(o));
	tap_int(output_open(o, parts, 1, "missing/x.pb.gz", NULL, &e), -ENOENT,
		"a folder that is missing");
	tap_ok(strstr(e.what, "missing") && e.hint[0], "is reported, with a remedy");
	output_done(o);
	tap_int(output_open(o, parts, 2, "-", NULL, &e), -EINVAL, "stdout for two events");
	tap_ok(strstr(e.what, "2") && e.hint[0], "is reported, with a remedy");
	for (int i = 0; i < 2; i++)
		output_done(&o[i]);
}

/* Runs output_open on "-" with fd as stdout. */
static int open_on(int fd, struct output *o)
{
	static const char *const parts[] = { "a" };
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	int code = output_open(o, parts, 1, "-", NULL, &e);
	if (code == 0) {
		output_write(o, "data", 4);
		output_commit(o, 1, &e);
	}
	output_done(o);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	return code;
}

static void test_stdout(void)
{
	struct output o = { 0 };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	int side = -1;
	if (terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0)
		side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	if (side >= 0) {
		tap_int(open_on(side, &o), -EINVAL, "stdout that is a terminal");
		tap_ok(strstr(e.what, "terminal") && e.hint[0], "is reported, with a remedy");
		close(side);
	} else {
		tap_skip("stdout that is a terminal", "no pseudo terminals");
	}
	if (terminal >= 0)
		close(terminal);
	clear();
	int fd = open("out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	tap_int(open_on(fd, &o), 0, "stdout that is a file");
	struct stat st;
	tap_ok(fstat(fd, &st) == 0 && st.st_size == 4 && o.n_bytes == 4, "receives the bytes");
	close(fd);
	tap_str(files(), "out", "there is no other file");
}

static void test_all_or_none(void)
{
	static const char *const parts[] = { "a", "b", "c" };
	struct output o[3] = { 0 };
	clear();
	tap_int(output_open(o, parts, 3, "x", NULL, &e), 0, "three files");
	tap_ok(!strstr(files(), "x.a "), "they have no names before they are complete");
	for (int i = 0; i < 3; i++)
		output_write(&o[i], "data", 4);
	output_discard(&o[1]);
	output_discard(&o[1]);
	tap_int(output_commit(o, 3, &e), 0, "commit without a discarded one");
	for (int i = 0; i < 3; i++)
		output_done(&o[i]);
	tap_str(files(), "x.a x.c", "the others exist");

	clear();
	memset(o, 0, sizeof(o));
	output_open(o, parts, 2, "x", NULL, &e);
	output_write(&o[0], "data", 4);
	for (int i = 0; i < 2; i++)
		output_done(&o[i]);
	tap_str(files(), "", "without commit nothing is left behind");
	output_done(&o[0]);
	tap_ok(o[0].path == NULL, "calling output_done() twice does no harm");
}

int main(void)
{
	if (!mkdtemp(dir) || chdir(dir) < 0) {
		perror(dir);
		return 1;
	}
	test_names();
	test_refusals();
	test_stdout();
	test_all_or_none();
	clear();
	if (chdir("/") == 0)
		rmdir(dir);
	return tap_done();
}
