/* JIT code by place and time, and the two file formats that describe it. */

#include "base/budget.h"
#include "symbolize/jit/jitcode.h"
#include "symbolize/jit/jitdump.h"
#include "symbolize/jit/perfmap.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *name_at(const struct jitcode *j, uint64_t pc, uint64_t at_ns)
{
	const struct jitcode_entry *e = jitcode_find(j, pc, at_ns);
	return e ? e->name : "none";
}

static long settle(struct jitcode *j)
{
	uint64_t *replaced;
	long n = jitcode_settle(j, &replaced);
	free(replaced);
	return n;
}

static uint64_t take(struct jitcode *j, const char *text, uint64_t from_ns)
{
	uint64_t bad = 0;
	tap_int(perfmap_take(j, text, strlen(text), from_ns, &bad), (long)strlen(text),
		"all lines are read");
	return bad;
}

static void by_time(void)
{
	struct jitcode j;
	jitcode_init(&j, NULL);
	take(&j, "1000 100 a\n3000 10 far\n", 10);
	tap_int(settle(&j), 0, "the first entries replace nothing");
	tap_str(name_at(&j, 0x1000, 10), "a", "the first byte");
	tap_str(name_at(&j, 0x10ff, 10), "a", "the last byte");
	tap_str(name_at(&j, 0x1100, 10), "none", "after the last byte");
	tap_str(name_at(&j, 0xfff, 10), "none", "before the first byte");
	tap_str(name_at(&j, 0x1000, 5), "a", "an entry that arrives late names earlier samples");
	take(&j, "1000 100 a\n", 15);
	tap_int(j.n, 2, "duplicates are ignored");
	take(&j, "1080 40 b\n2000 10 new\n", 20);
	uint64_t *replaced;
	tap_int(jitcode_settle(&j, &replaced), 1, "b takes the place of a");
	tap_int((long)replaced[0], 20, "from then on");
	free(replaced);
	tap_str(name_at(&j, 0x1090, 19), "a", "earlier samples belong to a");
	tap_str(name_at(&j, 0x1090, 20), "b", "later samples belong to b");
	tap_str(name_at(&j, 0x10f0, 25), "a", "the part of a outside b stays");
	take(&j, "1000 100 a\n", 30);
	tap_int(settle(&j), 1, "a is back in b's place");
	tap_str(name_at(&j, 0x1090, 30), "a", "later samples belong to a");
	tap_str(name_at(&j, 0x1090, 25), "b", "samples in between belong to b");
	jitcode_done(&j);
}

static void lines(void)
{
	struct jitcode j;
	jitcode_init(&j, NULL);
	tap_int((long)take(&j, "0x10 0x10 with 0x\n7F0000000020 8 UPPER case\r\n\n", 0), 0,
		"0x prefixes, capital digits and empty lines");
	tap_int((long)take(&j, "zz 10 a\n10 a\n10  \n-1 5 x\n10 0 empty\n"
			       "fffffffffffffff0 100 wraps\n11112222333344445 1 long\n", 0),
		7, "bad lines are counted");
	settle(&j);
	tap_str(name_at(&j, 0x18, 0), "with 0x", "0x");
	tap_str(name_at(&j, 0x7f0000000027, 0), "UPPER case",
		"the name includes blanks, but not \\r");
	jitcode_done(&j);
}

