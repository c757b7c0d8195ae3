/* What cprof top prints, for sizes and names of all kinds. */

#include "base/err.h"
#include "cmd/top/top-view.h"
#include "tests/unit/tap.h"
#include "tests/unit/view/profile-build.h"

#include <errno.h>
#include <locale.h>
#include <wchar.h>

static struct err e;

/* One refresh; the lines have the syntax of profile-build.h. */
static void add(struct top_tally *t, const char *const *line, size_t n)
{
	struct build b;
	build_profile(&b, "samples/count cpu/nanoseconds", line, n);
	struct top_tally_part part = { malloc(b.sink.bytes.n), b.sink.bytes.n };
	memcpy(part.data, b.sink.bytes.v, part.n_bytes);
	if (top_tally_add(t, part, 1000000000, &e) < 0) {
		printf("# %s\n", e.what);
		abort();
	}
	build_done(&b);
}
#define ADD(t, ...) \
	do { \
		const char *const line_[] = { __VA_ARGS__ }; \
		add(t, line_, sizeof(line_) / sizeof(*line_)); \
	} while (0)

static char *show(const struct top_tally *t, struct top_view *v, struct term term, int height,
		  size_t limit)
{
	struct top_tally_table functions = { 0 }, threads = { 0 }, locks = { 0 };
	char *text = NULL;
	size_t n = 0;
	v->tally = t;
	v->event = "cpu-clock";
	v->unit = "nanoseconds";
	v->freq_hz = 999;
	if (!v->target)
		v->target = "PID 12";
	top_tables_functions(t, v->thread, v->order, &functions, &e);
	top_tables_threads(t, &threads, &e);
	top_tables_locks(t, v->thread, &locks, &e);
	v->functions = &functions;
	v->locks = &locks;
	v->threads = &threads;
	term.out = open_memstream(&text, &n);
	top_view_print(v, &term, height, limit);
	fclose(term.out);
	VEC_FREE(&functions.rows);
	VEC_FREE(&threads.rows);
	VEC_FREE(&locks.rows);
	return text;
}

/* The columns of the widest line without its escape sequences; *ret_lines: the number of lines. */
static int widest(const char *text, int *ret_lines)
{
	int most = 0, here = 0;
	*ret_lines = 0;
	mbstate_t state = { 0 };
	for (const char *p = text; *p;) {
		wchar_t c;
		if (*p == '\033') {
			p += strcspn(p, "m") + 1;
			continue;
		}
		size_t n = mbrtowc(&c, p, MB_CUR_MAX, &state);
		if (n == (size_t)-1 || n == (size_t)-2) {
			c = '?';
			n = 1;
			memset(&state, 0, sizeof(state));
		}
		p += n;
		if (c == '\n') {
			(*ret_lines)++;
			most = here > most ? here : most;
			here = 0;
		} else {
			here += wcwidth(c) > 0 ? wcwidth(c) : 0;
		}
	}
	return most;
}

