/*
 * unwind [-cp] [-a PERCENT] [-f FILE] [-v N] [-r REPEATS] CAPTURE...
 *
 * Unwinds captured stacks (tests/tools/stackcap) and prints for each capture:
 *   - nanoseconds per frame of cprof with and without the memo, once through the capture ("cold")
 *     and each sample several times in a row ("hot"), and of libdwfl and libunwind;
 *   - how many stacks equal those of libdwfl, or differ for a known reason;
 *   - how stacks ended.
 *
 *   -a  exit status 1 if fewer stacks than that equal libdwfl's or differ for a known reason
 *   -c  also compare with stacks by rules from code alone
 *   -f  time from opening a file to the first rule, and to rules at other places, beside libdw
 *   -p  without the peers
 *   -v  print N differing stacks
 */

#include "tests/bench/unwind.h"

#include "symbolize/cfi/cfi.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* CPU time, because other programs may run. */
static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	const struct bench_map *m;
	if (!bench_find(ctx, pc, &m))
		return false;
	*ret = (struct module){ .cfi = m->file->cfi, .file = m->file->runtime,
		.bias = m->bias, .id = m->file->id };
	return true;
}

/* The same without CFI: all rules come from code. */
static bool find_code(void *ctx, uint64_t pc, struct module *ret)
{
	bool found = find_module(ctx, pc, ret);
	ret->cfi = NULL;
	return found;
}

static size_t read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	const struct bench_map *m;
	if (!bench_find(ctx, pc, &m) || !m->file->cfi)
		return 0;
	return cfi_read_code(m->file->cfi, pc - m->bias, buf, n_bytes);
}

static bool by_code;

static struct unwind *new_unwind(void)
{
	struct unwind_options o = { .arch = &arch_x86_64,
		.find_module = by_code ? find_code : find_module, .read_code = read_code };
	struct unwind *u = unwind_new(&o);
	if (!u)
		abort();
	return u;
}

static uint32_t one(struct unwind *u, const struct bench_sample *s, struct unwind_memo *memo,
		    struct unwind_result *r)
{
	struct unwind_input in = { .regs = &s->regs, .stack = s->stack,
		.n_stack_bytes = s->n_stack_bytes, .ctx = s->space, .space = s->space->serial };
	unwind_stack(u, &in, memo, r);
	return r->n;
}

struct timing { double first, cold, cold_memo, hot; double dwfl, libunwind; };

/* Nanoseconds per frame, the best of several passes. */
static void time_ours(const struct bench_capture *c, int repeats, struct timing *ret)
{
	struct unwind_result r;
	struct unwind_memo *memo = calloc(c->n_threads, sizeof(*memo));
	struct unwind *u = new_unwind();
	*ret = (struct timing){ .cold = 1e9, .cold_memo = 1e9, .hot = 1e9 };
	for (int k = 0; k < repeats; k++) {
		uint64_t n = 0, t = now_ns();
		for (size_t i = 0; i < c->n_samples; i++)
			n += one(u, &c->sample[i], NULL, &r);
		double x = (double)(now_ns() - t) / (double)n;
		if (k == 0)
			ret->first = x;
		ret->cold = x < ret->cold ? x : ret->cold;
		for (size_t i = 0; i < c->n_threads; i++)
			unwind_memo_done(&memo[i]);
		n = 0, t = now_ns();
		for (size_t i = 0; i < c->n_samples; i++)
			n += one(u, &c->sample[i], &memo[c->sample[i].thread], &r);
		x = (double)(now_ns() - t) / (double)n;
		ret->cold_memo = x < ret->cold_memo ? x : ret->cold_memo;
		uint64_t hot = 0;
		n = 0;
		for (size_t i = 0; i < c->n_samples; i += 1 + c->n_samples / 500) {
			one(u, &c->sample[i], NULL, &r);
			t = now_ns();
			for (int j = 0; j < 50; j++)
				n += one(u, &c->sample[i], NULL, &r);
			hot += now_ns() - t;
		}
		x = (double)hot / (double)n;
		ret->hot = x < ret->hot ? x : ret->hot;
	}
	for (size_t i = 0; i < c->n_threads; i++)
		unwind_memo_done(&memo[i]);
	free(memo);
	unwind_free(u);
}

