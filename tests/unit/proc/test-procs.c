#include "base/budget.h"
#include "base/strtab.h"
#include "proc/procs.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- fixture -------------------------------------------------------------------- */

static struct budget budget;
static struct strtab strings;
static struct dso_table dsos;
static struct procs p;

static void setup(void)
{
	budget_init(&budget, 0);
	strtab_init(&strings, NULL);
	dso_table_init(&dsos, NULL);
	procs_init(&p, &budget, &strings, &dsos, NULL);
}

static void teardown(const char *name)
{
	procs_done(&p);
	tap_int((long long)budget.used_bytes, 0, name);
	dso_table_done(&dsos);
	strtab_done(&strings);
}

static void feed(uint32_t type, uint32_t pid, uint32_t tid, struct record r)
{
	r.type = type;
	r.pid = pid;
	r.tid = tid;
	r.misc = PERF_RECORD_MISC_USER;
	procs_feed(&p, &r, true);
}

static void map_at(uint32_t pid, uint64_t start, uint64_t len, uint64_t pgoff, uint64_t ino,
		   const char *name)
{
	feed(PERF_RECORD_MMAP2, pid, pid, (struct record){ .mmap = {
		.start = start, .len = len, .pgoff = pgoff, .maj = ino ? 8 : 0, .ino = ino,
		.prot = PROT_READ | PROT_EXEC, .filename = name } });
}

static void comm(uint32_t pid, uint32_t tid, const char *name, bool exec)
{
	feed(PERF_RECORD_COMM, pid, tid, (struct record){ .comm = { name, exec } });
}

static void fork_of(uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	feed(PERF_RECORD_FORK, pid, tid, (struct record){ .fork = { ppid, ptid, 0 } });
}

static void exit_of(uint32_t pid, uint32_t tid)
{
	feed(PERF_RECORD_EXIT, pid, tid, (struct record){ .fork = { 1, 1, 0 } });
}

/* "/lib/a+1010": the code at a pc; "-": none. */
static const char *at(uint32_t pid, uint64_t pc)
{
	static char text[256];
	const struct procs_map *m = procs_space_find(&procs_process(&p, pid)->space, pc);
	if (!m)
		return "-";
	snprintf(text, sizeof(text), "%s+%" PRIx64, dso_get(&dsos, m->dso)->path,
		 pc - m->start + m->pgoff);
	return text;
}

static uint32_t serial(uint32_t pid)
{
	return procs_process(&p, pid)->space.serial;
}

static const char *name_of(uint32_t pid, uint32_t tid)
{
	return strtab_get(&strings, procs_thread(&p, pid, tid)->name);
}

/* ---- address spaces --------------------------------------------------------------- */

