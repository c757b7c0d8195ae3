/* Values of options: what is accepted, and what ends the program as wrong usage. */
#include "cmd/optparse.h"

#include "base/vec.h"
#include "tests/unit/tap.h"

#include <argp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE 64
#define SECOND_NS UINT64_C(1000000000)

static const struct argp no_options;
static struct argp_state state;
static VEC(pid_t) ids;
static VEC(const char *) texts;

static void parse_ids(const char *arg)
{
	optparse_thread_ids(&state, arg, &ids.v, &ids.n, &ids.cap);
}

static void parse_label(const char *arg)
{
	optparse_label(&state, arg, &texts.v, &texts.n, &texts.cap);
}

static void parse_time(const char *arg)
{
	optparse_time(&state, "--last", arg, SECOND_NS, 60 * SECOND_NS);
}

static void parse_size(const char *arg)
{
	optparse_size(&state, "--size", arg);
}

static void parse_number(const char *arg)
{
	optparse_number(&state, "--number", arg, 2, 10);
}

/* The exit status of a child that parses arg; 0 when it is accepted. */
static int status_of(void (*parse)(const char *arg), const char *arg)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		parse(arg);
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_values(void)
{
	tap_ok(optparse_time(&state, "-d", "1.5s", 0, UINT64_MAX) == 1500000000, "a time");
	tap_ok(optparse_time(&state, "-d", "0", 0, UINT64_MAX) == 0, "a time of 0, if allowed");
	tap_ok(optparse_size(&state, "-s", "4K") == 4096, "a size");
	tap_ok(optparse_number(&state, "-n", "10", 2, 10) == 10, "the largest number");
	parse_ids("12,7");
	parse_ids("9");
	tap_ok(ids.n == 3 && ids.v[0] == 12 && ids.v[1] == 7 && ids.v[2] == 9,
	       "lists of ids are appended");
	parse_label("key=a=b");
	tap_ok(texts.n == 1 && strcmp(texts.v[0], "key=a=b") == 0, "a label");
}

static void test_refusals(void)
{
	static const struct {
		void (*parse)(const char *arg);
		const char *arg;
	} wrong[] = {
		{ parse_time, "soon" }, { parse_time, "999ms" }, { parse_time, "61s" },
		{ parse_time, "" }, { parse_size, "0" }, { parse_size, "big" },
		{ parse_size, "-1" }, { parse_number, "1" }, { parse_number, "11" },
		{ parse_number, "x" }, { parse_number, "" }, { parse_ids, "" }, { parse_ids, "0" },
		{ parse_ids, "1,,2" }, { parse_ids, "1," }, { parse_ids, "-1" },
		{ parse_ids, "99999999999" }, { parse_label, "key" }, { parse_label, "=x" },
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		tap_int(status_of(wrong[i].parse, wrong[i].arg), USAGE, wrong[i].arg);
	tap_int(status_of(parse_time, "60s"), 0, "the longest time");
}

int main(void)
{
	argp_err_exit_status = USAGE;
	state = (struct argp_state){
		.root_argp = &no_options, .name = (char *)"test",
		.err_stream = fopen("/dev/null", "w"),
	};
	test_values();
	test_refusals();
	VEC_FREE(&ids);
	VEC_FREE(&texts);
	if (state.err_stream)
		fclose(state.err_stream);
	return tap_done();
}
