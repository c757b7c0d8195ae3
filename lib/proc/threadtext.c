#include "proc/threadtext.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fields of "stat" by their numbers in proc(5); the state is the first one after the name. */
#define FIELD_STATE 3
#define FIELD_FLAGS 9
#define FIELD_STACK_START 28            /* 0 or 1 for those who may not trace it */
#define FIELD_CPU 39
#define FLAG_KTHREAD 0x00200000u        /* PF_KTHREAD of include/linux/sched.h */

/* The start of a field, given the text from the state on; NULL: there are fewer. */
static const char *field(const char *from_state, int number)
{
	const char *at = from_state;
	for (int i = FIELD_STATE; i < number; i++) {
		at = strchr(at, ' ');
		if (!at)
			return NULL;
		at++;
	}
	return at;
}

static bool take_number(const char *at, uint64_t *ret)
{
	char *end;
	if (!at || !isdigit((unsigned char)*at))
		return false;
	errno = 0;
	*ret = strtoull(at, &end, 10);
	return errno == 0 && (*end == ' ' || *end == '\n' || !*end);
}

bool threadtext_stat(const char *text, struct threadtext_stat *ret)
{
	const char *from = strchr(text, '('), *to = strrchr(text, ')');
	struct threadtext_stat s = { .cpu = UINT32_MAX };
	uint64_t flags, cpu;
	if (!from || !to || to < from || to[1] != ' ' || !isalpha((unsigned char)to[2]))
		return false;
	size_t n = (size_t)(to - from - 1);
	if (n >= sizeof(s.name))
		n = sizeof(s.name) - 1;
	memcpy(s.name, from + 1, n);
	s.state = to[2];
	if (take_number(field(to + 2, FIELD_FLAGS), &flags))
		s.is_kernel = flags & FLAG_KTHREAD;
	if (take_number(field(to + 2, FIELD_CPU), &cpu) && cpu < UINT32_MAX)
		s.cpu = (uint32_t)cpu;
	if (!take_number(field(to + 2, FIELD_STACK_START), &s.stack_start) || s.stack_start == 1)
		s.stack_start = 0;
	*ret = s;
	return true;
}

/* kernel/sched/debug.c prints times as milliseconds with six decimals. */
static bool take_time(const char *at, uint64_t *ret_ns)
{
	char *end;
	if (!isdigit((unsigned char)*at))
		return false;
	errno = 0;
	unsigned long long ms = strtoull(at, &end, 10), ns = 0;
	if (errno || ms > UINT64_MAX / 2000000 || *end != '.')
		return false;
	for (int i = 1; i <= 6; i++) {
		if (!isdigit((unsigned char)end[i]))
			return false;
		ns = ns * 10 + (unsigned)(end[i] - '0');
	}
	if (end[7] && end[7] != '\n')
		return false;
	*ret_ns = ms * 1000000 + ns;
	return true;
}

bool threadtext_sched(const char *text, uint64_t *ret_exec_start_ns)
{
	static const char key[] = "\nse.exec_start";
	/* The first line has the name, which may look like any other line. */
	const char *rule = strstr(text, "\n---");
	const char *at = rule ? strstr(rule, key) : NULL;
	if (!at)
		return false;
	at += sizeof(key) - 1;
	at += strspn(at, " ");
	if (*at != ':')
		return false;
	at++;
	return take_time(at + strspn(at, " "), ret_exec_start_ns);
}

const char *threadtext_wchan(char *text)
{
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, "0") == 0 ? "" : text;
}

const char *threadtext_state(char state)
{
	switch (state) {
	case 'R': return "running";
	case 'S': return "sleeping";
	case 'D': return "disk sleep";
	case 'T': return "stopped";
	case 't': return "tracing stop";
	case 'Z': return "zombie";
	case 'X': case 'x': return "dead";
	case 'I': return "idle";
	case 'P': return "parked";
	default: return "unknown";
	}
}
