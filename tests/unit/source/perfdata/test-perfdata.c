/* Hand-made perf.data: its records, in both byte orders, as a file and as a stream, complete and
 * damaged. */
#include "tests/unit/tap.h"

#include "base/err.h"
#include "source/perfdata/perfdata-zstd.h"
#include "source/perfdata/perfdata.h"
#include "source/record.h"
#include "tests/unit/source/perfdata-build.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FEATURE(n) (UINT64_C(1) << (n))

/* The records of a source, one line each. */
struct got {
	char text[8192];
	size_t n_records, n_samples;
	int code;               /* SOURCE_END, or the failure */
	struct err e;
	struct source_losses losses;
	struct perfdata_counts counts;
};

static int memory_file(const void *data, size_t n_bytes, bool as_stream)
{
	int fd = memfd_create("perfdata", MFD_CLOEXEC);
/* A file that is opened in the middle is read as a stream. */
	if (fd < 0 || (as_stream && write(fd, "", 1) != 1) ||
	    write(fd, data, n_bytes) != (ssize_t)n_bytes || lseek(fd, as_stream, SEEK_SET) < 0) {
		perror("memfd");
		exit(99);
	}
	return fd;
}

static void describe(struct got *g, const struct record *r)
{
	size_t at = strlen(g->text), left = sizeof(g->text) - at;
	char *to = g->text + at;
	const struct record_sample *s = &r->sample;
	int n = snprintf(to, left, "%s event %d time %llu pid %u tid %u cpu %d",
			 record_type_name(r->type), (int)r->event, (unsigned long long)r->time_ns,
			 r->pid, r->tid, (int)r->cpu);
	to += n, left -= (size_t)n;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		n = snprintf(to, left, " ip %llx period %llu chain", (unsigned long long)s->ip,
			     (unsigned long long)s->period);
		for (uint64_t i = 0; i < s->n_callchain; i++)
			n += snprintf(to + n, left - (size_t)n, " %llx",
				      (unsigned long long)s->callchain[i]);
		if (s->user_regs)
			n += snprintf(to + n, left - (size_t)n,
				      " regs %llx %llx stack %llu/%llu %s",
				      (unsigned long long)s->user_regs[0],
				      (unsigned long long)s->user_regs[1],
				      (unsigned long long)s->n_user_stack_bytes,
				      (unsigned long long)s->user_stack_size,
				      (const char *)s->user_stack);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		n = snprintf(to, left, " %llx+%llx@%llx %u:%u %llu.%llu prot %u id %u %s",
			     (unsigned long long)r->mmap.start, (unsigned long long)r->mmap.len,
			     (unsigned long long)r->mmap.pgoff, r->mmap.maj, r->mmap.min,
			     (unsigned long long)r->mmap.ino,
			     (unsigned long long)r->mmap.ino_generation, r->mmap.prot,
			     r->mmap.n_build_id, r->mmap.filename);
		break;
	case PERF_RECORD_COMM:
		n = snprintf(to, left, " %s", r->comm.comm);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		n = snprintf(to, left, " by %u %u", r->fork.ppid, r->fork.ptid);
		break;
	case PERF_RECORD_LOST:
		n = snprintf(to, left, " id %llu lost %llu", (unsigned long long)r->lost.id,
			     (unsigned long long)r->lost.n_lost);
		break;
	case PERF_RECORD_THROTTLE:
		n = snprintf(to, left, " id %llu", (unsigned long long)r->throttle.id);
		break;
	case PERF_RECORD_KSYMBOL:
		n = snprintf(to, left, " %llx+%x %u %u %s", (unsigned long long)r->ksymbol.vaddr,
			     r->ksymbol.n_bytes, r->ksymbol.ksym_type, r->ksymbol.flags,
			     r->ksymbol.name);
		break;
	default:
		n = 0;
		break;
	}
	snprintf(to + n, left - (size_t)n, "\n");
}

