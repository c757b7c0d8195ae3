#include "cmd/agent/keyvalue.h"
#include "cmd/agent/spool.h"

#include "base/err.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void touch(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0) {
		tap_ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a file is made");
		close(fd);
	}
}

static void names(void)
{
	struct spool_name n = { 1700000000000000000, 42, 0xabc }, got = { 0 };
	char text[SPOOL_NAME_MAX];
	spool_name_text(&n, SPOOL_PROFILE, text);
	tap_str(text, "01700000000000000000-0000000042-0000000000000abc.pb.gz",
		"a name is written");
	tap_ok(spool_name_parse(text, SPOOL_PROFILE, &got) && spool_name_compare(&n, &got) == 0 &&
	       got.service == 0xabc, "and read");
	tap_ok(!spool_name_parse(text, SPOOL_META, &got), "it is not a .meta");
	static const char *const bad[] = {
		"", "lost", ".tmp-01700000000000000000-0000000042-0000000000000abc.pb.gz",
		"1700000000000000000-0000000042-0000000000000abc.pb.gz",
		"01700000000000000000-42-0000000000000abc.pb.gz",
		"01700000000000000000-0000000042-0000000000000ABC.pb.gz",
		" 1700000000000000000-0000000042-0000000000000abc.pb.gz",
		"99999999999999999999-0000000042-0000000000000abc.pb.gz",
		"01700000000000000000-0000000042-0000000000000abc.pb.gzx",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_ok(!spool_name_parse(bad[i], SPOOL_PROFILE, &got), "%s", bad[i]);
	struct spool_name big = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	spool_name_text(&big, SPOOL_PROFILE, text);
	tap_ok(spool_name_parse(text, SPOOL_PROFILE, &got) && got.sequence == UINT64_MAX,
	       "the largest numbers are read");
	tap_ok(spool_name_compare(&n, &big) < 0 && spool_name_compare(&big, &n) > 0,
	       "names are in the order of time");
}

static void lists(int dir_fd)
{
	struct spool_list l = { 0 };
	struct err e = { 0 };
	char file[SPOOL_NAME_MAX];
	for (uint64_t i = 3; i > 0; i--) {
		spool_name_text(&(struct spool_name){ i, i, 7 }, SPOOL_PROFILE, file);
		touch(dir_fd, file, "12345");
		spool_name_text(&(struct spool_name){ i, i, 7 }, SPOOL_META, file);
		touch(dir_fd, file, "n_samples=1\n");
	}
	touch(dir_fd, "lost", "profiles=3\n");
	touch(dir_fd, ".tmp-x", "");
	spool_name_text(&(struct spool_name){ 4, 4, 7 }, SPOOL_PROFILE, file);
	tap_ok(symlinkat("lost", dir_fd, file) == 0, "there is a link");
	tap_int(spool_list(dir_fd, &l, &e), 0, "a spool is listed");
	tap_int((long long)l.entry.n, 3, "it has three profiles, and the link is not one");
	tap_int((long long)l.n_bytes, 15, "with five bytes each");
	tap_ok(l.entry.n == 3 && l.entry.v[0].name.start_ns == 1 && l.entry.v[2].name.start_ns == 3,
	       "the oldest comes first");
	tap_int(spool_remove(dir_fd, &l.entry.v[0].name), 0, "one is removed");
	tap_int(spool_remove(dir_fd, &l.entry.v[0].name), 0, "removing it again is no error");
	spool_name_text(&l.entry.v[0].name, SPOOL_META, file);
	tap_ok(faccessat(dir_fd, file, F_OK, 0) < 0, "and its .meta has gone");
	spool_list_done(&l);
	spool_list(dir_fd, &l, &e);
	tap_int((long long)l.entry.n, 2, "two are left");
	spool_list_done(&l);
	tap_int(spool_list(-1, &l, &e), -EBADF, "a missing folder is an error");
}

static int parsed(const char *text, struct keyvalues *ret)
{
	return keyvalues_parse(text, strlen(text), ret);
}

static void values(int dir_fd)
{
	struct keyvalues k = { 0 };
	struct err e = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	keyvalue_print(to, "label.comm", "50%\nof = it\x7f");
	keyvalue_print_u64(to, "window_ns", UINT64_MAX);
	fclose(to);
	tap_str(text, "label.comm=50%25%0Aof = it%7F\nwindow_ns=18446744073709551615\n",
		"values are escaped");
	tap_int(parsed(text, &k), 0, "and read");
	tap_str(keyvalues_get(&k, "label.comm"), "50%\nof = it\x7f", "as they were");
	tap_ok(keyvalues_get_u64(&k, "window_ns") == UINT64_MAX, "and so are numbers");
	tap_ok(keyvalues_get_u64(&k, "label.comm") == 0, "a text is not a number");
	tap_ok(!keyvalues_get(&k, "window"), "an unknown key has no value");
	keyvalues_done(&k);
	touch(dir_fd, "good", text);
	tap_int(keyvalues_read(dir_fd, "good", &k, &e), 0, "a file is read");
	keyvalues_done(&k);
	free(text);
	static const char *const bad[] = { "x", "=1\n", "a b=1\n", "a=%4\n", "a=%zz\n", "a=%00\n",
					   "a=1\n\n" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_int(parsed(bad[i], &k), -EINVAL, "a line that is not 'key=value'");
	tap_int(keyvalues_parse("a=1\0b", 5, &k), -EINVAL, "a NUL");
	tap_int(keyvalues_read(dir_fd, "none", &k, &e), -ENOENT, "a missing file");
	tap_ok(symlinkat("good", dir_fd, "link") == 0, "there is a link");
	tap_int(keyvalues_read(dir_fd, "link", &k, &e), -ELOOP, "a link is not followed");
	tap_int(keyvalues_read(dir_fd, ".", &k, &e), -EINVAL, "a folder is not a file");
}

int main(void)
{
	char folder[] = "/tmp/test-spool-XXXXXX", command[100];
	int dir_fd = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	names();
	lists(dir_fd);
	values(dir_fd);
	close(dir_fd);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	tap_int(system(command), 0, "the folder is removed");
	return tap_done();
}
