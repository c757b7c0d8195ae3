#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "symbolize/kernel/symkernel.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char kallsyms[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 t startup_64\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 t __pfx_do_it\n"
	"ffffffff81000110 t do_it\n"
	"ffffffff81000110 T do_it_too\n"
	"ffffffff81000110 T __do_it\n"
	"ffffffff81000110 W weak_alias\n"
	"ffffffff81000120 t $x\n"
	"ffffffff81000124 t .Lend\n"
	"ffffffff81000180 d data_in_text\n"
	"ffffffff81000200 t name with\tno module\n"
	"ffffffff81000300 T last_in_text\n"
	"ffffffff81000400 T _etext\n"
	"ffffffff82000000 t init_it\n"
	"ffffffff82000000 T _sinittext\n"
	"ffffffff82000800 T _einittext\n"
	"garbage\n"
	"ffffffff8\n"
	"\n"
	"ffffffffc0101000 t ext4_b\t[ext4]\n"
	"ffffffffc0100000 T ext4_a\t[ext4]\n"
	"ffffffffc0100000 r ext4_data\t[ext4]\n"
	"ffffffffc0201000 t bpf_prog_6deef7357e7b4530\t[bpf]\n"
	"ffffffffa0000000 t early_module\t[low]\n"
	"ffffffffc0300000 t no_newline\t[end]";

/* "do_it" or "ext4:ext4_a", with the offset; "-" if nothing is found. */
static const char *at(const struct symkernel *k, uint64_t address)
{
	static char text[256];
	const char *name, *module;
	uint64_t start;
	if (!symkernel_find(k, address, &name, &module, &start))
		return "-";
	snprintf(text, sizeof(text), "%s%s%s+%" PRIx64, module, *module ? ":" : "", name,
		 address - start);
	return text;
}

static void test_text(void)
{
	struct symkernel *k = NULL;
	struct err e;
	uint64_t start, end;
	tap_int(symkernel_open_text(kallsyms, sizeof(kallsyms) - 1, &k, &e), 0, "text is read");
	tap_str(at(k, 0xffffffff80ffffff), "-", "nothing before the first symbol");
	tap_str(at(k, 0), "-", "no symbol at address 0");
	tap_str(at(k, 0xffffffff81000000), "startup_64+0",
		"the first of several names is used");
	tap_str(at(k, 0xffffffff8100010f), "__pfx_do_it+f", "a symbol extends to the next one");
	tap_str(at(k, 0xffffffff81000110), "do_it+0",
		"even if a later one is global");
	tap_str(at(k, 0xffffffff810001ff), "do_it+ef",
		"mapping symbols and data do not end a function");
	tap_str(at(k, 0xffffffff81000250), "name with+50", "a name with blanks");
	tap_str(at(k, 0xffffffff810003ff), "last_in_text+ff", "last function");
	tap_str(at(k, 0xffffffff81000400), "-", "nothing after _etext");
	tap_str(at(k, 0xffffffff82000010), "init_it+10", "init text");
	tap_str(at(k, 0xffffffff82000800), "-", "nothing after _einittext");
	tap_str(at(k, 0xffffffffc0100fff), "ext4:ext4_a+fff", "module");
	tap_str(at(k, 0xffffffffc0101004), "ext4:ext4_b+4", "last of a module");
	tap_str(at(k, 0xffffffffc0111000), "-", "no symbol far after the last one of a module");
	tap_str(at(k, 0xffffffffc0201020), "bpf:bpf_prog_6deef7357e7b4530+20", "bpf program");
	tap_str(at(k, 0xffffffffa0000001), "low:early_module+1", "module that came out of order");
	tap_str(at(k, 0xffffffffc0300001), "end:no_newline+1", "last line without newline");
	tap_str(at(k, UINT64_MAX), "-", "no symbol at the highest address");
	symkernel_text(k, &start, &end);
	tap_ok(start == 0xffffffff81000000 && end == 0xffffffff81000400, "bounds of the text");
	symkernel_close(k);
	symkernel_close(NULL);
}