/* Lines in the style of several JIT compilers, by their sources and documentation. */
static void writers(void)
{
	struct jitcode j;
	jitcode_init(&j, NULL);
	/* LuaJIT, lj_trace.c: "%lx %x TRACE_%d::%s:%u\n" */
	tap_int((long)take(&j, "5646220dfdd1 144 TRACE_2::map.lua:12\n"
			       "5646220dfb00 ff TRACE_1::(string):1\n", 0), 0, "LuaJIT");
	settle(&j);
	tap_str(name_at(&j, 0x5646220dfdd1 + 0x143, 0), "TRACE_2::map.lua:12", "a trace");
	tap_str(name_at(&j, 0x5646220dfb00, 0), "TRACE_1::(string):1", "of a string");
	/* .NET, perfmap.cpp: addresses with leading zeros, tiers and stubs in brackets */
	tap_int((long)take(&j, "00007F8F3B5D1A30 2a instance void [System.Private.CoreLib] "
			       "System.Threading.Thread::StartCallback()[Tier0]\n"
			       "00007F8F3B5D2000 1c0 void [App] App.Program::Main(string[])"
			       "[OptimizedTier1]\n"
			       "00007F8F3B5D3000 20 bool [App] App.List`1[System.__Canon]::"
			       "Has(!0)[PreJIT]\n"
			       "00007F8F3B500000 18 stub<12> AllocateTemporaryEntryPoints"
			       "<PRECODE_FIXUP>\n"
			       "00007F8F3B500100 10 [PreStub]\n", 0), 0, ".NET");
	settle(&j);
	tap_str(name_at(&j, 0x7f8f3b5d1a30, 0), "instance void [System.Private.CoreLib] "
		"System.Threading.Thread::StartCallback()[Tier0]", "a method, first tier");
	tap_str(name_at(&j, 0x7f8f3b5d21bf, 0),
		"void [App] App.Program::Main(string[])[OptimizedTier1]", "the last byte");
	tap_str(name_at(&j, 0x7f8f3b5d3000, 0),
		"bool [App] App.List`1[System.__Canon]::Has(!0)[PreJIT]", "compiled ahead");
	tap_str(name_at(&j, 0x7f8f3b500017, 0),
		"stub<12> AllocateTemporaryEntryPoints<PRECODE_FIXUP>", "a stub");
	tap_str(name_at(&j, 0x7f8f3b500100, 0), "[PreStub]", "only brackets");
	/* Java: written by the virtual machine (jcmd Compiler.perfmap) and by perf-map-agent */
	tap_int((long)take(&j, "0x00007f2410ec7640 0x0000000000000150 long Hot.fib(int)\n"
			       "7f2410e00000 40 Interpreter\n"
			       "7f2410ec9000 80 LHot;::mix\n", 0), 0, "Java");
	settle(&j);
	tap_str(name_at(&j, 0x7f2410ec7640, 0), "long Hot.fib(int)", "by jcmd");
	tap_str(name_at(&j, 0x7f2410e0003f, 0), "Interpreter", "the interpreter");
	tap_str(name_at(&j, 0x7f2410ec9000, 0), "LHot;::mix", "by an agent");
	jitcode_done(&j);
}

static void partial(void)
{
	struct jitcode j;
	uint64_t bad = 0;
	jitcode_init(&j, NULL);
	tap_int((long)perfmap_take(&j, "10 1 a\n20 1", 11, 0, &bad), 7,
		"an incomplete line is left for later");
	char *wide = malloc(PERFMAP_LINE_BYTES_MAX);
	memset(wide, 'x', PERFMAP_LINE_BYTES_MAX);
	tap_int((long)perfmap_take(&j, wide, PERFMAP_LINE_BYTES_MAX, 0, &bad),
		PERFMAP_LINE_BYTES_MAX, "an overlong line does not stop the reader");
	tap_int((long)bad, 1, "and is counted as bad");
	free(wide);
	tap_str(jitcode_keep_name(&j, "a\tb\nc", 5), "a?b?c", "no control characters in names");
	jitcode_done(&j);
}

static void limit(void)
{
	struct budget b;
	struct jitcode j;
	uint64_t bad = 0;
	budget_init(&b, 20000);
	jitcode_init(&j, &b);
	for (int i = 0; i < 1000; i++) {
		char line[64];
		int n = snprintf(line, sizeof(line), "%x 10 function_%d\n", i * 16, i);
		perfmap_take(&j, line, (size_t)n, 0, &bad);
	}
	tap_ok(j.is_full && j.n > 10 && j.n < 1000, "the memory limit stops the reader");
	tap_ok(b.used_bytes <= 20000, "the limit is kept");
	settle(&j);
	tap_str(name_at(&j, 0x10, 0), "function_1", "earlier entries keep their names");
	jitcode_done(&j);
	tap_int((long)b.used_bytes, 0, "all memory is released");
}

