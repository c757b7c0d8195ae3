/*
 * "start-end perms offset maj:min inode   name\n".  A name is free text: it may contain spaces, and
 * only its newlines are escaped, as "\012" (seq_file_path in fs/seq_file.c).  So the name is
 * everything after the blanks that follow the inode number.
 */

#include "source/maps.h"

#include <string.h>
#include <sys/mman.h>

/* Reads a number of at most 16 hex (or 20 decimal) digits and the character after it. */
static bool take_number(char **s, unsigned base, char next, uint64_t *ret)
{
	uint64_t x = 0;
	char *p = *s;
	for (;; p++) {
		unsigned digit;
		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		if (x > (UINT64_MAX - digit) / base)
			return false;
		x = x * base + digit;
	}
	if (p == *s || *p != next)
		return false;
	*s = p + (*p != '\0');
	*ret = x;
	return true;
}

static bool take_perms(char **s, struct maps_entry *m)
{
	const char *p = *s;
	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	m->prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
		  (p[2] == 'x' ? PROT_EXEC : 0);
	m->flags = p[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	*s += 5;
	return true;
}

static void unescape_newlines(char *s)
{
	char *from = strstr(s, "\\012");
	if (!from)
		return;
	char *to = from;
	while (*from) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool parse(char *line, struct maps_entry *m)
{
	uint64_t maj, min;
	if (!take_number(&line, 16, '-', &m->start) || !take_number(&line, 16, ' ', &m->end) ||
	    !take_perms(&line, m) || !take_number(&line, 16, ' ', &m->pgoff) ||
	    !take_number(&line, 16, ':', &maj) || !take_number(&line, 16, ' ', &min))
		return false;
	/* Kernels pad with blanks up to the name; without a name, at most one blank is left. */
	if (!take_number(&line, 10, ' ', &m->ino) && !take_number(&line, 10, '\0', &m->ino))
		return false;
	if (m->start >= m->end || maj > UINT32_MAX || min > UINT32_MAX)
		return false;
	m->maj = (uint32_t)maj;
	m->min = (uint32_t)min;
	m->name = line + strspn(line, " ");
	unescape_newlines(m->name);
	return true;
}

bool maps_next(char **text, struct maps_entry *ret)
{
	while (**text) {
		char *line = *text;
		char *end = strchrnul(line, '\n');
		*text = end + (*end == '\n');
		*end = '\0';
		struct maps_entry m;
		if (parse(line, &m)) {
			*ret = m;
			return true;
		}
	}
	return false;
}