static void test_overlaps(void)
{
	setup();
	map_at(1, 0x10000, 0x4000, 0x1000, 11, "/lib/a");
	uint32_t s = serial(1);
	tap_str(at(1, 0x10000), "/lib/a+1000", "first byte");
	tap_str(at(1, 0x13fff), "/lib/a+4fff", "last byte");
	tap_str(at(1, 0x14000), "-", "after the end");
	tap_str(at(1, 0xffff), "-", "before the start");

	map_at(1, 0x10000, 0x4000, 0x1000, 11, "/lib/a");
	tap_ok(serial(1) == s && procs_process(&p, 1)->space.map.n == 1,
	       "a duplicate changes nothing");
	map_at(1, 0x20000, 0x1000, 0, 12, "/lib/b");
	tap_int(serial(1), s, "fresh address space keeps the serial");
	map_at(1, 0x11000, 0x1000, 0x2000, 11, "/lib/a");
	tap_ok(serial(1) == s && procs_process(&p, 1)->space.map.n == 2,
	       "a part of the same mapping changes nothing");

	map_at(1, 0x11000, 0x1000, 0, 12, "/lib/b");
	tap_ok(serial(1) != s, "a mapping over another one changes the serial");
	tap_str(at(1, 0x10fff), "/lib/a+1fff", "cut: left piece");
	tap_str(at(1, 0x11000), "/lib/b+0", "cut: the new one");
	tap_str(at(1, 0x12000), "/lib/a+3000", "cut: right piece keeps its offset");
	tap_int(procs_process(&p, 1)->space.map.n, 4, "three pieces and the other one");

	map_at(1, 0x13000, 0xe000, 0x7000, 13, "/lib/c");
	tap_str(at(1, 0x12fff), "/lib/a+3fff", "end cut off");
	tap_str(at(1, 0x20fff), "/lib/c+14fff", "swallowed whole");
	map_at(1, 0, 0x20000, 0, 14, "/lib/d");
	tap_str(at(1, 0x1ffff), "/lib/d+1ffff", "several replaced");
	tap_str(at(1, 0x20000), "/lib/c+14000", "start cut off");
	tap_int(procs_process(&p, 1)->space.map.n, 2, "two are left");

	s = serial(1);
	map_at(1, 0x21000, 0x1000, 0x15000, 13, "/lib/c");
	map_at(1, 0x24000, 0x1000, 0x18000, 13, "/lib/c");
	map_at(1, 0x22000, 0x2000, 0x16000, 13, "/lib/c");
	tap_ok(procs_process(&p, 1)->space.map.n == 2 && serial(1) == s,
	       "adjacent ranges are joined");
	tap_str(at(1, 0x24fff), "/lib/c+18fff", "joined to the end");
	map_at(1, 0x30000, 0x1000, 0, 13, "/lib/c");
	map_at(1, 0x2f000, 0x2000, 0x5000, 13, "/lib/c");
	tap_str(at(1, 0x30000), "/lib/c+6000", "same file, other offset: replaced");

	s = serial(1);
	map_at(1, UINT64_MAX - 10, 0x1000, 0, 15, "/lib/wraps");
	map_at(1, 0x50000, 0, 0, 15, "/lib/empty");
	feed(PERF_RECORD_MMAP2, 1, 1, (struct record){ .mmap = {
		.start = 0x30000, .len = 0x1000, .maj = 8, .ino = 16,
		.prot = PROT_READ, .filename = "/data" } });
	tap_str(at(1, 0x30000), "/lib/c+6000", "data is ignored");
	tap_ok(serial(1) == s && strcmp(at(1, UINT64_MAX - 5), "-") == 0,
	       "so are impossible ranges");
	teardown("overlaps: memory is given back");
}

/* Random mappings, compared with a plain array of pages. */
static void test_against_model(void)
{
	enum { PAGES = 64 };
	uint32_t dso[PAGES] = { 0 };
	uint64_t off[PAGES] = { 0 };
	struct procs_space s = { 0 };
	bool ok = true, sorted = true, told = true;
	unsigned seed = 1;
	for (int round = 0; round < 20000; round++) {
		unsigned r = rand_r(&seed);
		unsigned from = r % PAGES, n = 1 + (r >> 8) % 12;
		if (from + n > PAGES)
			n = PAGES - from;
		struct procs_map m = { .start = from, .end = from + n, .dso = 1 + (r >> 16) % 3 };
		m.pgoff = (r >> 20) % 2 ? from : from + 100;
		bool same = true, replaces = false;
		for (unsigned i = from; i < from + n; i++) {
			bool equal = dso[i] == m.dso && off[i] == m.pgoff + (i - from);
			same &= equal;
			replaces |= dso[i] && !equal;
			dso[i] = m.dso;
			off[i] = m.pgoff + (i - from);
		}
		int change = procs_space_insert(&s, m);
		told &= change == (same ? PROCS_SPACE_SAME : replaces ? PROCS_SPACE_REPLACED :
								       PROCS_SPACE_ADDED);
		for (unsigned i = 0; i < PAGES; i++) {
			const struct procs_map *at_i = procs_space_find(&s, i);
			ok &= at_i ? at_i->dso == dso[i] && i - at_i->start + at_i->pgoff == off[i]
				   : dso[i] == 0;
		}
		for (uint32_t i = 0; i < s.map.n; i++)
			sorted &= s.map.v[i].start < s.map.v[i].end &&
				  (i == 0 || s.map.v[i - 1].end <= s.map.v[i].start);
		if (round % 500 == 499) {
			s.map.n = 0;
			memset(dso, 0, sizeof(dso));
		}
	}
	tap_ok(ok, "20000 random maps: every page as in the model");
	tap_ok(sorted, "always sorted, never overlapping");
	tap_ok(told, "the kind of change is reported correctly");
	VEC_FREE(&s.map);
}