typedef size_t peer(struct bench_capture *, const struct bench_sample *, uint64_t *);

static double time_peer(struct bench_capture *c, peer *f, int repeats)
{
	uint64_t pc[BENCH_DEPTH_MAX];
	double best = 1e9;
	for (int k = 0; k < repeats; k++) {
		uint64_t n = 0, t = now_ns();
		for (size_t i = 0; i < c->n_samples; i++)
			n += f(c, &c->sample[i], pc);
		double x = (double)(now_ns() - t) / (double)n;
		best = x < best ? x : best;
	}
	return best;
}

static void print_pc(const struct bench_sample *s, const char *what, size_t i, uint64_t pc)
{
	const struct bench_map *m;
	if (bench_find(s->space, pc, &m))
		printf("    %s %2zu %s+0x%" PRIx64 "\n", what, i, m->file->path, pc - m->bias);
	else
		printf("    %s %2zu 0x%" PRIx64 "\n", what, i, pc);
}

/*
 * How libdwfl's stack differs from cprof's.  tests/unwind/NOTES.md has examples.
 *
 * LONGER: cprof continues where libdwfl stops, and reaches the root.  This happens in code without
 * CFI, and in epilogues: there the CFI still refers to the slot of a register that was popped; the
 * slot is below the stack pointer and therefore outside the copy, and libdwfl gives up.
 *
 * SKIPS: in code without CFI both use heuristics, libdwfl only the frame pointer.  In a function
 * without a frame that skips its caller; cprof reports the caller, with a call before its return
 * address, and all other frames are the same.
 */
enum compared { SAME, LONGER, SKIPS, DIFFERENT, N_COMPARED };

/* Do the stacks differ only by frames that cprof found from code? */
static bool is_skipping(const struct unwind_result *r, const uint64_t *pc, size_t n)
{
	size_t k = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		if (k < n && pc[k] == r->frame[i].pc)
			k++;
		else if (!(r->frame[i].flags & UNWIND_FRAME_HEURISTIC))
			return false;
	}
	return k == n;
}