/* Opens the source and reads all records; leaves it open if ret_source is given. */
static void read_all(const void *data, size_t n_bytes, bool as_stream, struct got *g,
		     struct source **ret_source)
{
	struct source *s = NULL;
	struct record r;
	*g = (struct got){ 0 };
	int fd = memory_file(data, n_bytes, as_stream);
	g->code = perfdata_open(fd, "x.data", NULL, &s, &g->e);
	if (g->code == 0) {
		while ((g->code = source_next(s, &r, &g->e)) == SOURCE_RECORD) {
			g->n_records++;
			g->n_samples += r.type == PERF_RECORD_SAMPLE;
			if (strlen(g->text) < sizeof(g->text) - 512)
				describe(g, &r);
		}
		struct err again;
		if (source_next(s, &r, &again) != g->code)
			tap_ok(false, "a source repeats its end");
		g->losses = s->losses;
		g->counts = perfdata_info(s)->counts;
	}
	close(fd);
	if (ret_source)
		*ret_source = s;
	else
		source_close(s);
}

/* ---- building -------------------------------------------------------------------- */

#define COMMON (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		PERF_SAMPLE_CPU)

static const struct perf_event_attr two_attrs[2] = {
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_freq = 999,
	  .freq = 1, .sample_id_all = 1, .mmap2 = 1, .inherit = 1,
	  .sample_type = COMMON | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .sample_period = 100003,
	  .sample_id_all = 1, .sample_regs_user = 0x3, .sample_stack_user = 16,
	  .sample_type = COMMON | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER },
};

static void trailer(struct build *b, uint64_t time_ns, uint32_t cpu, uint64_t id)
{
	u32(b, 7), u32(b, 8);
	u64(b, time_ns);
	u32(b, cpu), u32(b, 0);
	u64(b, id);
}

static void sample0(struct build *b, uint64_t time_ns, uint64_t ip)
{
	size_t at = begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	u64(b, 101);
	u64(b, ip);
	u32(b, 7), u32(b, 8);
	u64(b, time_ns);
	u32(b, 1), u32(b, 0);
	u64(b, 1001001);
	u64(b, 3);
	u64(b, (uint64_t)PERF_CONTEXT_USER), u64(b, ip), u64(b, 0x401234);
	end(b, at);
}

static void sample1(struct build *b, uint64_t time_ns)
{
	size_t at = begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	u64(b, 110);
	u64(b, 0x402000);
	u32(b, 7), u32(b, 8);
	u64(b, time_ns);
	u32(b, 0), u32(b, 0);
	u64(b, PERF_SAMPLE_REGS_ABI_64), u64(b, 0x11), u64(b, 0x22);
	u64(b, 16);
	put(b, "stack\0..........", 16);
	u64(b, 8);
	end(b, at);
}