static void regions(void)
{
	struct jitcode j;
	jitcode_init(&j, NULL);
	jitcode_add_region(&j, 0x3000, 0x4000);
	jitcode_add_region(&j, 0x1000, 0x2000);
	tap_int(j.regions.n, 2, "two regions");
	tap_ok(!jitcode_find_region(&j, 0x2000) && !jitcode_find_region(&j, 0xfff) &&
		       !jitcode_find_region(&j, 0x4000), "no region between and around them");
	tap_ok(jitcode_find_region(&j, 0x1fff) && jitcode_find_region(&j, 0x3000),
	       "inside a region");
	jitcode_add_region(&j, 0x2000, 0x3000);
	tap_int(j.regions.n, 1, "a region that fills the gap joins them");
	jitcode_add_region(&j, 0x1800, 0x1900);
	const struct jitcode_region *r = jitcode_find_region(&j, 0x2800);
	tap_ok(r && r->start == 0x1000 && r->end == 0x4000, "both ends belong to it");
	jitcode_done(&j);
}

/* ---- jitdump --------------------------------------------------------------- */

struct builder {
	uint8_t bytes[4096];
	size_t n, record;
};

static void put(struct builder *b, const void *p, size_t n)
{
	memcpy(b->bytes + b->n, p, n);
	b->n += n;
}

static void put32(struct builder *b, uint32_t x)
{
	put(b, &x, 4);
}

static void put64(struct builder *b, uint64_t x)
{
	put(b, &x, 8);
}

static void header(struct builder *b, uint32_t pad, uint64_t flags)
{
	b->n = 0;
	put32(b, 0x4A695444);
	put32(b, 1);
	put32(b, 40);
	put32(b, 62);
	put32(b, pad);
	put32(b, 99);
	put64(b, 1);
	put64(b, flags);
}

static void begin(struct builder *b, uint32_t id, uint64_t time_ns)
{
	b->record = b->n;
	put32(b, id);
	put32(b, 0);
	put64(b, time_ns);
}

static void end(struct builder *b)
{
	uint32_t n = (uint32_t)(b->n - b->record);
	memcpy(b->bytes + b->record + 4, &n, 4);
}

static void load(struct builder *b, uint64_t time_ns, uint64_t at, uint64_t n, uint64_t index,
		 const char *name)
{
	begin(b, 0, time_ns);
	put32(b, 99);
	put32(b, 99);
	put64(b, at);
	put64(b, at);
	put64(b, n);
	put64(b, index);
	put(b, name, strlen(name) + 1);
	put(b, "code", 4);
	end(b);
}

static void line(struct builder *b, uint64_t at, uint32_t number, const char *file)
{
	put64(b, at);
	put32(b, number);
	put32(b, 0);
	put(b, file, strlen(file) + 1);
}

