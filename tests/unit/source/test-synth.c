#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "source/maps.h"
#include "source/record.h"
#include "source/synth.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- maps -------------------------------------------------------------------- */

static void test_maps(void)
{
	char text[] =
		"00400000-00401000 r-xp 00002000 fd:1f 1234                     /usr/bin/a b\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		"7f0000001000-7f0000002000 ---s 00000000 00:00 0\n"
		"7f0000002000-7f0000003000 --xp 00000000 00:05 18446744073709551615  "
		"/x\\012y\\01z\\012\n"
		"7f0000003000-7f0000003000 r-xp 00000000 00:00 0  empty range\n"
		"7f0000004000-7f0000003000 r-xp 00000000 00:00 0  backwards\n"
		"7f0000004000-7f0000005000 r-x\n"
		"7f0000004000-7f0000005000 r-xp 00000000 00:00 18446744073709551616 /ino large\n"
		"11112222333344445-1111222233334444f r-xp 00000000 00:00 1 /address too large\n"
		"nonsense\n"
		"\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0        [vsyscall]";
	char *at = text;
	struct maps_entry m;

	tap_ok(maps_next(&at, &m), "a file");
	tap_ok(m.start == 0x400000 && m.end == 0x401000 && m.pgoff == 0x2000 && m.maj == 0xfd &&
	       m.min == 0x1f && m.ino == 1234, "its numbers");
	tap_ok(m.prot == (PROT_READ | PROT_EXEC) && m.flags == MAP_PRIVATE, "its protection");
	tap_str(m.name, "/usr/bin/a b", "its name with a blank");
	tap_ok(maps_next(&at, &m), "anonymous memory");
	tap_str(m.name, "", "no name after a blank");
	tap_ok(maps_next(&at, &m) && m.prot == 0 && m.flags == MAP_SHARED, "shared memory");
	tap_str(m.name, "", "no name and no blank");
	tap_ok(maps_next(&at, &m) && m.ino == UINT64_MAX, "largest inode number");
	tap_str(m.name, "/x\ny\\01z\n", "newlines in the name");
	tap_ok(maps_next(&at, &m), "bad lines are skipped");
	tap_str(m.name, "[vsyscall]", "last line without newline");
	tap_ok(!maps_next(&at, &m) && !maps_next(&at, &m), "the end stays the end");
}

/* ---- a folder that looks like /proc -------------------------------------------- */