static void test_hidden(void)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t foo\t[ext4]\n";
	struct symkernel *k = NULL;
	struct err e = { 0 };
	tap_int(symkernel_open_text(hidden, sizeof(hidden) - 1, &k, &e), -EPERM,
		"hidden addresses give -EPERM");
	tap_ok(!k && e.code == -EPERM && strstr(e.hint, "kernel.kptr_restrict") &&
	       strstr(e.hint, "CAP_SYSLOG"), "the hint names the remedies");
	tap_int(symkernel_open_text("", 0, &k, &e), 0, "an empty text is accepted");
	tap_str(at(k, 0xffffffff81000000), "-", "an empty text has no symbols");
	symkernel_close(k);
}

static void put(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		tap_ok(false, "cannot write %s", path);
	close(fd);
}

static void drop(const char *dir, const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	remove(path);
}

/* Only what the addresses need is read: here all up to the line after data_1. */
static void test_range(const struct host *h, const char *dir)
{
	static const char some[] =
		"ffffffff81000000 T _stext\n"
		"ffffffff81000100 T first\n"
		"ffffffff81000200 T last\n"
		"ffffffff81000300 T _etext\n"
		"ffffffff81000300 T after\n"
		"ffffffff82000000 D data_1\n"
		"ffffffff82000100 t init_1\n"
		"ffffffffc0100000 t module_1\t[first]\n";
	static const struct { uint64_t first, last; bool is_short; } range[] = {
		{ 0xffffffff81000100, 0xffffffff810002ff, true },
		{ 0xffffffff81000000, 0xffffffff81000000, true },
		{ 0xffffffff81000100, 0xffffffff81000300, false },
		{ 0xffffffff80ffffff, 0xffffffff81000100, false },
		{ 0xffffffff81000100, 0xffffffffc0100000, false },
		{ 0, 0, false },
	};
	put(dir, "kallsyms", some, sizeof(some) - 1);
	for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++) {
		struct symkernel *k = NULL;
		struct err e = { 0 };
		uint64_t start, end;
		if (symkernel_open_for(h, range[i].first, range[i].last, &k, &e) < 0) {
			tap_ok(false, "range %zu", i);
			continue;
		}
		symkernel_text(k, &start, &end);
		tap_ok(start == 0xffffffff81000000 && end == 0xffffffff81000300 &&
		       strcmp(at(k, 0xffffffff81000110), "first+10") == 0 &&
		       strcmp(at(k, 0xffffffff810002ff), "last+ff") == 0 &&
		       strcmp(at(k, 0xffffffff81000300), "after+0") == 0,
		       "range %zu: all of the text is known", i);
		tap_str(at(k, 0xffffffff82000100), range[i].is_short ? "-" : "init_1+0",
			range[i].is_short ? "and what follows was not read" : "and what follows");
		tap_str(at(k, 0xffffffffc0100000), range[i].is_short ? "-" : "first:module_1+0",
			"as are modules");
		symkernel_close(k);
	}
}