static void dump(void)
{
	struct builder b;
	struct jitcode j;
	struct jitdump d;
	size_t want;
	jitcode_init(&j, NULL);
	jitdump_init(&d);
	header(&b, 0, 0);
	begin(&b, 2, 5);
	put64(&b, 0x1000);
	put64(&b, 3);
	line(&b, 0x1008, 8, "b.js");
	line(&b, 0x1000, 7, "a.js");
	line(&b, 0x100c, 9, "\xff");
	end(&b);
	begin(&b, 4, 6);
	put64(&b, 8);
	put64(&b, 4);
	put64(&b, 0);
	put(&b, "frames..", 8);
	end(&b);
	load(&b, 10, 0x1000, 0x100, 1, "first");
	load(&b, 20, 0x2000, 0x100, 2, "second");
	begin(&b, 1, 30);
	put32(&b, 99);
	put32(&b, 99);
	put64(&b, 0x3000);
	put64(&b, 0x1000);
	put64(&b, 0x3000);
	put64(&b, 0x100);
	put64(&b, 1);
	end(&b);
	load(&b, 40, 0x1000, 0x80, 3, "third");
	size_t whole = b.n;
	for (size_t cut = 0; cut < whole; cut += 7) {
		struct jitcode part;
		struct jitdump pd;
		jitcode_init(&part, NULL);
		jitdump_init(&pd);
		long r = jitdump_take(&pd, &part, b.bytes, cut, 100, &want);
		if (r < 0 || (size_t)r > cut || (cut - (size_t)r >= want && want))
			tap_ok(false, "cut at %zu: %ld, wants %zu", cut, r, want);
		jitdump_done(&pd);
		jitcode_done(&part);
	}
	tap_int(jitdump_take(&d, &j, b.bytes, b.n, 100, &want), (long)whole,
		"all records are read");
	tap_int((long)d.n_bad, 0, "no record is bad");
	tap_int(settle(&j), 1, "third takes the place of first");
	tap_str(name_at(&j, 0x1000, 39), "first", "first, until it was replaced");
	tap_str(name_at(&j, 0x1000, 40), "third", "third from then on");
	tap_str(name_at(&j, 0x3010, 50), "first", "first, at its new place");
	tap_str(name_at(&j, 0x2000, 50), "second", "second");
	const struct jitcode_entry *e = jitcode_find(&j, 0x3000, 50);
	const struct jitcode_line *l = e ? jitcode_find_line(e, 0x3004) : NULL;
	tap_ok(l && l->line == 7 && strcmp(l->file, "a.js") == 0, "its lines moved with it");
	l = e ? jitcode_find_line(e, 0x3008) : NULL;
	tap_ok(l && l->line == 8 && strcmp(l->file, "b.js") == 0, "lines may be in any order");
	tap_ok(e && e->unwind.n_bytes == 8 && e->unwind.n_hdr_bytes == 4 &&
		       memcmp(e->unwind.bytes, "frames..", 8) == 0, "it has CFI");
	e = jitcode_find(&j, 0x1000, 50);
	tap_ok(e && !e->n_lines && !e->unwind.bytes, "other code has no CFI");
	jitdump_done(&d);
	jitcode_done(&j);
}

static void odd_dumps(void)
{
	struct builder b;
	struct jitcode j;
	struct jitdump d;
	size_t want;
	jitcode_init(&j, NULL);
	jitdump_init(&d);
	tap_int(jitdump_take(&d, &j, "a text, or anything else that is long", 37, 0, &want),
		-EBADMSG, "another file");
	header(&b, 0xdeadbeef, 1);
	begin(&b, 2, 1);
	put64(&b, 0x1000);
	put64(&b, 1);
	line(&b, 0x1040, 3, "\x01\x02");
	end(&b);
	load(&b, 7777777, 0x1000, 0x100, 1, "JS:*f /a/b.js:2:3");
	begin(&b, 2, 1);
	put64(&b, 0x1000);
	put64(&b, UINT64_MAX);
	end(&b);
	begin(&b, 77, 1);
	end(&b);
	begin(&b, 3, 1);
	end(&b);
	load(&b, 8, 0x5000, 0x100, 2, "after the end");
	jitdump_take(&d, &j, b.bytes, b.n, 100, &want);
	settle(&j);
	const struct jitcode_entry *e = jitcode_find(&j, 0x1000, 100);
	tap_ok(e && e->from_ns == 100, "times of another clock are ignored");
	const struct jitcode_line *l = e ? jitcode_find_line(e, 0x1000) : NULL;
	tap_ok(l && l->line == 3 && !l->file,
	       "V8: addresses are reduced by 64, names that are not text are dropped");
	tap_int((long)d.n_bad, 1, "a record with too many lines is bad");
	tap_ok(d.is_closed && !jitcode_find(&j, 0x5000, 100), "records after the end are ignored");
	jitdump_done(&d);
	jitcode_done(&j);
}

