/* Only what decides is read: the first line and the header Host.  Whatever is not as browsers write
 * it is refused. */
#include "cmd/report/pagerequest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct span { const char *at; size_t n; };

/* The next line without its end; *text is the rest after it. */
static struct span take_line(struct span *text)
{
	const char *end = memchr(text->at, '\n', text->n);
	struct span line = { text->at, end ? (size_t)(end - text->at) : text->n };
	size_t n_taken = line.n + (end != NULL);
	text->at += n_taken;
	text->n -= n_taken;
	if (line.n && line.at[line.n - 1] == '\r')
		line.n--;
	return line;
}

static bool is_text(struct span s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

/* Takes a word up to a blank. */
static struct span take_word(struct span *line)
{
	const char *blank = memchr(line->at, ' ', line->n);
	struct span word = { line->at, blank ? (size_t)(blank - line->at) : line->n };
	size_t n_taken = word.n + (blank != NULL);
	line->at += n_taken;
	line->n -= n_taken;
	return word;
}

/* Takes as long for a wrong token as for the right one. */
static bool take_token(struct span *path, const char *token)
{
	size_t n = strlen(token);
	unsigned char differs = 0;
	if (path->n < n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(path->at[i] ^ token[i]);
	path->at += n;
	path->n -= n;
	return !differs;
}

static bool is_here(struct span host, unsigned port)
{
	char name[32];
	while (host.n && (*host.at == ' ' || *host.at == '\t'))
		host.at++, host.n--;
	while (host.n && (host.at[host.n - 1] == ' ' || host.at[host.n - 1] == '\t'))
		host.n--;
	snprintf(name, sizeof(name), "127.0.0.1:%u", port);
	if (is_text(host, name))
		return true;
	snprintf(name, sizeof(name), "localhost:%u", port);
	return is_text(host, name);
}

/* One header "Host" with a name of this server. */
static bool has_host(struct span head, unsigned port)
{
	size_t n_hosts = 0;
	bool all_here = true;
	while (head.n) {
		struct span line = take_line(&head);
		if (line.n < 5 || strncasecmp(line.at, "Host:", 5) != 0)
			continue;
		n_hosts++;
		all_here &= is_here((struct span){ line.at + 5, line.n - 5 }, port);
	}
	return n_hosts == 1 && all_here;
}

enum pagerequest pagerequest_parse(const char *text, size_t n, const char *token, unsigned port)
{
	if (!memmem(text, n, "\r\n\r\n", 4))
		return n < PAGEREQUEST_BYTES_MAX ? PAGEREQUEST_MORE : PAGEREQUEST_BAD;
	struct span head = { text, n };
	struct span line = take_line(&head);
	struct span method = take_word(&line), path = take_word(&line);
	if (memchr(text, '\0', n) || path.n == 0 || *path.at != '/' || line.n != 8 ||
	    strncmp(line.at, "HTTP/1.", 7) != 0)
		return PAGEREQUEST_BAD;
	if (!is_text(method, "GET"))
		return PAGEREQUEST_METHOD;
	if (!has_host(head, port))
		return PAGEREQUEST_FORBIDDEN;
	path.at++, path.n--;
	if (!take_token(&path, token))
		return PAGEREQUEST_NONE;
	return is_text(path, "/") ? PAGEREQUEST_PAGE : is_text(path, "/alive") ? PAGEREQUEST_ALIVE
									    : PAGEREQUEST_NONE;
}
