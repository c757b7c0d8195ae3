/*
 * cprof doctor: prints the findings of the library's examination, first what does not work, each
 * with its remedies, then what works, one line each.
 */
#include "cmd/cmd.h"

#include "base/err.h"
#include "base/units.h"
#include "cmd/printable.h"
#include "cprof-doctor.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { OPT_JSON = 256 };

struct options {
	pid_t pid;
	bool json;
};

static const struct argp_option option_table[] = {
	{ "pid", 'p', "PID", 0, "Also find out what is possible with this process" },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object" },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	uint64_t pid;
	switch (key) {
	case 'p':
		if (units_parse_u64(arg, &pid) < 0 || pid == 0 || pid > INT32_MAX)
			argp_error(state, "'%s' is not a process id", arg);
		o->pid = (pid_t)pid;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': this command takes no arguments", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Find out which features of cprof work on this machine for this user. For each that "
	       "does not, list the remedies, the weakest first. Nothing is changed.\v"
	       "Exit status: 0 everything works, 1 nothing can be recorded, 2 recording works but "
	       "something is limited, 64 usage.",
};

/* ---- for people ----------------------------------------------------------------- */

static const char *state_name(enum cprof_finding_state state)
{
	static const char *const name[] = {
		[CPROF_FINDING_OK] = "ok", [CPROF_FINDING_LIMITED] = "limited",
		[CPROF_FINDING_NO] = "no",
	};
	return name[state];
}

static void print_finding(const struct cprof_finding *f)
{
	printf("  %-7s  %s: ", state_name(f->state), f->title);
	printable_text(stdout, f->what);
	putchar('\n');
	for (size_t i = 0; i < f->n_remedies; i++) {
		printf("           %s %s: ", i ? "or" : "->",
		       cprof_remedy_kind_name(f->remedy[i].kind));
		printable_text(stdout, f->remedy[i].text);
		putchar('\n');
	}
}

static void print_findings(const struct cprof_doctor *d, bool works, const char *title)
{
	const struct cprof_finding *f;
	bool any = false;
	for (size_t i = 0; (f = cprof_doctor_finding(d, i)); i++) {
		if ((f->state == CPROF_FINDING_OK) != works)
			continue;
		if (!any)
			printf("%s\n", title);
		any = true;
		print_finding(f);
	}
}

static bool has_capability_remedy(const struct cprof_doctor *d)
{
	const struct cprof_finding *f;
	for (size_t i = 0; (f = cprof_doctor_finding(d, i)); i++)
		for (size_t k = 0; k < f->n_remedies; k++)
			if (f->remedy[k].kind == CPROF_REMEDY_CAPABILITY)
				return true;
	return false;
}

static void print_text(const struct cprof_doctor *d, const struct options *o, int status)
{
	struct utsname u;
	if (uname(&u) == 0)
		printf("cprof " CPROF_VERSION " on Linux %s, %s, as user %ld\n", u.release,
		       u.machine, (long)geteuid());
	print_findings(d, false,
		       "\nUnavailable or limited (the least invasive fix first):");
	if (has_capability_remedy(d))
		printf("  (setcap replaces the capabilities of a file: list all that you want in "
		       "one call, separated by commas;\n  only groups named in /etc/cprof.conf "
		       "may use them: see PRIVILEGES in cprof(1))\n");
	print_findings(d, true, "\nWorks:");
	printf("\n%s\n", status == 0 ? "Everything works."
			 : status == CMD_LOSSES ? "Recording works, within these limits."
			 : o->pid ? "This process cannot be recorded."
				  : "Nothing can be recorded.");
}

/* ---- for programs ---------------------------------------------------------------- */

static void print_json(const struct cprof_doctor *d, int status)
{
	const struct cprof_finding *f;
	printf("{\"version\": \"" CPROF_VERSION "\", \"status\": %d, \"findings\": [", status);
	for (size_t i = 0; (f = cprof_doctor_finding(d, i)); i++) {
		printf("%s\n  {\"group\": \"%s\", \"id\": \"%s\", \"state\": \"%s\", "
		       "\"essential\": %s, \"title\": ", i ? "," : "", f->group, f->id,
		       state_name(f->state), f->essential ? "true" : "false");
		printable_json(stdout, f->title);
		printf(", \"what\": ");
		printable_json(stdout, f->what);
		printf(", \"remedies\": [");
		for (size_t k = 0; k < f->n_remedies; k++) {
			printf("%s{\"kind\": \"%s\", \"text\": ", k ? ", " : "",
			       cprof_remedy_kind_name(f->remedy[k].kind));
			printable_json(stdout, f->remedy[k].text);
			putchar('}');
		}
		printf("]}");
	}
	printf("]}\n");
}

/* ---- run --------------------------------------------------------------------------- */

static int status_of(const struct cprof_doctor *d)
{
	const struct cprof_finding *f;
	int status = 0;
	for (size_t i = 0; (f = cprof_doctor_finding(d, i)); i++) {
		if (f->state != CPROF_FINDING_OK && status == 0)
			status = CMD_LOSSES;
		if (f->state == CPROF_FINDING_NO && f->essential)
			return CMD_FAILED;
	}
	return status;
}

static int run_doctor(int argc, char **argv)
{
	struct options o = { 0, false };
	struct err e = { 0 };
	char program[1024];
	struct cprof_doctor *d;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	struct cprof_doctor_options options = {
		.pid = o.pid, .program = n > 0 ? program : NULL,
	};
	if (cprof_doctor_new(&options, &d, &e) < 0)
		return cmd_fail("doctor", &e);
	int status = status_of(d);
	if (o.json)
		print_json(d, status);
	else
		print_text(d, &o, status);
	cprof_doctor_free(d);
	if (fflush(stdout) || ferror(stdout)) {
		perror("cprof doctor: cannot write");
		return CMD_FAILED;
	}
	return status;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.help = "find out what works here, and how to fix what does not",
	.argp = &argp,
	.run = run_doctor,
	.is_recording = true,
};