static void mmap2(struct build *b, uint64_t time_ns)
{
	size_t at = begin(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	u32(b, 7), u32(b, 8);
	u64(b, 0x400000), u64(b, 0x3000), u64(b, 0x1000);
	u32(b, 8), u32(b, 1);
	u64(b, 4711), u64(b, 3);
	u32(b, PROT_READ | PROT_EXEC), u32(b, 2);
	name(b, "/usr/bin/thing");
	trailer(b, time_ns, 0, 100);
	end(b, at);
}

static void mark(struct build *b, uint32_t type)
{
	end(b, begin(b, type, 0));
}

/* One record of each type. */
static void records(struct build *b)
{
	size_t at = begin(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	u32(b, UINT32_MAX), u32(b, 0);
	u64(b, 0xffffffff81000000), u64(b, 0x1000000), u64(b, 0xffffffff81000040);
	name(b, "[kernel.kallsyms]_text");
	zeros(b, 32);   /* perf's own records have no time and no id */
	end(b, at);
	at = begin(b, PERF_RECORD_FORK, 0);
	u32(b, 7), u32(b, 6), u32(b, 7), u32(b, 6), u64(b, 10);
	trailer(b, 10, 0, 100);
	end(b, at);
	at = begin(b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	u32(b, 7), u32(b, 8);
	name(b, "thing");
	trailer(b, 20, 0, 100);
	end(b, at);
	mmap2(b, 30);
	at = begin(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1u << 14);
	u32(b, 7), u32(b, 8);
	u64(b, 0x500000), u64(b, 0x3000), u64(b, 0);
	put(b, "\x14\0\0\0abcdefghijklmnopqrst", 24);
	u32(b, PROT_EXEC), u32(b, 2);
	name(b, "/lib/x.so");
	trailer(b, 31, 0, 100);
	end(b, at);
	sample0(b, 40, 0x401000);
	sample1(b, 50);
	at = begin(b, PERF_RECORD_LOST, 0);
	u64(b, 110), u64(b, 12);
	trailer(b, 60, 1, 110);
	end(b, at);
	at = begin(b, PERF_RECORD_THROTTLE, 0);
	u64(b, 61), u64(b, 110), u64(b, 110);
	trailer(b, 61, 1, 110);
	end(b, at);
	at = begin(b, PERF_RECORD_KSYMBOL, 0);
	u64(b, 0xffffffffc0000000), u32(b, 0x80), u16(b, 1), u16(b, 2);
	name(b, "bpf_prog_1");
	trailer(b, 62, 1, 100);
	end(b, at);
	at = begin(b, PERF_RECORD_EXIT, 0);
	u32(b, 7), u32(b, 6), u32(b, 7), u32(b, 6), u64(b, 70);
	trailer(b, 70, 0, 100);
	end(b, at);
}

static const char records_text[] =
	"MMAP event 0 time 0 pid 4294967295 tid 0 cpu 0 ffffffff81000000+1000000@ffffffff81000040 "
	"0:0 0.0 prot 4 id 0 [kernel.kallsyms]_text\n"
	"FORK event 0 time 10 pid 7 tid 7 cpu 0 by 6 6\n"
	"COMM event 0 time 20 pid 7 tid 8 cpu 0 thing\n"
	"MMAP2 event 0 time 30 pid 7 tid 8 cpu 0 400000+3000@1000 8:1 4711.3 prot 5 id 0 "
	"/usr/bin/thing\n"
	"MMAP2 event 0 time 31 pid 7 tid 8 cpu 0 500000+3000@0 0:0 0.0 prot 4 id 20 /lib/x.so\n"
	"SAMPLE event 0 time 40 pid 7 tid 8 cpu 1 ip 401000 period 1001001 chain fffffffffffffe00 "
	"401000 401234\n"
	"SAMPLE event 1 time 50 pid 7 tid 8 cpu 0 ip 402000 period 100003 chain regs 11 22 "
	"stack 8/16 stack\n"
	"LOST event 1 time 60 pid 7 tid 8 cpu 1 id 110 lost 12\n"
	"THROTTLE event 1 time 61 pid 7 tid 8 cpu 1 id 110\n"
	"KSYMBOL event 0 time 62 pid 7 tid 8 cpu 1 ffffffffc0000000+80 1 2 bpf_prog_1\n"
	"EXIT event 0 time 70 pid 7 tid 7 cpu 0 by 6 6\n";

static void put_build_id(struct build *b, uint16_t misc, const char *file)
{
	size_t at = begin(b, 67, misc);
	u32(b, UINT32_MAX);
	put(b, "ABCDEFGHIJKLMNOPQRST\x14\0\0\0", 24);
	name(b, file);
	end(b, at);
}

static void put_event_desc(struct build *b)
{
	static const char *const names[] = { "cpu-clock:u", "instructions" };
	u32(b, 2), u32(b, ATTR_BYTES);
	for (size_t i = 0; i < 2; i++) {
		put_attr(b, &two_attrs[i]);
		u32(b, 2);
		string(b, names[i]);
		u64(b, 100 + 10 * i), u64(b, 101 + 10 * i);
	}
}

#define N_SECTIONS 7
static const unsigned sections[N_SECTIONS] = { 2, 3, 4, 6, 7, 12, 21 };
#define SECTION_BITS (FEATURE(2) | FEATURE(3) | FEATURE(4) | FEATURE(6) | FEATURE(7) | \
		      FEATURE(12) | FEATURE(21))

static void section_body(struct build *b, unsigned feature)
{
	switch (feature) {
	case 2:
		put_build_id(b, PERF_RECORD_MISC_KERNEL | 1u << 15, "[kernel.kallsyms]");
		put_build_id(b, PERF_RECORD_MISC_USER, "/usr/bin/thing");
		break;
	case 3: string(b, "box"); break;
	case 4: string(b, "6.1.0"); break;
	case 6: string(b, "aarch64"); break;
	case 7: u32(b, 8), u32(b, 4); break;
	case 12: put_event_desc(b); break;
	case 21: u64(b, 40), u64(b, 50); break;
	default: break;
	}
}

/* The sections after the data. */
static void put_sections(struct build *b)
{
	size_t table = b->n;
	zeros(b, N_SECTIONS * 16);
	for (size_t i = 0; i < N_SECTIONS; i++) {
		size_t at = b->n;
		section_body(b, sections[i]);
		patch(b, table + i * 16, at);
		patch(b, table + i * 16 + 8, b->n - at);
	}
}

static void whole_file(struct build *b, bool swap)
{
	b->n = 0;
	b->swap = swap;
	begin_file(b, two_attrs, 2);
	records(b);
	finish_data(b, 2, SECTION_BITS);
	put_sections(b);
}

static void whole_stream(struct build *b, bool swap)
{
	b->n = 0;
	b->swap = swap;
	put_magic(b);
	u64(b, 16);
	for (size_t i = 0; i < 2; i++) {
		size_t at = begin(b, 64, 0);
		put_attr(b, &two_attrs[i]);
		u64(b, 100 + 10 * i), u64(b, 101 + 10 * i);
		end(b, at);
	}
	for (size_t i = 0; i < N_SECTIONS; i++) {
		size_t at = begin(b, 80, 0);
		u64(b, sections[i]);
		section_body(b, sections[i]);
		align(b);
		end(b, at);
	}
	records(b);
}

/* ---- tests --------------------------------------------------------------------------- */

static struct build b;
static struct got g;

static void test_facts(const struct source *s, const char *what)
{
	size_t n;
	char text[512];
	const struct perfdata_build_id *id = perfdata_build_id_of(s, "/usr/bin/thing");
	const struct perfdata_kernel_map *map = perfdata_kernel_maps(s, &n);
	snprintf(text, sizeof(text), "%s %s %s %u; %s %s; %llu %llu; %d; %zu %llx",
		 s->facts.hostname, s->facts.kernel_release, s->facts.arch, s->facts.n_cpus,
		 perfdata_event(s, 0)->name, perfdata_event(s, 1)->name,
		 (unsigned long long)perfdata_info(s)->first_sample_ns,
		 (unsigned long long)perfdata_info(s)->last_sample_ns,
		 id && memcmp(id->bytes, "ABCDEFGHIJKLMNOPQRST", 20) == 0 ? id->n_bytes : -1, n,
		 n ? (unsigned long long)map->symbol_vaddr : 0);
	tap_str(text, "box 6.1.0 aarch64 4; cpu-clock:u instructions; 40 50; 20; "
		"1 ffffffff81000040", what);
	perfdata_build_ids(s, &n);
	tap_int((long long)n, 2, "both build ids");
}

static void test_whole(void)
{
	char what[80];
	for (int i = 0; i < 6; i++) {
		bool swap = i & 1, stream = i >= 2;
		struct source *s;
		snprintf(what, sizeof(what), "%s%s, %s byte order", stream ? "a stream" : "a file",
			 i >= 4 ? " that is read, not mapped" : "", swap ? "other" : "own");
		if (stream)
			whole_stream(&b, swap);
		else
			whole_file(&b, swap);
		read_all(b.v, b.n, i >= 4, &g, &s);
		tap_str(g.text, records_text, what);
		tap_int(g.code, SOURCE_END, "and then its end");
		tap_int((long long)(g.losses.n_undecodable + g.losses.n_out_of_order +
				    g.counts.n_bad_features), 0, "no errors");
		if (s)
			test_facts(s, "its facts");
		source_close(s);
	}
}

static void test_order(void)
{
	static const uint64_t times[] = { 50, 70, 40, 60, 0, 90, 65, 110, 80, 0, 105, 100, 120 };
	uint64_t last = 0;
	struct source *s;
	struct record r;
	struct err e;
	bool sorted = true;
	size_t n = 0;
	b.n = 0;
	b.swap = false;
	begin_file(&b, two_attrs, 2);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		if (times[i])
			sample0(&b, times[i], times[i]);
		else
			mark(&b, 68);
	}
	finish_data(&b, 2, 0);
	int fd = memory_file(b.v, b.n, false);
	if (perfdata_open(fd, "x", NULL, &s, &e) < 0)
		exit(99);
	while (source_next(s, &r, &e) == SOURCE_RECORD) {
		sorted &= r.time_ns >= last;
		last = r.time_ns;
		n++;
	}
	tap_ok(sorted && n == 11, "rounds are put into order (%zu records)", n);
	tap_int((long long)s->losses.n_out_of_order, 0, "no record is too late");
	source_close(s);
	close(fd);
}

static void test_no_times(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.config = 0x11,
		.sample_period = 5,
		.sample_type = PERF_SAMPLE_IP,
	};
	b.n = 0;
	begin_file(&b, &attr, 1);
	for (uint64_t ip = 3; ip-- > 0;) {
		size_t at = begin(&b, PERF_RECORD_SAMPLE, 2);
		u64(&b, ip);
		end(&b, at);
	}
	size_t at = begin(&b, PERF_RECORD_FORK, 0);
	u32(&b, 7), u32(&b, 6), u32(&b, 7), u32(&b, 6), u64(&b, 10);
	end(&b, at);
	at = begin(&b, PERF_RECORD_SAMPLE, 2);
	u64(&b, 9);
	end(&b, at);
	finish_data(&b, 1, 0);
	read_all(b.v, b.n, false, &g, NULL);
	tap_str(g.text, "SAMPLE event 0 time 0 pid 0 tid 0 cpu -1 ip 2 period 5 chain\n"
		"SAMPLE event 0 time 0 pid 0 tid 0 cpu -1 ip 1 period 5 chain\n"
		"SAMPLE event 0 time 0 pid 0 tid 0 cpu -1 ip 0 period 5 chain\n"
		"FORK event 0 time 10 pid 7 tid 7 cpu -1 by 6 6\n"
		"SAMPLE event 0 time 0 pid 0 tid 0 cpu -1 ip 9 period 5 chain\n",
		"without times the order of the file is kept");
}