static void test_reload(void)
{
	setup();
	map_at(1, 0x10000, 0x1000, 0, 11, "/plugin/a");
	tap_str(at(1, 0x10010), "/plugin/a+10", "a library");
	uint32_t first = serial(1);
	map_at(1, 0x10000, 0x1000, 0, 12, "/plugin/b");
	tap_str(at(1, 0x10010), "/plugin/b+10", "another one at the same address, later");
	uint32_t second = serial(1);
	map_at(1, 0x10000, 0x1000, 0, 11, "/plugin/a");
	tap_str(at(1, 0x10010), "/plugin/a+10", "the first one again");
	tap_ok(first != second && second != serial(1) && first != serial(1), "three serials");
	map_at(2, 0x10000, 0x1000, 0, 99, "/plugin/a");
	tap_ok(procs_process(&p, 1)->space.map.v[0].dso != procs_process(&p, 2)->space.map.v[0].dso,
	       "the same path with another inode is another file");
	teardown("reload: memory is given back");
}

static void test_kinds(void)
{
	setup();
	map_at(1, 0x7f0000000000, 0x2000, 0x7f0000000000, 0, "[vdso]");
	map_at(2, 0x7e0000000000, 0x2000, 0, 0, "[vdso]");
	tap_str(at(1, 0x7f0000000123), "[vdso]+123", "the vdso counts from 0 whatever its pgoff");
	tap_ok(procs_process(&p, 1)->space.map.v[0].dso == procs_process(&p, 2)->space.map.v[0].dso,
	       "one for all processes");
	map_at(3, 0xf7f00000, 0x2000, 0, 0, "[vdso]");
	tap_ok(procs_process(&p, 3)->space.map.v[0].dso != procs_process(&p, 1)->space.map.v[0].dso,
	       "another one for 32-bit processes");
	map_at(1, 0x100000, 0x1000, 0x100000, 0, "//anon");
	tap_str(at(1, 0x100123), "[jit]+100123", "anonymous: the offset is the address");
	const struct dso *d = dso_get(&dsos, procs_space_find(&procs_process(&p, 1)->space,
							      0x100000)->dso);
	tap_ok(d->key.kind == DSO_ANON && d->key.pid == 1, "of that process");
	static const char *const anonymous[] = {
		"", "[heap]", "[stack]", "[anon:v8]", "anon_inode:[x]", "/dev/zero (deleted)",
		"/SYSV00000000 (deleted)", "/anon_hugepage (deleted)", "/memfd:jit (deleted)",
	};
	bool all = true;
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++) {
		map_at(1, 0x200000 + i * 0x1000, 0x1000, 0x55000, i < 5 ? 0 : 77, anonymous[i]);
		const struct procs_map *m = procs_space_find(&procs_process(&p, 1)->space,
							     0x200000 + i * 0x1000);
		all &= m && m->dso == d->id;
	}
	tap_ok(all, "all kinds of memory without a file");
	map_at(1, 0xffffffffff600000, 0x1000, 0, 0, "[vsyscall]");
	tap_str(at(1, 0xffffffffff600010), "[vsyscall]+ffffffffff600010", "vsyscall");
	map_at(1, 0x300000, 0x1000, 0, 21, "/bin/x (deleted)");
	tap_str(at(1, 0x300000), "/bin/x+0", "a deleted file's name is cleaned");
	map_at(1, 0x310000, 0x1000, 0, 22, " (deleted)");
	tap_str(at(1, 0x310000), "[jit]+310000", "a name of no known kind is JIT code");

	/* Records of perf.data: only a name, or a build id instead of the inode. */
	struct record r = { .type = PERF_RECORD_MMAP, .pid = 5, .misc = PERF_RECORD_MISC_USER,
			    .mmap = { .start = 0x1000, .len = 0x1000, .prot = PROT_EXEC,
				      .filename = "/one" } };
	procs_feed(&p, &r, true);
	r.mmap.start = 0x2000;
	r.mmap.filename = "/two";
	procs_feed(&p, &r, true);
	r.type = PERF_RECORD_MMAP2;
	r.mmap.start = 0x3000;
	r.mmap.n_build_id = 3;
	memcpy(r.mmap.build_id, "abc", 3);
	procs_feed(&p, &r, true);
	r.mmap.start = 0x4000;
	r.mmap.filename = "/elsewhere/two";
	procs_feed(&p, &r, true);
	const struct procs_map *m = procs_process(&p, 5)->space.map.v;
	tap_ok(procs_process(&p, 5)->space.map.n == 4 && m[0].dso != m[1].dso, "by name");
	tap_ok(m[2].dso == m[3].dso && m[2].dso != m[1].dso, "by build id");
	char text[DSO_BUILD_ID_TEXT_MAX];
	tap_str(dso_build_id_text(dso_get(&dsos, m[2].dso), text), "616263", "which is kept");

	r.misc = PERF_RECORD_MISC_KERNEL;
	r.mmap.filename = "[kernel.kallsyms]_text";
	r.pid = UINT32_MAX;
	size_t n = p.n_processes;
	procs_feed(&p, &r, true);
	tap_int((long long)p.n_processes, (long long)n, "the kernel's mappings belong to no "
		"process");
	teardown("kinds: memory is given back");
}