static char base[] = "/tmp/test-synth-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", base, name);
	for (char *p = path + strlen(base) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_ok(false, "cannot write %s", path);
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

struct seen {
	char text[4096];
	bool all_marked;
};

static void see(void *ctx, const struct record *r)
{
	struct seen *s = ctx;
	size_t n = strlen(s->text);
	const struct record_mmap *m = &r->mmap;
	if (r->type == PERF_RECORD_COMM)
		snprintf(s->text + n, sizeof(s->text) - n, "comm %u/%u '%s'%s\n", r->pid, r->tid,
			 r->comm.comm, r->comm.exec ? " exec" : "");
	else if (r->type == PERF_RECORD_MMAP2)
		snprintf(s->text + n, sizeof(s->text) - n,
			 "mmap %u/%u %llx+%llx@%llx %x:%x %llu '%s'\n", r->pid, r->tid,
			 (unsigned long long)m->start, (unsigned long long)m->len,
			 (unsigned long long)m->pgoff, m->maj, m->min,
			 (unsigned long long)m->ino, m->filename);
	s->all_marked &= r->has_time && r->time_ns == 77 && r->event == RECORD_NO_EVENT &&
			 r->cpu == UINT32_MAX && r->misc == PERF_RECORD_MISC_USER;
}

static void test_folder(void)
{
	struct host h;
	struct err e = { 0 };
	if (!mkdtemp(base) || host_open(&h, NULL, base, base, &e) < 0) {
		tap_ok(false, "fixture: %s", e.what);
		return;
	}
	put("120/task/115/comm", "wor\nker\n");
	put("120/task/120/comm", "main thread\n");
	put("120/task/121/comm", "\n");
	put("120/task/junk/comm", "junk\n");
	put("120/task/0121/comm", "junk\n");
	put("120/maps",
	    "00400000-00401000 r--p 00000000 fd:01 9 /bin/prog\n"
	    "00401000-00403000 r-xp 00001000 fd:01 9 /bin/prog (deleted)\n"
	    "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n");
	put("130/task/130/comm", "zombie\n");
	put("self/comm", "x\n");
	put("99999999999/comm", "x\n");

	struct seen s = { .all_marked = true };
	tap_int(synth_process(&h, 120, 77, see, &s), 0, "a process");
	char *worker = strstr(s.text, "comm 120/115 'wor\nker'\n");
	char *empty = strstr(s.text, "comm 120/121 ''\n");
	tap_ok(strncmp(s.text, "comm 120/120 'main thread'\n", 27) == 0, "the leader comes first");
	tap_ok(worker && empty && !strstr(s.text, "junk"), "then the other threads");
	const char *maps = strstr(s.text, "mmap");
	tap_str(maps, "mmap 120/120 401000+2000@1000 fd:1 9 '/bin/prog (deleted)'\n"
		      "mmap 120/120 7f0000000000+1000@0 0:0 0 ''\n", "then executable maps only");
	tap_ok(s.all_marked, "all have the time and no event");

	struct seen z = { .all_marked = true };
	tap_int(synth_process(&h, 130, 77, see, &z), 0, "a process without maps is no error");
	tap_str(z.text, "comm 130/130 'zombie'\n", "and gives its name");
	tap_int(synth_process(&h, 140, 77, see, &z), -ESRCH, "no such process");

	pid_t *ids = NULL;
	int n = synth_list(&h, 0, &ids);
	tap_ok(n == 2 && ids[0] + ids[1] == 250, "all processes, and nothing else");
	free(ids);
	ids = NULL;
	n = synth_list(&h, 120, &ids);
	tap_ok(n == 3 && ids[0] + ids[1] + ids[2] == 115 + 120 + 121, "all threads");
	free(ids);
	tap_int(synth_list(&h, 140, &ids), -ENOENT, "threads of a process that does not exist");
	host_close(&h);
	nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- this process ---------------------------------------------------------------- */

struct own {
	uint64_t pc, ino;
	uint32_t tid;
	bool found_code, found_name;
};

static void see_own(void *ctx, const struct record *r)
{
	struct own *o = ctx;
	if (r->type == PERF_RECORD_MMAP2 && o->pc - r->mmap.start < r->mmap.len)
		o->found_code = r->mmap.ino == o->ino && r->mmap.filename[0] == '/';
	if (r->type == PERF_RECORD_COMM && r->tid == o->tid)
		o->found_name = strcmp(r->comm.comm, "named thread") == 0;
}

static void *see_from_thread(void *ctx)
{
	struct own *o = ctx;
	struct host h;
	struct stat st;
	if (stat("/proc/self/exe", &st) == 0)
		o->ino = st.st_ino;
	o->tid = (uint32_t)syscall(SYS_gettid);
	o->pc = (uint64_t)(uintptr_t)&see_from_thread;
	prctl(PR_SET_NAME, "named thread");
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return NULL;
	tap_int(synth_process(&h, getpid(), 1, see_own, o), 0, "this process");
	host_close(&h);
	return NULL;
}

int main(void)
{
	test_maps();
	test_folder();
	struct own o = { 0 };
	pthread_t thread;
	if (pthread_create(&thread, NULL, see_from_thread, &o) == 0)
		pthread_join(thread, NULL);
	tap_ok(o.found_code, "its code");
	tap_ok(o.found_name, "the name of a thread");
	return tap_done();
}
