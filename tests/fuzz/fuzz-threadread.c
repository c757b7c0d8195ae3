/* Text as in the files "syscall", "stat", "schedstat", "sched" and "wchan" of a thread in /proc. */

#include "proc/threadread.h"
#include "proc/threadtext.h"

#include "base/err.h"
#include "base/host.h"
#include "source/record.h"

#include "fuzzdir.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES 6000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct host host;

/* Process 7 and its thread 7, which has the same text in all three files. */
static void make_machine(void)
{
	static const char memory[MEMORY_BYTES] = "stack";
	char proc[256], text[256];
	struct err e;
	if (fuzzdir[0])
		return;
	fuzzdir_make("/dev/shm");
	fuzzdir_folder("proc");
	fuzzdir_folder("proc/7");
	fuzzdir_folder("proc/7/task");
	fuzzdir_folder("proc/7/task/7");
	fuzzdir_put("proc/7/mem", bytes_of(memory, sizeof(memory)));
	fuzzdir_put("proc/7/text", bytes_of("", 0));
	snprintf(text, sizeof(text), "%s", fuzzdir_path("proc/7/text"));
	fuzzdir_check(link(text, fuzzdir_path("proc/7/task/7/syscall")) == 0);
	fuzzdir_check(link(text, fuzzdir_path("proc/7/task/7/stat")) == 0);
	fuzzdir_check(link(text, fuzzdir_path("proc/7/task/7/schedstat")) == 0);
	snprintf(proc, sizeof(proc), "%s", fuzzdir_path("proc"));
	fuzzdir_check(host_open(&host, NULL, proc, NULL, &e) == 0);
}

static void look(const uint8_t *data, size_t size)
{
	static struct threadread t;
	struct callregs_numbers regs = { .sp = size & 1 ? 31 : 7, .pc = size & 1 ? 32 : 3 };
	struct threadread_times times;
	struct record r;
	make_machine();
	fuzzdir_put("proc/7/text", bytes_of(data, size));
	t.has_records = size & 2;
	int code = threadread_look(&host, 7, 7, &regs, &t, &r);
	if (code == 0 && t.is_waiting) {
		assert(r.sample.n_user_stack_bytes <= sizeof(t.stack));
		assert(!r.sample.n_user_stack_bytes == !r.sample.user_stack);
		assert(r.sample.ip == t.reg[regs.pc > regs.sp]);
	}
	times.n_runs = UINT64_MAX;
	if (threadread_times(&host, 7, 7, &t, &times) < 0)
		assert(times.n_runs == UINT64_MAX);
	if (size % 4 == 0)
		threadread_close(&t);
}

/* What a snapshot shows of a thread.  Changes the text. */
static void parse_details(char *text)
{
	struct threadtext_stat stat = { .cpu = 7 };
	uint64_t ns = 7;
	if (threadtext_stat(text, &stat))
		assert(strlen(stat.name) < sizeof(stat.name) && stat.state);
	else
		assert(stat.cpu == 7 && !stat.state);
	if (!threadtext_sched(text, &ns))
		assert(ns == 7);
	size_t n = strlen(text);
	assert(strlen(threadtext_wchan(text)) <= n && !strchr(text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct threadread_call call = { .syscall = -7 };
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (threadread_parse(text, &call))
		assert(call.syscall >= -1);
	else
		assert(call.syscall == -7 && !call.arg[0] && !call.sp);
	char state = threadread_state(text);
	assert(!state || memchr(text, state, size));
	struct threadread_times times = { .n_runs = UINT64_MAX };
	if (!threadread_parse_times(text, &times))
		assert(times.n_runs == UINT64_MAX && !times.run_ns);
	parse_details(text);
	free(text);
	look(data, size);
	return 0;
}