/* ---- processes ---------------------------------------------------------------------- */

static void test_fork_exec(void)
{
	setup();
	comm(10, 10, "sh", true);
	map_at(10, 0x1000, 0x1000, 0, 1, "/bin/sh");
	map_at(10, 0x8000, 0x1000, 0, 2, "/lib/ld-linux-x86-64.so.2");
	procs_target_process(&p, procs_process(&p, 10));
	fork_of(11, 11, 10, 10);
	struct procs_process *child = procs_process(&p, 11);
	tap_str(at(11, 0x1010), "/bin/sh+10", "a fork copies the maps");
	tap_ok(serial(11) != serial(10), "under a serial of its own");
	tap_str(name_of(11, 11), "sh", "and the name");
	tap_ok(child->ppid == 10 && child->target, "the child of a target is a target");
	tap_str(dso_get(&dsos, child->exe)->path, "/bin/sh", "its main binary is the parent's");
	fork_of(11, 11, 10, 10);
	tap_ok(procs_process(&p, 11) == child && child->n_threads == 1,
	       "a second report is harmless");

	uint32_t before = serial(11);
	map_at(10, 0x1000, 0x1000, 0, 3, "/bin/other");
	tap_str(at(11, 0x1010), "/bin/sh+10", "later maps of the parent are its own");
	comm(11, 11, "ls", true);
	tap_str(at(11, 0x1010), "-", "exec empties the space");
	tap_ok(serial(11) != before && child->exe == UINT32_MAX, "new serial, no main binary");
	map_at(11, 0x8000, 0x1000, 0, 2, "/lib/ld-linux-x86-64.so.2");
	tap_ok(child->exe == UINT32_MAX, "ld.so is not the main binary");
	map_at(11, 0x2000, 0x1000, 0, 4, "/bin/ls");
	map_at(11, 0x9000, 0x1000, 0, 5, "/lib/libc.so.6");
	tap_str(dso_get(&dsos, child->exe)->path, "/bin/ls", "the first other file is");
	tap_str(strtab_get(&strings, child->name), "ls", "name after exec");
	tap_str(dso_get(&dsos, p.first_exe)->path, "/bin/sh", "first main binary of all");

	comm(10, 10, "become", true);
	map_at(10, 0x3000, 0x1000, 0, 6, "/bin/become");
	tap_str(dso_get(&dsos, p.first_exe)->path, "/bin/become", "the program that its process "
		"becomes");

	comm(11, 11, "ls-renamed", false);
	tap_str(at(11, 0x2000), "/bin/ls+0", "a new name leaves the space alone");
	tap_str(name_of(11, 11), "ls-renamed", "but is the thread's name");

	fork_of(20, 20, 19, 19);
	tap_ok(!procs_process(&p, 20)->target && procs_process(&p, 20)->space.map.n == 0,
	       "a child of an unknown process");
	struct record r = { .type = PERF_RECORD_FORK, .pid = 12, .tid = 12, .fork = { 10, 10, 0 } };
	procs_feed(&p, &r, false);
	tap_ok(!procs_process(&p, 12)->target, "without follow a child is no target");
	teardown("fork, exec: memory is given back");
}

