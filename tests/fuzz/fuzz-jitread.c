/*
 * The files in which a process describes its JIT code, read while it changes them.  The input is
 * one byte of choices, and five parts, each preceded by its length (u16): /proc/PID/status, the map
 * at first, what is added to it (or replaces it), and the same of the jitdump.
 */

#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strtab.h"
#include "proc/jitcfi.h"
#include "proc/jitread.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/name/symbolizer.h"

#include "fuzzdir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	CHOICE_STATUS = 1,         /* the status of the input, not a valid one */
	CHOICE_REWRITE = 2,        /* the second parts replace the first ones in place */
	CHOICE_RENAME = 4,         /* another file replaces the map */
	CHOICE_END = 8,            /* the process ends before the second parts are read */
	CHOICE_LIMIT = 16,         /* portions of few bytes */
	CHOICE_HOLE = 32,          /* a hole of 16 MiB precedes the second parts */
};

#define HOLE_BYTES (16 << 20)
#define POLLS_MAX 64
#define N_ADDRESSES 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct host host;

static void ignore(void *ctx, enum log_level level, const char *text)
{
	fuzzdir_check(*text != '\0');
}

static void make_machine(void)
{
	char text[128], proc[256];
	struct err e;
	if (fuzzdir[0])
		return;
	fuzzdir_make("/dev/shm");
	fuzzdir_folder("proc");
	fuzzdir_folder("proc/7");
	fuzzdir_folder("proc/7/root");
	fuzzdir_folder("proc/7/root/tmp");
	const char *stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 1 1 1 1\n";
	fuzzdir_put("proc/7/stat", bytes_of(stat, strlen(stat)));
	snprintf(text, sizeof(text), "Name:\tx\nUid:\t%d\t%d\t0\t0\nNSpid:\t7\t7\n",
		 (int)geteuid(), (int)geteuid());
	fuzzdir_put("proc/7/valid", bytes_of(text, strlen(text)));
	snprintf(proc, sizeof(proc), "%s", fuzzdir_path("proc"));
	fuzzdir_check(host_open(&host, NULL, proc, NULL, &e) == 0);
}

static void write_status(bool is_valid, struct bytes status)
{
	char valid[256];
	unlink(fuzzdir_path("proc/7/status"));
	if (!is_valid) {
		fuzzdir_put("proc/7/status", status);
		return;
	}
	snprintf(valid, sizeof(valid), "%s", fuzzdir_path("proc/7/valid"));
	fuzzdir_check(link(valid, fuzzdir_path("proc/7/status")) == 0);
}

static void change_file(int fd, uint8_t choices, struct bytes more)
{
	off_t at = choices & CHOICE_REWRITE ? 0 : lseek(fd, 0, SEEK_END);
	if (choices & CHOICE_REWRITE)
		fuzzdir_check(ftruncate(fd, 0) == 0);
	if (choices & CHOICE_HOLE)
		at += HOLE_BYTES;
	fuzzdir_check(pwrite(fd, more.p, bytes_left(&more), at) == (ssize_t)bytes_left(&more));
}

static void check_code(const struct jitread *r)
{
	for (uint32_t i = 0; i < r->code.n && i < 64; i++) {
		const struct jitcode_entry *e = &r->code.entry[i];
		fuzzdir_check(e->n_bytes && strlen(e->name) <= JITCODE_NAME_BYTES_MAX);
		struct cfi *c = e->unwind.bytes ? jitcfi_open(&arch_x86_64, e, 0) : NULL;
		struct cfi_rule rule;
		if (!c)
			continue;
		cfi_rule_at(c, e->n_bytes / 2, &rule);
		cfi_close(c);
	}
}

/* The names of the code, at two times. */
static void resolve(const struct jitread *r)
{
	static char path[] = "[jit]";
	const struct dso memory = { .key = { .kind = DSO_ANON, .pid = 7 }, .path = path, .fd = -1 };
	const struct jitcode_view view[] = { { &r->code, 1 }, { &r->code, UINT64_MAX } };
	const struct symbolizer_options o = { .jit = view, .n_jit = 2 };
	struct symaddr addr[N_ADDRESSES];
	struct symlines lines = { 0 };
	struct symbolizer_has has;
	struct strtab strings;
	fuzzdir_check(strtab_init(&strings, NULL) == 0);
	for (uint32_t i = 0; i < N_ADDRESSES; i++)
		addr[i] = (struct symaddr){ .vaddr = i < r->code.n ? r->code.entry[i].start : i };
	fuzzdir_check(symbolizer_resolve(&o, &memory, addr, N_ADDRESSES, &lines, &strings,
					 &has) == 0);
	for (uint32_t i = 0; i < N_ADDRESSES; i++)
		fuzzdir_check(addr[i].n_lines && lines.v[addr[i].first_line].name);
	free(lines.v);
	strtab_done(&strings);
}

static void poll_files(struct jitread *r, uint8_t choices)
{
	uint64_t *replaced, now_ns = clock_monotonic_ns();
	for (int i = 0; i < POLLS_MAX; i++) {
		struct jitread_limit limit = { choices & CHOICE_LIMIT ? 64 : 1 << 20, UINT64_MAX };
		long n = jitread_poll(r, now_ns, &limit, &replaced);
		for (long k = 1; k < n; k++)
			fuzzdir_check(replaced[k - 1] <= replaced[k]);
		free(replaced);
		if (!jitread_has_more(r))
			break;
	}
	check_code(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char map[] = "proc/7/root/tmp/perf-7.map";
	static const char next[] = "proc/7/root/tmp/next";
	struct log log = { .line = ignore, .max = LOG_EXPLAIN };
	struct bytes b = bytes_of(data, size);
	uint8_t choices = bytes_u8(&b);
	struct bytes status = fuzzdir_part(&b), first = fuzzdir_part(&b), more = fuzzdir_part(&b);
	struct bytes dump = fuzzdir_part(&b), dump_more = fuzzdir_part(&b);
	struct jitread r;
	char from[256];

	make_machine();
	write_status(!(choices & CHOICE_STATUS), status);
	unlink(fuzzdir_path(map));
	fuzzdir_put(map, first);
	int fd = memfd_create("jitdump", MFD_CLOEXEC);
	int map_fd = open(fuzzdir_path(map), O_WRONLY | O_CLOEXEC);
	fuzzdir_check(fd >= 0 && map_fd >= 0);
	change_file(fd, 0, dump);
	jitread_init(&r, NULL);
	jitread_open(&r, &host, 7);
	jitread_set_dump(&r, fd, "/tmp/jit-7.dump");
	poll_files(&r, choices);
	change_file(fd, choices, dump_more);
	change_file(map_fd, choices, more);
	if (choices & CHOICE_RENAME) {
		fuzzdir_put(next, more);
		snprintf(from, sizeof(from), "%s", fuzzdir_path(next));
		fuzzdir_check(rename(from, fuzzdir_path(map)) == 0);
	}
	if (choices & CHOICE_END)
		jitread_end(&r);
	poll_files(&r, choices);
	jitread_has_unread(&r);
	jitcode_add_region(&r.code, 8, 16);
	resolve(&r);
	jitread_explain(&r, 7, 1, &log);
	jitread_done(&r);
	close(map_fd);
	close(fd);
	return 0;
}
