/*
 * Nanoseconds per operation on each sample in the steady state: decoding it, and looking up its
 * frames, stack and count, which all exist already.
 *
 *	agg [depth [distinct stacks]]
 */

#include "agg/counts.h"
#include "agg/frames.h"
#include "agg/stacks.h"
#include "source/merge.h"
#include "source/record.h"
#include "source/ring.h"
#include "tests/unit/source/record-build.h"
#include "tests/unit/source/sim-ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH_MAX 127u
#define DSO_OF(pc) ((uint32_t)((pc) >> 32))

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* A chain whose outer two thirds are shared by 16 stacks, as in real programs. */
static void make_chain(uint64_t *chain, unsigned depth, unsigned stack)
{
	for (unsigned i = 0; i < depth; i++) {
		unsigned branch = i < depth / 3 ? stack : stack / 16;
		chain[i] = (uint64_t)(1 + i % 3) << 32 | (branch * 131u + i) % 5000 * 16;
	}
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 25;
	unsigned n_stacks = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	if (!depth || depth > DEPTH_MAX || !n_stacks || n_stacks > 1000000) {
		fprintf(stderr, "usage: agg [depth up to %u [distinct stacks]]\n", DEPTH_MAX);
		return 64;
	}
	struct record_format format = record_build_format();
	struct record_build b = { 0 };
	uint64_t chain[DEPTH_MAX];
	for (unsigned i = 0; i < n_stacks; i++) {
		struct record_build_id id = { .pid = 1, .tid = 1, .time_ns = i, .id = 1 };
		make_chain(chain, depth, i);
		record_build_sample(&b, &id, PERF_RECORD_MISC_USER, chain[0], 1, chain, depth);
	}
	size_t n_record_bytes = b.n_bytes / n_stacks;

	struct frames frames;
	struct stacks stacks;
	struct counts counts;
	uint32_t *frame = calloc((size_t)n_stacks * depth, sizeof(*frame));
	uint32_t *stack = calloc(n_stacks, sizeof(*stack));
	if (!frame || !stack || frames_init(&frames, NULL) < 0 || stacks_init(&stacks, NULL) < 0 ||
	    counts_init(&counts, NULL) < 0)
		return 1;
	double best[5] = { 1e18, 1e18, 1e18, 1e18, 1e18 };
	uint64_t sum = 0;
	for (int round = 0; round < 20; round++) {
		struct record r;
		uint64_t time_ns;
		double t0 = now_ns();
		for (unsigned i = 0; i < n_stacks; i++)
			if (record_decode(&format, b.v + i * n_record_bytes, n_record_bytes, &r) ==
			    RECORD_OK)
				sum += r.sample.ip;
		double t1 = now_ns();
		for (unsigned i = 0; i < n_stacks; i++)
			if (record_peek_time(&format, b.v + i * n_record_bytes, n_record_bytes,
					     &time_ns))
				sum += time_ns;
		double t2 = now_ns();
		for (unsigned i = 0; i < n_stacks; i++) {
			record_decode(&format, b.v + i * n_record_bytes, n_record_bytes, &r);
			for (unsigned k = 0; k < depth; k++)
				frame[i * depth + k] = frames_add(&frames,
								  DSO_OF(r.sample.callchain[k]),
								  r.sample.callchain[k], false);
		}
		double t3 = now_ns();
		for (unsigned i = 0; i < n_stacks; i++) {
			stack[i] = STACKS_EMPTY;
			for (unsigned k = depth; k-- > 0;)
				stack[i] = stacks_add(&stacks, stack[i], frame[i * depth + k],
						      false);
		}
		double t4 = now_ns();
		for (unsigned i = 0; i < n_stacks; i++)
			counts_add(&counts, 0, stack[i], 0, 1, 1, false);
		double t5 = now_ns();
		if (!round)
			continue; /* the first round creates the entries */
		best[0] = least(best[0], (t1 - t0) / n_stacks);
		best[1] = least(best[1], (t2 - t1) / n_stacks);
		best[2] = least(best[2], (t3 - t2) / n_stacks / depth);
		best[3] = least(best[3], (t4 - t3) / n_stacks / depth);
		best[4] = least(best[4], (t5 - t4) / n_stacks);
	}

	/* Two rings that alternate, half a ring at a time. */
	struct sim_ring sim[2];
	struct ring ring[2], *rings[2] = { &ring[0], &ring[1] };
	struct round in;
	struct merge m;
	double merge_ns = 1e18;
	for (int i = 0; i < 2; i++) {
		sim_ring_init(&sim[i], 1 << 20);
		if (ring_open_memory(&ring[i], sim[i].control, 1 << 20) < 0)
			return 1;
	}
	if (round_init(&in, &format, rings, 2) < 0 || merge_init(&m, &in) < 0)
		return 1;
	for (int round = 0; round < 20; round++) {
		unsigned n = 0;
		for (; n < n_stacks && (n + 1) * n_record_bytes < 1 << 20; n++) {
			sim_ring_write(&sim[n & 1], b.v + n * n_record_bytes, n_record_bytes);
			sim_ring_publish(&sim[n & 1]);
		}
		size_t n_bytes, which;
		double t0 = now_ns();
		while (merge_next(&m, &n_bytes, &which))
			sum += n_bytes;
		merge_ns = least(merge_ns, (now_ns() - t0) / n);
	}
	printf("depth %u, %u samples, %u frames, %u stacks (sum %llu)\n", depth, n_stacks, frames.n,
	       stacks.n, (unsigned long long)sum);
	printf("decode      %6.1f ns per sample\n", best[0]);
	printf("peek time   %6.1f ns per sample\n", best[1]);
	printf("frames_add  %6.1f ns per frame, decoding included\n", best[2]);
	printf("stacks_add  %6.1f ns per frame\n", best[3]);
	printf("counts_add  %6.1f ns per sample\n", best[4]);
	printf("merge_next  %6.1f ns per record, two rings\n", merge_ns);
	return 0;
}
