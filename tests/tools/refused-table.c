/*
 * The table of tests/cli/record-refused.sh: runs cprof record in a child process for each cell of
 * each row and prints the results.  Reads rows from stdin:
 *
 *	MACHINE|ERRNO...|EVENT...|TARGET...|REGEX[|FIELD]
 *
 * The lists contain words of the tables below, or events in the syntax of -e; `any` means all words
 * of a table.  A regular expression contains no '|'.  MACHINE.keep is the machine's folder.  Prints
 * "ok NAME", "not NAME" followed by lines with "# ", or "miss NAME" for a combination of errno,
 * event and target that is not in any row.
 */
#include "refused.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 30
#define N(a) (sizeof(a) / sizeof(*(a)))

static const struct { const char *name; int number; } errnos[] = {
	{ "EACCES", EACCES }, { "EPERM", EPERM }, { "ENOENT", ENOENT },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "ENODEV", ENODEV }, { "EBUSY", EBUSY },
	{ "EMFILE", EMFILE }, { "ENFILE", ENFILE }, { "EINVAL", EINVAL }, { "E2BIG", E2BIG },
	{ "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC }, { "EINTR", EINTR }, { "ESRCH", ESRCH },
	{ "ENXIO", ENXIO }, { "EOVERFLOW", EOVERFLOW }, { "ENOSYS", ENOSYS },
};

static const struct { const char *name, *event; bool is_member; } events[] = {
	{ "cycles", "cycles" },
	{ "precise", "cycles:ppp" },
	{ "cache", "LLC-loads" },
	{ "raw", "r11" },
	{ "term", "cpu/event=0x11/" },
	{ "uncore", "uncore_imc/event=1/" },
	{ "clock", "cpu-clock" },
	{ "faults", "page-faults" },
	{ "switches", "context-switches" },
	{ "tracepoint", "sched:sched_switch" },
	{ "breakpoint", "mem:0x1000:w" },
	{ "uprobe", NULL },  /* in this program itself */
	{ "member", "{page-faults,cycles}", true },
	{ "default", "" },
};

static const struct { const char *name; const char *args[6]; bool has_command; } targets[] = {
	{ "command", { "--scope", "task" }, true },
	{ "-p", { "--scope", "task", "-p", "PID" } },
	{ "-t", { "--scope", "task", "-t", "PID" } },
	{ "cpu", { "--scope", "cpu" }, true },
};

static bool covered[N(errnos)][N(events)][N(targets)];

struct row {
	const char *machine, *regex, *field;
	/* Compiled once per row: AddressSanitizer keeps freed memory, which each fork copies. */
	regex_t compiled;
	const char *target;   /* the process to attach to */
};

/* Is word in the blank-separated list? */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* ---- one cell ------------------------------------------------------------------- */

static void set_up(const struct row *r, int number, bool is_member)
{
	char text[16];
	snprintf(text, sizeof(text), "%d", number);
	setenv("REFUSED_MACHINE", r->machine, 1);
	setenv("REFUSED_ERRNO", text, 1);
	if (*r->field)
		setenv("REFUSED_FIELD", r->field, 1);
	if (is_member)
		setenv("REFUSED_MEMBERS", "1", 1);
}

