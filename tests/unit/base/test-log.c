#include "base/log.h"

#include "tap.h"

#include <stdlib.h>

struct seen {
	int n;
	enum log_level level;
	char text[4096];
};

static void sink(void *ctx, enum log_level level, const char *text)
{
	struct seen *s = ctx;
	s->n++;
	s->level = level;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

int main(void)
{
	struct seen s = { 0 };
	struct log log = { .line = sink, .ctx = &s, .max = LOG_NOTE };
	log_line(&log, LOG_WARN, "lost %d samples", 5);
	tap_ok(s.n == 1 && s.level == LOG_WARN, "a warning is passed on");
	tap_str(s.text, "lost 5 samples", "formatted, without newline");
	log_line(&log, LOG_NOTE, "note");
	tap_ok(s.n == 2 && s.level == LOG_NOTE, "so is a note");
	log_line(&log, LOG_EXPLAIN, "%s", "explanation");
	tap_int(s.n, 2, "an explanation is not");
	log.max = LOG_EXPLAIN;
	log_line(&log, LOG_EXPLAIN, "explanation");
	tap_int(s.n, 3, "unless the level includes it");
	char *text = malloc(10000);
	memset(text, 'a', 9999);
	text[9999] = '\0';
	log_line(&log, LOG_WARN, "%s", text);
	tap_int((long long)strlen(s.text), 2047, "a long line is truncated");
	free(text);
	log_line(NULL, LOG_WARN, "x");
	log_line(&(struct log){ .max = LOG_EXPLAIN }, LOG_WARN, "x");
	tap_int(s.n, 4, "without a function nothing happens");
	return tap_done();
}