static void test_folders(void)
{
	char dir[] = "/tmp/test-symkernel-XXXXXX";
	struct host h;
	struct err e = { 0 };
	if (!mkdtemp(dir) || host_open(&h, NULL, dir, dir, &e) < 0) {
		tap_ok(false, "fixture");
		return;
	}
	struct symkernel *k = NULL;
	uint8_t id[20];
	tap_int(symkernel_open(&h, &k, &e), -ENOENT, "no kallsyms");
	tap_ok(strstr(e.what, "kallsyms") != NULL, "the message names the file");
	tap_int((long long)symkernel_build_id(&h, id, sizeof(id)), 0, "no notes");

	/* As since Linux 6.4: first's size includes parts elsewhere, so its end is in second. */
	static const char some[] =
		"ffffffff81000000 T _stext\n"
		"ffffffffc0100000 t first_a\t[first]\n"
		"ffffffffc0102000 t second_a\t[second]\n"
		"ffffffffc0104000 t second_b\t[second]\n"
		"ffffffffc0200000 t big_a\t[big]\n";
	static const char modules[] =
		"first 12288 0 - Live 0xffffffffc0100000\n"
		"second 9216 1 first, Live 0xffffffffc0102000 (OE)\n"
		"big 1048576 0 - Live 0xffffffffc0200000\n"
		"hidden 4096 0 - Live 0x0000000000000000\n"
		"odd\n";
	put(dir, "kallsyms", some, sizeof(some) - 1);
	put(dir, "modules", modules, sizeof(modules) - 1);
	tap_int(symkernel_open(&h, &k, &e), 0, "fixture is read");
	tap_str(at(k, 0xffffffffc0103500), "second:second_a+1500",
		"a module's end inside another module is ignored");
	tap_str(at(k, 0xffffffffc01043ff), "second:second_b+3ff",
		"the last symbol of a module extends to the module's end");
	tap_str(at(k, 0xffffffffc0104400), "-", "no symbol after the module's end");
	tap_str(at(k, 0xffffffffc020ffff), "big:big_a+ffff", "a last function reaches 64 KiB");
	tap_str(at(k, 0xffffffffc0210000), "-",
		"a last function extends no further, even if the module does");
	symkernel_close(k);

	test_range(&h, dir);
	static const char none[] = "0000000000000000 T _stext\n";
	char sub[512];
	put(dir, "kallsyms", none, sizeof(none) - 1);
	tap_ok(symkernel_open(&h, &k, &e) == -EPERM && strstr(e.hint, "CAP_SYSLOG"),
	       "hidden from us");
	snprintf(sub, sizeof(sub), "%s/sys", dir);
	mkdir(sub, 0700);
	snprintf(sub, sizeof(sub), "%s/sys/kernel", dir);
	mkdir(sub, 0700);
	put(sub, "kptr_restrict", "2\n", 2);
	tap_ok(symkernel_open(&h, &k, &e) == -EPERM && !strstr(e.hint, "CAP_SYSLOG") &&
	       strstr(e.hint, "is 2"), "hidden from everyone: a capability is no remedy");
	drop(sub, "kptr_restrict");
	drop(dir, "sys/kernel");
	drop(dir, "sys");

	static const uint32_t notes[] = {
		6, 4, 0x101, 0x756e694c, 0x00000078, 0,      /* "Linux" */
		4, 3, 3, 0x006e6558, 0x00332211,             /* "Xen", 3 bytes and padding */
		4, 8, 3, 0x00554e47, 0x44332211, 0x88776655, /* "GNU", build id */
	};
	snprintf(sub, sizeof(sub), "%s/kernel", dir);
	mkdir(sub, 0700);
	put(sub, "notes", notes, sizeof(notes));
	size_t n = symkernel_build_id(&h, id, sizeof(id));
	tap_ok(n == 8 && id[0] == 0x11 && id[7] == 0x88, "build id after other notes");
	tap_int((long long)symkernel_build_id(&h, id, 4), 4,
		"a build id is truncated to the buffer");
	put(sub, "notes", notes, sizeof(notes) - 4);
	tap_int((long long)symkernel_build_id(&h, id, sizeof(id)), 0,
		"a truncated note has no build id");
	drop(sub, "notes");
	drop(dir, "kernel");
	drop(dir, "modules");
	drop(dir, "kallsyms");
	rmdir(dir);
	host_close(&h);
}

static void test_running_kernel(void)
{
	struct host h;
	struct err e = { 0 };
	struct symkernel *k = NULL;
	struct timespec t0, t1;
	if (host_open(&h, NULL, NULL, NULL, &e) < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	int code = symkernel_open(&h, &k, &e);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (code < 0) {
		tap_skip("running kernel", e.what);
		host_close(&h);
		return;
	}
	uint64_t start, end, sym_start = 0;
	const char *name, *module;
	symkernel_text(k, &start, &end);
	tap_ok(start && end > start, "the running kernel has text");
	tap_ok(symkernel_find(k, start + (end - start) / 2, &name, &module, &sym_start) &&
	       *name && !*module && sym_start <= start + (end - start) / 2,
	       "the middle of its text has a name");
	printf("# read in %.1f ms\n", (double)(t1.tv_sec - t0.tv_sec) * 1e3 +
	       (double)(t1.tv_nsec - t0.tv_nsec) / 1e6);
	uint8_t id[20];
	tap_ok(symkernel_build_id(&h, id, sizeof(id)) >= 8 ||
	       access("/sys/kernel/notes", R_OK) < 0, "its build id");
	symkernel_close(k);
	host_close(&h);
}

int main(void)
{
	test_text();
	test_hidden();
	test_folders();
	test_running_kernel();
	return tap_done();
}