static void group_sample(uint64_t a, uint64_t c)
{
	size_t at = begin(&b, PERF_RECORD_SAMPLE, 2);
	u64(&b, 100), u64(&b, 0x401000);
	u64(&b, 2);
	u64(&b, a), u64(&b, 100);
	u64(&b, c), u64(&b, 110);
	end(&b, at);
}

/* {a,c}:S: the counts since the leader's previous sample. */
static void test_group(void)
{
	struct perf_event_attr attr[2] = {
		{ .type = PERF_TYPE_HARDWARE, .sample_period = 50,
		  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_READ,
		  .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID },
	};
	for (int swap = 0; swap < 2; swap++) {
		b.n = 0;
		b.swap = swap;
		attr[1] = attr[0];
		begin_file(&b, attr, 2);
		group_sample(50, 7);
		group_sample(101, 7);
		group_sample(151, 9);
		finish_data(&b, 2, 0);
		read_all(b.v, b.n, false, &g, NULL);
#define LINE(event, period) "SAMPLE event " event " time 0 pid 0 tid 0 cpu -1 ip 401000 period " \
	period " chain\n"
		tap_str(g.text, LINE("0", "50") LINE("1", "7") LINE("0", "51") LINE("0", "50")
			LINE("1", "2"), "a sample of a group is one of each that has counted");
#undef LINE
	}
	b.swap = false;
}

