/*
 * Usage: codemap PID < LINES
 *
 * Asks the runtime that process PID runs for the code at addresses, without stopping it.  Each line
 * of the input begins with a hexadecimal address, as those of a perf map do.  Prints for each that
 * has code: its start, size, name and linkage name, separated by tabs.  The version of the runtime
 * goes to stderr.
 */

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

static long read_process(void *ctx, const struct iovec *local, size_t n_local,
			 const struct iovec *remote, size_t n_remote)
{
	ssize_t n = process_vm_readv(*(int *)ctx, local, n_local, remote, n_remote, 0);
	return n < 0 ? -errno : n;
}

/* The runtime of the process: opens its library as c. */
static const struct runtime *find_runtime(int pid, struct cfi **c, uint64_t *bias)
{
	char line[4096], path[64], name[4096];
	uint64_t start, end, off;
	const struct runtime *r = NULL;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	while (f && !r && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s", &start,
			   &end, &off, name) < 4 || off)
			continue;
		r = runtime_of_library(name);
		if (!r || !r->code)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start,
			 end);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || cfi_open_file(fd, c) < 0)
			return NULL;
		*bias = start;          /* libraries begin with the address 0 */
	}
	if (f)
		fclose(f);
	return r;
}

int main(int argc, char **argv)
{
	int pid = argc > 1 ? atoi(argv[1]) : 0;
	struct cfi *c;
	uint64_t bias = 0;
	char line[8192];
	const struct runtime *r = find_runtime(pid, &c, &bias);
	if (!r)
		return fprintf(stderr, "no runtime\n"), 1;
	const struct runtime_memory memory = { read_process, &pid };
	const struct runtime_code_source from = { &arch_x86_64, &memory, c, bias };
	struct runtime_code_program program;
	enum runtime_code_result result = r->code->open(&from, &program);
	if (result != RUNTIME_CODE_OK)
		return fprintf(stderr, "cannot be read: %d, version %s, missing %s\n", result,
			       program.version, program.missing ? program.missing : "nothing"), 1;
	fprintf(stderr, "%s %s\n", r->name, program.version);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t pc = strtoull(line, NULL, 16);
		struct runtime_code code;
		if (!pc || !r->code->find(program.data, &from, pc, &code))
			continue;
		printf("%" PRIx64 "\t%" PRIx64 "\t%s\t%s", code.start, code.n_bytes, code.name,
		       code.linkage ? code.linkage : "");
		struct runtime_call call[RUNTIME_CALLS_MAX];
		size_t n = r->code->calls(program.data, &from, &code, pc + code.n_bytes / 2, call);
		for (size_t i = 0; i < n; i++)
			printf("\t%s (%s:%u)", call[i].name, call[i].file ? call[i].file : "",
			       call[i].line);
		putchar('\n');
		r->code->release(&code);
	}
	r->code->close(program.data);
	cfi_close(c);
	return 0;
}