/* The line that contains a text. */
static const char *line_with(const char *text, const char *what)
{
	static char line[1024];
	const char *at = strstr(text, what);
	if (!at)
		return "";
	while (at > text && at[-1] != '\n')
		at--;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

static bool ends_with(const char *line, const char *end)
{
	size_t n = strlen(line), m = strlen(end);
	return n >= m && strcmp(line + n - m, end) == 0;
}

static void test_numbers(void)
{
	struct top_tally t;
	struct top_view v = { .thread = TOP_TALLY_ALL, .losses = { .n_samples = 30, .n_lost = 7 } };
	struct term plain = { 0 };
	top_tally_init(&t, 2, &e);
	char *text = show(&t, &v, plain, 0, 0);
	tap_ok(strstr(text, "no samples yet") != NULL, "without samples it says so");
	free(text);
	ADD(&t, "6,6000000 leaf mid root ; tid=11 thread_name=one",
	    "2,2000000 mid root ; tid=12 thread_name=two");
	ADD(&t, "2,2000000 other root ; tid=12 thread_name=two");
	ADD(&t, "10,10000000 other other root ; tid=12 thread_name=new");
	text = show(&t, &v, plain, 0, 0);
	tap_ok(strstr(text, "samples 30  own CPU 0.0%  lost 7 ") != NULL, "counters of losses");
	tap_str(line_with(text, "  leaf"),
		"      0%       0%  |   30.00%   30.00%       6ms  leaf",
		"what left the window still counts since the start");
	tap_str(line_with(text, "  other"),
		"    100%     100%  |   60.00%   60.00%      12ms  other",
		"the window is the last two refreshes; a recursive function counts once");
	tap_str(line_with(text, "  mid"),
		"      0%       0%  |   10.00%   40.00%       2ms  mid", "flat and cum");
	tap_ok(strstr(text, "  100%  70.00%       12  new"), "a thread, by its newest name");
	tap_ok(strstr(text, "other") < strstr(text, "mid"), "sorted by the window");
	free(text);
	v.order = TOP_TALLY_CUM;
	text = show(&t, &v, plain, 0, 1);
	tap_ok(strstr(text, "root") && !strstr(text, "leaf"), "by cum since the start; a limit");
	free(text);
	v.thread = 0;
	text = show(&t, &v, plain, 0, 0);
	tap_str(line_with(text, "  leaf"),
		"      0%       0%  |     100%     100%       6ms  leaf", "one thread's shares");
	tap_ok(!strstr(text, "other") && strstr(text, ">    0%"), "other threads are left out");
	free(text);
	top_tally_done(&t);
}

static void test_sizes(void)
{
	struct top_tally t;
	static const int widths[] = { 1, 2, 10, 39, 40, 80, 200 };
	static const int heights[] = { 1, 2, 3, 7, 8, 24, 60 };
	top_tally_init(&t, 10, &e);
	ADD(&t, "1,1000000 a_rather_long_name_of_a_function_that_does_not_fit_anywhere_at_all b ; "
	    "tid=1 thread_name=x", "1,1 f0", "1,1 f1", "1,1 f2", "1,1 f3", "1,1 f4", "1,1 f5",
	    "1,1 \u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57 b");
	bool fits = true, fills = true;
	for (int help = 0; help < 2; help++) {
		for (size_t w = 0; w < 7; w++) {
			for (size_t h = 0; h < 7; h++) {
				struct top_view v = { .thread = TOP_TALLY_ALL, .wants_help = help };
				struct term term = { .is_terminal = true, .has_color = true,
						     .has_utf8 = true, .width = widths[w] };
				int lines;
				char *text = show(&t, &v, term, heights[h], 0);
				int most = widest(text, &lines);
				if (most > widths[w] || lines != heights[h])
					printf("# %dx%d: %d columns, %d lines\n", widths[w],
					       heights[h], most, lines);
				fits &= most <= widths[w];
				fills &= lines == heights[h];
				free(text);
			}
		}
	}
	tap_ok(fits, "no line is wider than the screen");
	tap_ok(fills, "exactly all lines of the screen are used");
	struct top_view v = { .thread = TOP_TALLY_ALL };
	struct term term = { .is_terminal = true, .has_utf8 = true, .width = 80 };
	char *text = show(&t, &v, term, 24, 0);
	tap_ok(strstr(text, "\u2026") != NULL, "a name that is cut has an ellipsis");
	tap_ok(!strchr(text, '\033'), "without colours there is no escape sequence");
	tap_ok(ends_with(text, "h help\n"), "the last line shows the keys");
	tap_ok(strstr(text, "  own CPU 0.0%  lost 0"), "own CPU time is seen on a narrow screen");
	free(text);
	v.first = 3;
	v.message = "wrote 'x'";
	text = show(&t, &v, term, 24, 0);
	tap_ok(!strstr(text, "a_rather"), "scrolling removes the first functions");
	tap_ok(ends_with(text, "wrote 'x'\n"), "a message replaces the keys");
	free(text);
	top_tally_done(&t);
}

static void test_hostile(void)
{
	struct top_tally t;
	struct top_view v = { .thread = TOP_TALLY_ALL, .target = "x\033]0;evil\007" };
	struct term term = { .is_terminal = true, .has_utf8 = true, .width = 80 };
	top_tally_init(&t, 10, &e);
	ADD(&t, "1,1 a\033[2Jb\r\177c\302\233 ; tid=1 thread_name=\033[31mred\tx",
	    "1,1 \303\244\xff\xfe");
	char *text = show(&t, &v, term, 24, 0);
	tap_ok(!strpbrk(text, "\033\007\r\177\t"), "control characters of names are not printed");
	tap_ok(!strstr(text, "\302\233"), "nor are those beyond ASCII");
	tap_ok(strstr(text, "a?[2Jb??c?") && strstr(text, "x?]0;evil?"), "each becomes a '?'");
	tap_ok(strstr(text, "\303\244\357\277\275\357\277\275") != NULL,
	       "bytes that are not UTF-8 are replaced");
	free(text);
	term.has_utf8 = false;
	text = show(&t, &v, term, 24, 0);
	bool ascii = true;
	for (const char *p = text; *p; p++)
		ascii &= (unsigned char)*p < 0x80;
	tap_ok(ascii, "without UTF-8 everything is ASCII");
	free(text);
	top_tally_done(&t);
}

struct sum { int64_t value; uint32_t n; };

/* Reads back what top_tally_write() writes. */
static struct sum written(const struct top_tally *t, uint32_t thread)
{
	struct sink sink = { 0 };
	struct sum s = { 0 };
	struct model *m = NULL;
	if (top_tally_write(t, thread, "note", sink_write, &sink, &e) == 0 &&
	    model_read(sink.bytes.v, sink.bytes.n, &m, &e) == 0)
		for (s.n = 0; s.n < m->n_samples; s.n++)
			s.value += model_value(m, s.n, 1);
	if (!m)
		printf("# %s\n", e.what);
	model_free(m);
	VEC_FREE(&sink.bytes);
	return s;
}

static void test_profile(void)
{
	struct top_tally t;
	struct sink sink = { 0 };
	top_tally_init(&t, 2, &e);
	tap_int(top_tally_write(&t, TOP_TALLY_ALL, "", sink_write, &sink, &e), -ENODATA,
		"without samples there is no profile");
	for (int i = 0; i < 100; i++)
		ADD(&t, "1,3 leaf root ; tid=1 thread_name=a",
		    "1,5 other root ; tid=2 thread_name=b");
	struct sum all = written(&t, TOP_TALLY_ALL), one = written(&t, 1);
	tap_ok(all.value == 800 && all.n == 2, "a hundred refreshes are one profile");
	tap_ok(one.value == 500 && one.n == 1, "one thread of it");
	tap_ok(t.older.n < 40, "old profiles are merged");
	top_tally_clear(&t);
	tap_int(top_tally_write(&t, TOP_TALLY_ALL, "", sink_write, &sink, &e), -ENODATA,
		"after a reset nothing is left");
	VEC_FREE(&sink.bytes);
	top_tally_done(&t);
}

/* Waits: states, and idle threads that a key shows. */
static void test_waits(void)
{
	struct top_tally t;
	struct top_tally_table states = { 0 };
	struct term plain = { 0 };
	struct top_view v = { .thread = TOP_TALLY_ALL, .is_waiting = true };
	top_tally_init(&t, 10, &e);
	ADD(&t, "1,1500000000 [[kernel.kallsyms]] fetch ; tid=1 state=blocked",
	    "1,500000000 compute ; tid=1 state=running",
	    "1,4000000000 [[kernel.kallsyms]] worker ; tid=2 state=blocked idle=pool");
	top_tables_states(&t, TOP_TALLY_ALL, &states, &e);
	tap_ok(states.rows.n == 2 && states.last_sum == 2000000000, "idle time is in no state");
	tap_int(top_tables_idle(&t, TOP_TALLY_ALL), 4000000000, "but known");
	v.states = &states;
	char *text = show(&t, &v, plain, 0, 0);
	tap_ok(strstr(text, "\n2.00 threads: blocked 75.00%, running 25.00%; "
			    "idle: 4.00 threads, hidden (i)\n") != NULL, "a line says both");
	tap_ok(strstr(text, "  fetch\n") && strstr(text, "75.00%   75.00%") &&
	       !strstr(text, "worker"), "shares are without idle threads");
	tap_ok(!strstr(text, "999"), "waits have no rate");
	free(text);
	VEC_FREE(&states.rows);
	t.shows_idle = true;
	top_tables_states(&t, TOP_TALLY_ALL, &states, &e);
	text = show(&t, &v, plain, 0, 0);
	tap_ok(strstr(text, "\n6.00 threads: blocked 91.67%, running 8.33%; "
			    "idle: 4.00 threads, included (i)\n") && strstr(text, "  worker\n"),
	       "the key shows them");
	free(text);
	VEC_FREE(&states.rows);
	top_tally_done(&t);
}

/* Locks: the most contended one first, with those who hold it and wait for it. */
static void test_locks(void)
{
	struct top_tally t;
	struct term plain = { 0 };
	struct top_view v = { .thread = TOP_TALLY_ALL, .is_waiting = true };
	top_tally_init(&t, 1, &e);
	ADD(&t, "1,9000000000 wait ; tid=1 thread_name=one state=blocked lock=old holder=x/5");
	ADD(&t, "1,1000000000 wait ; tid=1 thread_name=one state=blocked lock=few",
	    "1,2000000000 wait ; tid=1 thread_name=one state=blocked lock=many holder=a/7",
	    "1,1000000000 wait ; tid=2 thread_name=two state=blocked lock=many holder=b/8",
	    "1,5000000000 wait ; tid=3 thread_name=three state=blocked idle=pool lock=many",
	    "1,1000000000 wait ; tid=2 thread_name=two state=blocked");
	char *text = show(&t, &v, plain, 0, 0);
	tap_ok(strstr(text, "  LOCK  (3 of 3)\n 75.00%  23.08%  many  held by a/7, 2 threads wait, "
			    "mostly one/1\n") != NULL, "first the lock most waited for");
	tap_ok(strstr(text, " 25.00%   7.69%  few  held by ?, 1 thread waits, mostly one/1\n") &&
	       strstr(text, "     0%  69.23%  old  held by x/5"), "and the others");
	free(text);
	text = show(&t, &v, plain, 10, 0);
	tap_ok(!strstr(text, "  LOCK  "), "a small screen belongs to the functions");
	free(text);
	v.thread = 1;
	text = show(&t, &v, plain, 0, 0);
	tap_ok(strstr(text, "  LOCK  (1 of 1)\n   100%") != NULL, "of one thread");
	free(text);
	top_tally_done(&t);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		printf("# no locale C.UTF-8\n");
	test_numbers();
	test_sizes();
	test_hostile();
	test_profile();
	test_waits();
	test_locks();
	return tap_done();
}
