/*
 * pprof-sample FILE: writes a profile that uses all features: two sample types, three mappings,
 * inlined and recursive functions, a location that is only an address, string and numeric labels,
 * bytes that are not UTF-8.
 */

#include "base/err.h"
#include "proto/outfile.h"
#include "proto/pprof.h"

#include <stdio.h>

static void write_profile(struct pprof *p)
{
	pprof_sample_type(p, "samples", "count");
	pprof_sample_type(p, "cpu", "nanoseconds");
	pprof_default_sample_type(p, "cpu");
	pprof_period(p, "cpu", "nanoseconds", 1000000);
	pprof_times(p, 1700000000000000000, 2500000000);
	pprof_comment(p, "sample profile");
	pprof_comment(p, "thread name with a stray byte: \xff.");

	uint64_t app = pprof_mapping(
		p, &(struct pprof_mapping){ .memory_start = 0x401000,
					    .memory_limit = 0x480000,
					    .file_offset = 0x1000,
					    .filename = "/opt/app/bin/app",
					    .build_id = "0123456789abcdef0123456789abcdef01234567",
					    .has_functions = true,
					    .has_filenames = true,
					    .has_line_numbers = true,
					    .has_inline_frames = true });
	uint64_t lib = pprof_mapping(p, &(struct pprof_mapping){
		.memory_start = 0x26000, .memory_limit = 0x17b000, .file_offset = 0x26000,
		.filename = "/usr/lib/libstripped.so.6", .build_id = "89ab" });
	uint64_t kernel = pprof_mapping(p, &(struct pprof_mapping){
		.memory_start = 0xffffffff81000000, .memory_limit = 0xffffffff82000000,
		.filename = "[kernel.kallsyms]", .has_functions = true });

	uint64_t f_main = pprof_function(p, &(struct pprof_function){
		"main", "main", "/src/app/main.c", 10 });
	uint64_t f_walk = pprof_function(p, &(struct pprof_function){
		"walk(Tree const*)", "_Z4walkPK4Tree", "/src/app/tree.cc", 20 });
	uint64_t f_hash = pprof_function(p, &(struct pprof_function){
		"hash", "hash", "/src/app/hash.h", 5 });
	uint64_t f_mix = pprof_function(p, &(struct pprof_function){
		"mix", "mix", "/src/app/hash.h", 2 });
	uint64_t f_read = pprof_function(p, &(struct pprof_function){
		"ksys_read", "ksys_read", NULL, 0 });

	uint64_t l_main = pprof_location(p, app, 0x401234,
		&(struct pprof_line){ f_main, 14, 3 }, 1, false);
	uint64_t l_walk = pprof_location(p, app, 0x402000,
		&(struct pprof_line){ f_walk, 31, 0 }, 1, false);
	/* walk > hash > mix at one address; the innermost comes first. */
	uint64_t l_mix = pprof_location(p, app, 0x402010, (struct pprof_line[]){
		{ f_mix, 3, 9 }, { f_hash, 6, 2 }, { f_walk, 33, 5 } }, 3, false);
	uint64_t l_stripped = pprof_location(p, lib, 0x30000, NULL, 0, false);
	uint64_t l_read = pprof_location(p, kernel, 0xffffffff81234567,
		&(struct pprof_line){ f_read, 0, 0 }, 1, false);

	const struct pprof_label worker[] = {
		{ .key = "pid", .str = "42" },
		{ .key = "thread_name", .str = "w\xc3\xb6rker \xf0\x9f" },
		{ .key = "request", .num = 4096, .num_unit = "bytes" },
	};
	const struct pprof_label plain[] = { { .key = "pid", .str = "42" } };
	pprof_sample(p, (uint64_t[]){ l_mix, l_walk, l_walk, l_main }, 4,
		     (int64_t[]){ 1200, 1200000000 }, 2, worker, 3);
	pprof_sample(p, (uint64_t[]){ l_walk, l_main }, 2, (int64_t[]){ 250, 250000000 }, 2, plain,
		     1);
	pprof_sample(p, (uint64_t[]){ l_stripped, l_main }, 2, (int64_t[]){ 30, 30000000 }, 2,
		     plain, 1);
	pprof_sample(p, (uint64_t[]){ l_read, l_stripped, l_main }, 3, (int64_t[]){ 7, 7000000 }, 2,
		     plain, 1);
}

int main(int argc, char **argv)
{
	struct outfile f = { .fd = -1 };
	struct pprof *p = NULL;
	struct err e = { 0 };
	if (argc != 2) {
		fprintf(stderr, "usage: pprof-sample FILE\n");
		return 64;
	}
	if (outfile_open(&f, argv[1], &e) < 0 ||
	    pprof_new(outfile_write, &f, 1, &p, &e) < 0)
		goto failed;
	write_profile(p);
	if (pprof_finish(p, &e) < 0 || outfile_commit(&f, 1, &e) < 0)
		goto failed;
	pprof_free(p);
	return 0;
failed:
	fprintf(stderr, "pprof-sample: %s\n", e.what);
	pprof_free(p);
	outfile_abort(&f);
	return 1;
}