/* Runs the cell and stores its output in *out; returns its wait status. */
static int run_child(const struct row *r, int number, const char *event, size_t target,
		     bool is_member, bool checks_leaks, char *out, size_t n_out)
{
	char *argv[20] = { (char *)"cprof", (char *)"record", (char *)"-o",
			   (char *)"refused.pb.gz" };
	int argc = 4, to[2], status = -1;
	if (*event) {
		argv[argc++] = (char *)"-e";
		argv[argc++] = (char *)event;
	}
	for (size_t i = 0; targets[target].args[i]; i++)
		argv[argc++] = strcmp(targets[target].args[i], "PID") == 0
				       ? (char *)r->target : (char *)targets[target].args[i];
	if (targets[target].has_command) {
		argv[argc++] = (char *)"--";
		argv[argc++] = (char *)"touch";
		argv[argc++] = (char *)"started.keep";
	}
	if (pipe(to))
		return -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(to[1], 1);
		dup2(to[1], 2);
		close(to[0]);
		close(to[1]);
		alarm(CHILD_SECONDS);
		set_up(r, number, is_member);
		int code = refused_cprof(argc, argv);
		if (checks_leaks)
			exit(code);
		fflush(NULL);
		_exit(code);
	}
	close(to[1]);
	size_t n = 0;
	for (ssize_t k; n < n_out - 1 && (k = read(to[0], out + n, n_out - 1 - n)) > 0;)
		n += (size_t)k;
	out[n] = '\0';
	close(to[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The problem with an answer; NULL if there is none. */
static const char *judge(const struct row *r, int number, bool is_member, int status, char *out)
{
	static const char open_failed[] = "cprof record: cannot open event '";
	char first[1000];
	/* Notes may precede it, for example why a clock is used. */
	while (strncmp(out, open_failed, sizeof(open_failed) - 1) != 0 && strchr(out, '\n') &&
	       !(is_member && strstr(out, "' does not fit into its group: ")))
		out = strchr(out, '\n') + 1;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(out, "\n"), out);
	for (char *c = out; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	bool said = strncmp(first, open_failed, sizeof(open_failed) - 1) == 0 ||
		    (is_member && strstr(first, "' does not fit into its group: "));
	return status != 1 ? "status 1"
	       : !said ? "what failed"
	       : !strstr(first, strerror(number)) ? "the errno's text"
	       : regexec(&r->compiled, out, 0, NULL, 0) != 0 ? "cause and remedy"
	       : access("started.keep", F_OK) == 0 ? "the command did not start"
	       : access("refused.pb.gz", F_OK) == 0 ? "no file" : NULL;
}

/*
 * The leak sanitizer's check at exit takes 0.1 s, twenty times as long as the cell.  Only the first
 * cell of each errno, and of each event on each target, runs it; the others call _exit().
 */
static bool is_first(size_t err, size_t ev, size_t target)
{
	static bool seen_errno[N(errnos)][N(targets)], seen_event[N(events) + 1][N(targets)];
	bool first = !seen_errno[err][target] || !seen_event[ev][target];
	seen_errno[err][target] = seen_event[ev][target] = true;
	return first;
}

static void cell(const struct row *r, size_t err, size_t ev, const char *event, size_t target)
{
	static char out[8192];
	bool is_member = ev < N(events) && events[ev].is_member;
	int status = run_child(r, errnos[err].number, event, target, is_member,
			       is_first(err, ev, target), out, sizeof(out));
	const char *wrong = judge(r, errnos[err].number, is_member, status, out);
	printf("%s %.*s: %s%s%s, %s, %s%s%s\n", wrong ? "not" : "ok",
	       (int)strcspn(r->machine, "."), r->machine, errnos[err].name,
	       *r->field ? " of " : "", r->field,
	       ev < N(events) ? events[ev].name : event, targets[target].name,
	       wrong ? ": " : "", wrong ? wrong : "");
	if (wrong)
		printf("# '%s'\n# status %d: %s\n", r->regex, status, out);
	remove("started.keep");
	remove("refused.pb.gz");
	/* A row without a field is the cell itself. */
	if (ev < N(events) && !*r->field)
		covered[err][ev][target] = true;
}

/* ---- the table --------------------------------------------------------------------- */

static void row(const struct row *r, char *err_list, char *event_list, char *target_list)
{
	for (size_t err = 0; err < N(errnos); err++) {
		if (!has_word(err_list, errnos[err].name) && strcmp(err_list, "any") != 0)
			continue;
		for (size_t t = 0; t < N(targets); t++) {
			if (!has_word(target_list, targets[t].name) &&
			    strcmp(target_list, "any") != 0)
				continue;
			char copy[256], *rest = copy;
			snprintf(copy, sizeof(copy), "%s", event_list);
			if (strcmp(event_list, "any") == 0)
				copy[0] = '\0';
			for (size_t ev = 0; ev < N(events); ev++)
				if (!copy[0] || has_word(event_list, events[ev].name))
					cell(r, err, ev, events[ev].event ? events[ev].event
									  : getenv("UPROBE"), t);
			for (char *word; (word = strsep(&rest, " "));) {
				size_t ev = 0;
				while (ev < N(events) && strcmp(word, events[ev].name) != 0)
					ev++;
				if (ev == N(events) && *word)
					cell(r, err, ev, word, t);
			}
		}
	}
}

static void show_missing(void)
{
	size_t n = 0;
	for (size_t err = 0; err < N(errnos); err++)
		for (size_t ev = 0; ev < N(events); ev++)
			for (size_t t = 0; t < N(targets); t++, n++)
				if (!covered[err][ev][t])
					printf("miss %s, %s, %s\n", errnos[err].name,
					       events[ev].name, targets[t].name);
	printf("cells %zu\n", n);
}

int refused_table(const char *target)
{
	char line[2000];
	while (fgets(line, sizeof(line), stdin)) {
		char *at = line, *part[6] = { NULL }, machine[1000];
		size_t n = 0;
		line[strcspn(line, "\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		while (n < 5 && (part[n] = strsep(&at, "|")))
			n++;
		if (n < 5) {
			printf("not a row: %s\n", line);
			continue;
		}
		snprintf(machine, sizeof(machine), "%s.keep", part[0]);
		struct row r = { .machine = machine, .regex = part[4], .field = at ? at : "",
				 .target = target };
		if (regcomp(&r.compiled, r.regex, REG_EXTENDED | REG_NOSUB)) {
			printf("not a regular expression: %s\n", r.regex);
			continue;
		}
		row(&r, part[1], part[2], part[3]);
		regfree(&r.compiled);
	}
	show_missing();
	return 0;
}