/* The number of lines of the code at pc, from the records so far. */
static uint32_t n_lines_at(const struct builder *b, uint64_t pc, uint64_t *ret_n_bad,
			   uint32_t *ret_last)
{
	struct jitcode j;
	struct jitdump d;
	size_t want;
	jitcode_init(&j, NULL);
	jitdump_init(&d);
	jitdump_take(&d, &j, b->bytes, b->n, 100, &want);
	settle(&j);
	const struct jitcode_entry *e = jitcode_find(&j, pc, 100);
	uint32_t n = e ? e->n_lines : UINT32_MAX;
	*ret_last = n && e ? e->line[n - 1].line : 0;
	*ret_n_bad = d.n_bad;
	jitdump_done(&d);
	jitcode_done(&j);
	return n;
}

static void odd_line(struct builder *b, uint64_t at, uint32_t number)
{
	put64(b, at);
	put32(b, number);
	put32(b, 0);
	put(b, "\x35\xfe\0\x5c/hot.js", 12);  /* with the NUL at its end */
}

/* Line entries that do not fill their record. */
static void odd_lines(void)
{
	struct builder b;
	uint64_t n_bad;
	uint32_t last;
	for (int is_v8 = 0; is_v8 < 2; is_v8++) {
		header(&b, is_v8 ? 0xdeadbeef : 0, 0);
		begin(&b, 2, 1);
		put64(&b, 0x1000);
		put64(&b, 3);
		for (uint32_t i = 0; i < 3; i++)
			odd_line(&b, 0x1040 + 4 * i, 5 + i);
		put(&b, "\0\0\0\0", 4);
		end(&b);
		load(&b, 10, 0x1000, 0x100, 1, "f");
		load(&b, 11, 0x2000, 0x100, 2, "g");
		uint32_t n = n_lines_at(&b, 0x1000, &n_bad, &last);
		tap_int(n, is_v8 ? 3 : 0, is_v8 ? "V8: names with zero bytes do not hide the lines"
						: "entries that do not fill it are dropped");
		tap_int((long)n_bad, !is_v8, "and counted as bad where they cannot be recovered");
		tap_int(last, is_v8 ? 7 : 0, "the last line");
		tap_int(n_lines_at(&b, 0x2000, &n_bad, &last), 0, "the next code has no lines");
	}
	header(&b, 0xdeadbeef, 0);
	begin(&b, 2, 1);
	put64(&b, 0x1000);
	put64(&b, 2);
	odd_line(&b, 0x1040, 5);
	put(&b, "\0\0\0\0\0\0\0\0", 8);
	odd_line(&b, 0x1044, 6);
	end(&b);
	load(&b, 10, 0x1000, 0x100, 1, "f");
	tap_int(n_lines_at(&b, 0x1000, &n_bad, &last), 0,
		"V8: entries of two lengths cannot be recovered");
	tap_int((long)n_bad, 1, "and are counted as bad");
	header(&b, 0, 0);
	begin(&b, 2, 1);
	put64(&b, 0x1000);
	put64(&b, 1);
	line(&b, 0x1000, 5, "a.js");
	line(&b, 0x1008, 6, "a.js");
	end(&b);
	load(&b, 10, 0x1000, 0x100, 1, "f");
	tap_int(n_lines_at(&b, 0x1000, &n_bad, &last), 0, "more entries than announced");
	tap_int((long)n_bad, 1, "are counted as bad");
}

int main(void)
{
	by_time();
	lines();
	writers();
	partial();
	limit();
	regions();
	dump();
	odd_dumps();
	odd_lines();
	return tap_done();
}
