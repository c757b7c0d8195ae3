/* A file is read as a whole, and cut into strings in place. */
#include "cmd/agent/keyvalue.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/wholefile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void keyvalue_print(FILE *to, const char *key, const char *value)
{
	fprintf(to, "%s=", key);
	for (const char *p = value; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c < 0x20 || c == 0x7f || c == '%')
			fprintf(to, "%%%02X", c);
		else
			putc(c, to);
	}
	putc('\n', to);
}

void keyvalue_print_u64(FILE *to, const char *key, uint64_t value)
{
	fprintf(to, "%s=%" PRIu64 "\n", key, value);
}

static bool is_key(const char *key)
{
	if (!*key)
		return false;
	for (; *key; key++)
		if (!isascii((unsigned char)*key) ||
		    (!isalnum((unsigned char)*key) && !strchr("._-", *key)))
			return false;
	return true;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10
					      : c >= 'a' && c <= 'f' ? c - 'a' + 10
								     : -1;
}

/* In place; false for a '%' without two digits, and for a NUL. */
static bool unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		from += 2;
	}
	*to = '\0';
	return true;
}

static int parse_line(struct keyvalues *k, char *line)
{
	char *value = strchr(line, '=');
	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (!is_key(line) || !unescape(value))
		return -EINVAL;
	return VEC_PUSH(&k->pair, ((struct keyvalue){ line, value })) ? 0 : -ENOMEM;
}

int keyvalues_parse(const char *text, size_t n_bytes, struct keyvalues *ret)
{
	struct keyvalues k = { .text = malloc(n_bytes + 1) };
	int r = 0;
	if (!k.text)
		return -ENOMEM;
	memcpy(k.text, text, n_bytes);
	k.text[n_bytes] = '\0';
	if (memchr(k.text, '\0', n_bytes))
		r = -EINVAL;
	char *rest = k.text;
	while (r == 0 && *rest) {
		char *line = rest, *end = strchr(line, '\n');
		rest = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		r = parse_line(&k, line);
	}
	if (r < 0)
		keyvalues_done(&k);
	else
		*ret = k;
	return r;
}

int keyvalues_read(int dir_fd, const char *name, struct keyvalues *ret, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;
	CLEANUP_CLOSE int fd = openat(dir_fd, name,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno, "cannot read '%s'", name);
	int r = wholefile_read(fd, name, KEYVALUE_BYTES_MAX, &text, &n, e);
	if (r < 0)
		return r;
	r = keyvalues_parse(text, n, ret);
	return r < 0 ? err_errno(e, -r, "cannot read '%s'", name) : 0;
}

const char *keyvalues_get(const struct keyvalues *k, const char *key)
{
	for (size_t i = 0; i < k->pair.n; i++)
		if (strcmp(k->pair.v[i].key, key) == 0)
			return k->pair.v[i].value;
	return NULL;
}

uint64_t keyvalues_get_u64(const struct keyvalues *k, const char *key)
{
	const char *value = keyvalues_get(k, key);
	uint64_t n = 0;
	return value && units_parse_u64(value, &n) == 0 ? n : 0;
}

void keyvalues_done(struct keyvalues *k)
{
	free(k->text);
	VEC_FREE(&k->pair);
	*k = (struct keyvalues){ 0 };
}