static void test_skipped(void)
{
	whole_file(&b, false);
	b.n = 0;
	begin_file(&b, two_attrs, 2);
	mark(&b, 82);                            /* FINISHED_INIT */
	size_t at = begin(&b, 200, 0);           /* of a later version */
	zeros(&b, 40);
	end(&b, at);
	at = begin(&b, 71, 0);                   /* AUXTRACE, with its data after it */
	u64(&b, 4096);
	zeros(&b, 32);
	end(&b, at);
	memset(b.v + b.n, 0xff, 4096);
	b.n += 4096;
	at = begin(&b, 40, 0);                   /* of a later kernel */
	zeros(&b, 64);
	end(&b, at);
	sample0(&b, 40, 0x401000);
	at = begin(&b, PERF_RECORD_SAMPLE, 2);   /* of nobody */
	u64(&b, 999);
	zeros(&b, 64);
	end(&b, at);
	at = begin(&b, PERF_RECORD_SAMPLE, 2);   /* contradicts itself */
	u64(&b, 100), u64(&b, 1), u64(&b, 1), u64(&b, 1), u64(&b, 1), u64(&b, 1), u64(&b, 4000);
	end(&b, at);
	sample0(&b, 50, 0x401000);
	finish_data(&b, 2, 0);
	read_all(b.v, b.n, false, &g, NULL);
	tap_int((long long)g.n_samples, 2, "samples between unknown records");
	tap_int(g.code, SOURCE_END, "it is read to its end");
	tap_int((long long)g.counts.n_skipped, 1, "records of perf are skipped and counted");
	tap_int((long long)g.counts.n_aux_bytes, 4096, "hardware traces, too");
	tap_int((long long)g.counts.n_unknown, 2, "and those of unknown type");
	tap_int((long long)g.counts.n_foreign_ids, 1, "and samples of unknown events");
	tap_int((long long)g.losses.n_undecodable, 1, "and those that contradict themselves");
}