static enum compared compare(const struct unwind_result *r, const uint64_t *pc, size_t n)
{
	/* libdwfl reports the return address 0 as a frame */
	while (n && !pc[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (i >= r->n || pc[i] != r->frame[i].pc)
			return r->end == UNWIND_ROOT && is_skipping(r, pc, n) ? SKIPS : DIFFERENT;
	return n == r->n ? SAME : r->end == UNWIND_ROOT ? LONGER : DIFFERENT;
}

struct agreement { double part[N_COMPARED]; };    /* percent */

static struct agreement agree(struct bench_capture *c, int n_verbose)
{
	struct unwind *u = new_unwind();
	struct unwind_result r;
	uint64_t pc[BENCH_DEPTH_MAX];
	size_t n_as[N_COMPARED] = { 0 };
	for (size_t i = 0; i < c->n_samples; i++) {
		const struct bench_sample *s = &c->sample[i];
		one(u, s, NULL, &r);
		size_t n = bench_dwfl(c, s, pc);
		enum compared as = compare(&r, pc, n);
		n_as[as]++;
		if (as == SAME || n_verbose-- <= 0)
			continue;
		printf("  sample %zu: ours %u frames, %s; libdwfl %zu; copy %" PRIu64 "\n", i, r.n,
		       unwind_end_name(r.end), n, s->n_stack_bytes);
		size_t k = 0;
		while (k < n && k < r.n && pc[k] == r.frame[k].pc)
			k++;
		for (size_t j = k ? k - 1 : 0; j < r.n && j < k + 4; j++)
			print_pc(s, "ours", j, r.frame[j].pc);
		for (size_t j = k ? k - 1 : 0; j < n && j < k + 4; j++)
			print_pc(s, "dwfl", j, pc[j]);
	}
	unwind_free(u);
	double n = c->n_samples ? (double)c->n_samples : 1;
	struct agreement a;
	for (int i = 0; i < N_COMPARED; i++)
		a.part[i] = 100 * (double)n_as[i] / n;
	return a;
}

/* Stacks with the memo must equal those without it, except joined ones. */
static void ends(struct bench_capture *c)
{
	struct unwind *u = new_unwind(), *plain = new_unwind();
	struct unwind_memo *memo = calloc(c->n_threads, sizeof(*memo));
	struct unwind_result r, p;
	size_t n_wrong = 0;
	uint64_t n_same = 0;
	for (size_t i = 0; i < c->n_samples; i++) {
		const struct bench_sample *s = &c->sample[i];
		one(u, s, &memo[s->thread], &r);
		one(plain, s, NULL, &p);
		bool wrong = r.n < p.n || r.n - r.n_joined > p.n || (!r.n_joined && r.n != p.n);
		for (uint32_t j = 0; j < r.n - r.n_joined && !wrong; j++)
			wrong = r.frame[j].pc != p.frame[j].pc;
		n_wrong += wrong;
		n_same += r.n_same;
	}
	const struct unwind_stats *st = unwind_stats(u);
	printf("  ends:");
	for (int e = 0; e < UNWIND_N_ENDS; e++)
		if (st->n_end[e])
			printf(" %s %.2f%%,", unwind_end_name(e),
			       100.0 * (double)st->n_end[e] / (double)st->n_stacks);
	printf(" joined %" PRIu64 ", reused %.0f%%, same %.0f%% of frames, guessed %" PRIu64
	       " by code %" PRIu64 ", unusual %" PRIu64 ", misses %.2f%%, searches %" PRIu64
	       ", memo wrong %zu\n",
	       st->n_joined, 100.0 * (double)st->n_reused / (double)st->n_frames,
	       100.0 * (double)n_same / (double)st->n_frames, st->n_guessed, st->n_by_code,
	       st->n_unusual, 100.0 * (double)st->n_misses / (double)st->n_frames, st->n_searches,
	       n_wrong);
	for (size_t i = 0; i < c->n_threads; i++)
		unwind_memo_done(&memo[i]);
	free(memo);
	unwind_free(u);
	unwind_free(plain);
}

/* How many stacks are the same by code alone as by CFI? */
static void agree_code(const struct bench_capture *c, int n_verbose)
{
	struct unwind *with = new_unwind();
	by_code = true;
	struct unwind *without = new_unwind();
	by_code = false;
	struct unwind_result a, b;
	size_t n_same = 0, n_short = 0;
	for (size_t i = 0; i < c->n_samples; i++) {
		const struct bench_sample *s = &c->sample[i];
		one(with, s, NULL, &a);
		one(without, s, NULL, &b);
		uint32_t k = 0;
		while (k < a.n && k < b.n && a.frame[k].pc == b.frame[k].pc)
			k++;
		n_same += k == a.n && k == b.n;
		n_short += k == b.n && k < a.n;
		if (k == b.n || n_verbose-- <= 0)
			continue;
		printf("  sample %zu: CFI %u frames, code %u, %s\n", i, a.n, b.n,
		       unwind_end_name(b.end));
		for (uint32_t j = k ? k - 1 : 0; j < a.n && j < k + 2; j++)
			print_pc(s, "CFI ", j, a.frame[j].pc);
		for (uint32_t j = k ? k - 1 : 0; j < b.n && j < k + 2; j++)
			print_pc(s, "code", j, b.frame[j].pc);
	}
	printf("  by code alone: %.2f%% the same, %.2f%% correct but shorter\n",
	       100.0 * (double)n_same / (double)c->n_samples,
	       100.0 * (double)n_short / (double)c->n_samples);
	unwind_free(with);
	unwind_free(without);
}

/* The time from opening a file to the rule at an address in the middle of its code, and to rules at
 * more addresses; for libdw, to its row at the same first address. */
static void first_contact(const char *path)
{
	const unsigned int n_more = 1000;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_rule rule;
	struct cfi *c;
	uint64_t t = now_ns();
	if (fd < 0 || cfi_open_file(fd, &c) < 0) {
		printf("%s: cannot be opened\n", path);
		return;
	}
	const struct cfi_load *l = c->load;
	while (l < c->load + c->n_loads - 1 && l->vaddr != c->eh_frames.text_vaddr)
		l++;
	uint64_t code = l->vaddr, n_code = l->n_file_bytes;
	cfi_rule_at(c, code + n_code / 2, &rule);
	double first = (double)(now_ns() - t) / 1e3;
	t = now_ns();
	for (uint64_t i = 0; i < n_more; i++)
		cfi_rule_at(c, code + i * 0x9e3779b1u % n_code, &rule);
	double more = (double)(now_ns() - t) / n_more;
	cfi_close(c);
	t = now_ns();
	bool found = bench_dwfl_first(fd, code + n_code / 2);
	printf("%s: first rule after %.0f us, %.0f ns for each of %u more; libdw %.0f us%s\n", path,
	       first, more, n_more, (double)(now_ns() - t) / 1e3, found ? "" : " (found none)");
	close(fd);
}

int main(int argc, char **argv)
{
	bool peers = true, code = false;
	double min_percent = 0;
	unsigned int n_low = 0;
	int n_verbose = 0, repeats = 5;
	for (int c; (c = getopt(argc, argv, "a:cf:pv:r:")) != -1;) {
		switch (c) {
		case 'a': min_percent = atof(optarg); break;
		case 'c': code = true; break;
		case 'f': first_contact(optarg); break;
		case 'p': peers = false; break;
		case 'v': n_verbose = atoi(optarg); break;
		case 'r': repeats = atoi(optarg); break;
		default: return 64;
		}
	}
	printf("%-14s %7s %6s %7s %7s %7s %7s %7s %8s %7s %7s %7s %7s\n", "capture", "samples",
	       "depth", "first", "cold", "memo", "hot", "libdwfl", "libunw", "same", "longer",
	       "skips", "differ");
	for (int i = optind; i < argc; i++) {
		struct bench_capture c;
		struct timing t;
		bench_load(argv[i], &c);
		uint64_t n_frames = 0;
		struct unwind *u = new_unwind();
		for (size_t j = 0; j < c.n_samples; j++) {
			struct unwind_result r;
			n_frames += one(u, &c.sample[j], NULL, &r);
		}
		unwind_free(u);
		time_ours(&c, repeats, &t);
		if (peers) {
			t.dwfl = time_peer(&c, bench_dwfl, 2);
			t.libunwind = time_peer(&c, bench_libunwind, 2);
		}
		const char *name = strrchr(argv[i], '/');
		printf("%-14s %7zu %6.1f %7.1f %7.1f %7.1f %7.1f %7.0f %8.0f",
		       name ? name + 1 : argv[i], c.n_samples,
		       c.n_samples ? (double)n_frames / (double)c.n_samples : 0.0, t.first, t.cold,
		       t.cold_memo, t.hot, t.dwfl, t.libunwind);
		fflush(stdout);
		if (peers) {
			struct agreement a = agree(&c, n_verbose);
			printf(" %6.2f%% %6.2f%% %6.2f%% %6.2f%%", a.part[SAME], a.part[LONGER],
			       a.part[SKIPS], a.part[DIFFERENT]);
			n_low += 100 - a.part[DIFFERENT] < min_percent;
		}
		printf("\n");
		ends(&c);
		if (code)
			agree_code(&c, n_verbose);
	}
	return n_low ? 1 : 0;
}