static void test_threads(void)
{
	setup();
	comm(10, 10, "server", true);
	fork_of(10, 11, 10, 10);
	fork_of(10, 12, 10, 11);
	struct procs_process *proc = procs_process(&p, 10);
	tap_ok(procs_thread(&p, 10, 11)->process == proc && proc->n_threads == 3, "threads share");
	tap_str(name_of(10, 12), "server", "and inherit the name");
	comm(10, 11, "worker", false);
	tap_str(name_of(10, 11), "worker", "until they get their own");
	tap_str(strtab_get(&strings, proc->name), "server", "the process keeps the leader's");
	fork_of(10, 13, 10, 11);
	tap_str(name_of(10, 13), "worker", "which their children inherit");

	exit_of(10, 10);
	tap_ok(!proc->exited && procs_process(&p, 10) == proc, "the leader may go first");
	exit_of(10, 10);
	exit_of(10, 11);
	exit_of(10, 12);
	tap_ok(!proc->exited, "one is left");
	exit_of(10, 13);
	tap_ok(proc->exited, "the last one ends the process");
	tap_str(name_of(10, 11), "worker", "an exited thread is still known");
	exit_of(77, 77);
	tap_int((long long)p.n_processes, 1, "an exit of an unknown thread creates nothing");

	/* Exec by a thread: the others vanish, it becomes the leader. */
	comm(20, 20, "jvm", true);
	fork_of(20, 21, 20, 20);
	fork_of(20, 22, 20, 20);
	exit_of(20, 20);
	exit_of(20, 22);
	comm(20, 20, "next", true);
	struct procs_process *jvm = procs_process(&p, 20);
	tap_ok(!procs_thread(&p, 20, 20)->exited && procs_thread(&p, 20, 21)->exited &&
	       jvm->n_alive == 1, "exec by a thread leaves one, the leader");
	exit_of(20, 20);
	tap_ok(jvm->exited, "whose exit ends the process");

	/* An exec of a set-user-ID file: the kernel reports the end of the process at once. */
	const struct record end = { .type = PERF_RECORD_EXIT, .pid = 10, .tid = 10 };
	comm(10, 10, "su", true);
	p.only_targets = true;
	tap_ok(!procs_note_removal(&p, &end) && !p.n_removed, "other tasks do not count");
	p.only_targets = false;
	tap_ok(procs_note_removal(&p, &end) && p.n_removed == 1,
	       "a program that ends before it maps anything lives on");
	map_at(10, 0x1000, 0x1000, 0, 5, "/bin/su");
	tap_int((long long)p.n_removed, 0, "and is recorded, if it goes on");
	tap_ok(!procs_note_removal(&p, &end), "then it can end");
	comm(10, 10, "sudo", true);
	tap_ok(procs_note_removal(&p, &end) && !procs_note_removal(&p, &end),
	       "there is one such record");
	comm(10, 10, "ls", true);
	tap_int((long long)p.n_removed, 0, "another exec shows that it goes on");
	exit_of(10, 10);

	/* Single threads as targets. */
	comm(30, 30, "pool", true);
	fork_of(30, 31, 30, 30);
	procs_target_thread(&p, procs_thread(&p, 30, 31));
	fork_of(30, 32, 30, 31);
	fork_of(30, 33, 30, 30);
	fork_of(34, 34, 30, 31);
	fork_of(35, 35, 30, 30);
	tap_ok(procs_is_target(procs_thread(&p, 30, 31)) &&
	       procs_is_target(procs_thread(&p, 30, 32)), "the threads of a target thread are "
		       "targets");
	tap_ok(!procs_is_target(procs_thread(&p, 30, 30)) &&
	       !procs_is_target(procs_thread(&p, 30, 33)), "its siblings are not targets");
	tap_ok(procs_process(&p, 34)->target && !procs_process(&p, 35)->target,
	       "and so for processes");
	struct record r = { .type = PERF_RECORD_FORK, .pid = 30, .tid = 36, .fork = { 30, 31, 0 } };
	procs_feed(&p, &r, false);
	tap_ok(!procs_is_target(procs_thread(&p, 30, 36)), "without follow it stands alone");
	procs_target_process(&p, procs_process(&p, 30));
	tap_ok(procs_is_target(procs_thread(&p, 30, 36)), "a process's threads are all targets");
	teardown("threads: memory is given back");
}