/* A zstd frame with one raw block (RFC 8878): compression without a library. */
static void frame(struct build *to, const void *data, size_t n)
{
	static const uint8_t head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20 };
	put(to, head, sizeof(head));
	put(to, &(uint8_t){ (uint8_t)n }, 1);
	uint32_t block = (uint32_t)n << 3 | 1;
	put(to, &block, 3);
	put(to, data, n);
}

static void test_compressed(void)
{
	static struct build inner;
	struct perfdata_zstd *z;
	struct err e;
	inner.n = 0;
	records(&inner);
	sample0(&inner, 100, 0x401000);
	for (int kind = 0; kind < 2; kind++) {
		b.n = 0;
		b.swap = false;
		begin_file(&b, two_attrs, 2);
		for (size_t from = 0, n; from < inner.n; from += n) {
			n = inner.n - from < 101 ? inner.n - from : 101;  /* cuts records */
			size_t at = begin(&b, kind ? 83 : 81, 0);
			size_t size_at = b.n;
			if (kind)
				u64(&b, 0);
			frame(&b, inner.v + from, n);
			if (kind) {
				patch(&b, size_at, b.n - size_at - 8);
				align(&b);
			}
			end(&b, at);
		}
		sample0(&b, 110, 0x401000);      /* not aligned after records of kind 0 */
		finish_data(&b, 2, 0);
		read_all(b.v, b.n, false, &g, NULL);
		if (perfdata_zstd_new(&z, &e) < 0) {
			tap_int(g.code, -ENOTSUP, "without libzstd compressed records are refused");
			tap_ok(strstr(g.e.what, "libzstd"), "and the message says why");
			continue;
		}
		perfdata_zstd_free(z);
		tap_int(g.code, SOURCE_END, kind ? "COMPRESSED2" : "COMPRESSED");
		tap_int((long long)g.n_records, 13, "records split between compressed ones");
		tap_ok(strncmp(g.text, records_text, strlen(records_text)) == 0, "are whole");
		b.v[b.n - 200] ^= 0x55;
		patch(&b, HEADER_BYTES + 2 * (ATTR_BYTES + 32) + 8 + 8 * kind, 0x1234567812345678);
		read_all(b.v, b.n, false, &g, NULL);
		tap_int(g.code, -EINVAL, "damaged compressed data are an error");
		tap_ok(strstr(g.e.what, "offset"), "with its offset");
	}
}