static int n_freed;

static void free_user(void *user)
{
	n_freed++;
	free(user);
}

static void test_reuse(void)
{
	setup();
	p.user_free = free_user;
	comm(10, 10, "old", true);
	map_at(10, 0x1000, 0x1000, 0, 1, "/bin/old");
	procs_thread(&p, 10, 10)->user = malloc(16);
	exit_of(10, 10);
	tap_str(at(10, 0x1010), "/bin/old+10", "maps outlive the exit");
	comm(5, 5, "parent", true);
	map_at(5, 0x1000, 0x1000, 0, 2, "/bin/parent");
	fork_of(10, 10, 5, 5);
	tap_str(at(10, 0x1010), "/bin/parent+10", "a reused pid starts anew");
	tap_str(name_of(10, 10), "parent", "with a new name");
	tap_ok(!procs_thread(&p, 10, 10)->user && !procs_process(&p, 10)->exited, "and is alive");

	fork_of(10, 50, 10, 10);
	struct procs_thread *t = procs_thread(&p, 10, 50);
	tap_ok(procs_thread(&p, 5, 50) != t, "a tid that moved to another process");
	tap_ok(procs_thread(&p, 5, 50)->process == procs_process(&p, 5), "belongs to that process");
	tap_ok(t->exited, "the old thread is over");
	exit_of(5, 50);
	comm(5, 50, "x", false);
	fork_of(5, 50, 5, 5);
	tap_str(name_of(5, 50), "x", "a second report of a living thread changes nothing");
	exit_of(5, 50);
	fork_of(5, 50, 5, 5);
	tap_str(name_of(5, 50), "parent", "a tid reused in the same process");
	teardown("reuse: memory is given back");
	tap_int(n_freed, 1, "the session's part of a thread is freed by the session");
}

static void test_storm(void)
{
	setup();
	comm(1, 1, "make", true);
	map_at(1, 0x1000, 0x1000, 0, 1, "/bin/make");
	size_t early = 0;
	bool right = true;
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t pid = 2 + i % 30000;
		fork_of(pid, pid, 1, 1);
		map_at(pid, 0x5000, 0x1000, 0, 2, "/bin/cc");
		right &= !strcmp(at(pid, 0x5000), "/bin/cc+0") &&
			 !strcmp(at(pid, 0x1000), "/bin/make+0");
		fork_of(pid, pid + 100000, pid, pid);
		exit_of(pid, pid + 100000);
		exit_of(pid, pid);
		if (i == 1000)
			early = budget.used_bytes;
	}
	tap_ok(right, "200000 short processes: maps are right");
	tap_int((long long)budget.used_bytes, (long long)early, "memory does not grow");
	tap_ok(p.n_threads <= PROCS_KEEP_EXITED + 1 && p.n_processes <= p.n_threads,
	       "only the last ones are kept");
	tap_ok(!procs_process(&p, 1)->exited && procs_thread(&p, 1, 1), "the parent stays");
	teardown("storm: memory is given back");

	setup();
	for (uint32_t i = 0; i < 20000; i++)
		procs_thread(&p, 7, 1000 + i);
	bool all = true;
	for (uint32_t i = 0; i < 20000; i++)
		all &= procs_thread(&p, 7, 1000 + i)->tid == 1000 + i;
	tap_ok(all && p.n_threads == 20000, "20000 threads are found");
	comm(7, 7, "exec", true);
	tap_ok(p.n_threads == PROCS_KEEP_EXITED + 1 && procs_process(&p, 7)->n_alive == 1,
	       "and end at exec");
	teardown("many threads: memory is given back");
}

int main(void)
{
	test_overlaps();
	test_against_model();
	test_reload();
	test_kinds();
	test_fork_exec();
	test_threads();
	test_reuse();
	test_storm();
	return tap_done();
}