/* Truncated at each byte: never more records than before, and always an error. */
static void test_cut(bool stream, bool swap)
{
	size_t last = 0, n_errors = 0, n_wrong = 0, n_short = 0;
	if (stream)
		whole_stream(&b, swap);
	else
		whole_file(&b, swap);
	/* The mapped file ends where the bytes end, so that a sanitizer sees a read beyond them:
	 * memory_file makes a copy of exactly that size. */
	for (size_t n = 0; n <= b.n; n++) {
		read_all(b.v, n, stream && n % 2, &g, NULL);
		n_wrong += g.n_records < last;
		last = g.n_records;
		n_errors += g.code < 0 && g.e.what[0];
		n_short += strncmp(g.text, records_text, strlen(g.text)) != 0;
	}
	tap_int((long long)last, 11, stream ? "a whole stream" : "a whole file");
	tap_int((long long)n_wrong, 0, "a longer prefix never has fewer records");
	tap_int((long long)n_short, 0, "the records are right");
	if (stream)  /* it may end after any record */
		tap_ok(n_errors >= b.n - 11 - N_SECTIONS - 2 && n_errors <= b.n,
		       "a prefix is an error, unless it ends with a record (%zu of %zu)", n_errors,
		       b.n);
	else
		tap_int((long long)n_errors, (long long)b.n, "every prefix is an error");
}

static void test_flips(void)
{
	size_t n_failed = 0, n_read = 0, n_header = HEADER_BYTES + 2 * (ATTR_BYTES + 32);
	whole_file(&b, false);
	for (size_t bit = 0; bit < n_header * 8; bit++) {
		b.v[bit / 8] ^= (uint8_t)(1u << bit % 8);
		read_all(b.v, b.n, false, &g, NULL);
		b.v[bit / 8] ^= (uint8_t)(1u << bit % 8);
		n_failed += g.code < 0;
		n_read += g.code == SOURCE_END;
	}
	tap_ok(n_failed + n_read == n_header * 8, "each flipped bit of the header has a clear end "
	       "(%zu errors, %zu read)", n_failed, n_read);
	size_t n_all = 0;
	for (size_t bit = n_header * 8; bit < b.n * 8; bit++) {
		b.v[bit / 8] ^= (uint8_t)(1u << bit % 8);
		read_all(b.v, b.n, false, &g, NULL);
		b.v[bit / 8] ^= (uint8_t)(1u << bit % 8);
		n_all += g.n_records > 0;
	}
	tap_ok(n_all > b.n * 4, "flipped bits of data and sections leave records to read (%zu)",
	       n_all);
}

static void refused(const char *what, const char *why)
{
	read_all(b.v, b.n, false, &g, NULL);
	tap_ok(g.code < 0 && strstr(g.e.what, why), "%s: %s", what, g.e.what);
}

static void test_refused(void)
{
	b.n = 0;
	refused("an empty file", "empty");
	put(&b, "hello, world, how are you?", 24);
	refused("a text", "not a perf.data");
	b.n = 0;
	put(&b, "PERFFILE................", 24);
	refused("the first version", "first version");
	whole_file(&b, false);
	patch(&b, 32, 0);
	refused("no attrs", "cannot be read");
	whole_file(&b, false);
	patch(&b, DATA_SECTION_AT + 8, 0);
	read_all(b.v, b.n, false, &g, NULL);
	tap_ok(g.code < 0 && g.n_samples == 2 && strstr(g.e.what, "size of the data"),
	       "perf was killed: its records are read to the end");
	whole_file(&b, false);
	struct source *s = NULL;
	struct err e;
	int fd = memory_file(b.v, b.n, true);
	tap_ok(perfdata_open(fd, "stdin", NULL, &s, &e) == -EINVAL && e.hint[0],
	       "a file through a pipe is refused, with a hint");
	close(fd);
}

int main(void)
{
	test_whole();
	test_order();
	test_no_times();
	test_group();
	test_skipped();
	test_compressed();
	test_cut(false, false);
	test_cut(false, true);
	test_cut(true, false);
	test_cut(true, true);
	test_flips();
	test_refused();
	return tap_done();
}
