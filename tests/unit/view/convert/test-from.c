/* Reading folded stacks and the text of perf script: what each line means, and refusals. */

#include "base/err.h"
#include "base/membuf.h"
#include "tap.h"
#include "view/convert/format.h"
#include "view/convert/from-folded.h"
#include "view/convert/from-script.h"
#include "view/convert/from.h"

#include <errno.h>

static struct err e;

/* A model as folded text of one type, after writing it as pprof and reading it again. */
static const char *folded(struct model *m, uint32_t type)
{
	static char text[4096];
	struct membuf pprof = { 0 }, out = { 0 };
	struct model *again = NULL;
	uint64_t n_left_out;
	struct emit *o = malloc(sizeof(*o));
	emit_open(o, membuf_write, &out);
	if (model_write(m, membuf_write, &pprof, 1, &e) < 0 ||
	    model_read(pprof.bytes.v, pprof.bytes.n, &again, &e) < 0 ||
	    conv_folded.write(again, type, o, &n_left_out, &e) < 0 || emit_finish(o, &e) < 0)
		abort();
	snprintf(text, sizeof(text), "%.*s", (int)out.bytes.n, out.bytes.v ? out.bytes.v : "");
	free(o);
	model_free(again);
	VEC_FREE(&pprof.bytes);
	VEC_FREE(&out.bytes);
	return text;
}

static struct model *folded_model(const char *text)
{
	struct model *m = NULL;
	e = (struct err){ 0 };
	return from_folded_read(text, strlen(text), &m, &e) == 0 ? m : NULL;
}

static struct model *script_model(const char *text)
{
	struct model *m = NULL;
	e = (struct err){ 0 };
	return from_script_read(text, strlen(text), &m, &e) == 0 ? m : NULL;
}

static void test_folded(void)
{
	static const struct { const char *name, *in, *out; } row[] = {
		{ "folded stacks are unchanged", "main;work;inner 12\nmain;work 3\nother 1\n",
		  "main;work;inner 12\nmain;work 3\nother 1\n" },
		{ "equal stacks are added", "a;b 1\nc 5\na;b 2\n", "a;b 3\nc 5\n" },
		{ "names with spaces", "main;operator new(unsigned long);a b 7\n",
		  "main;operator new(unsigned long);a b 7\n" },
		{ "a name that ends in a number", "f 1 2\n", "f 1 2\n" },
		{ "empty lines and carriage returns", "\r\na;b 1\r\n\n\nc 2", "a;b 1\nc 2\n" },
		{ "a recursive function", "a;a;a;b 4\n", "a;a;a;b 4\n" },
		{ "stacks with a common prefix", "a 1\na;b 2\na;b;c 3\n", "a 1\na;b 2\na;b;c 3\n" },
		{ "bytes that are not UTF-8", "\xff\xfe;\xc3\xa4 5\n",
		  "\xef\xbf\xbd\xef\xbf\xbd;\xc3\xa4 5\n" },
		{ "control characters", "a\001b;c\033[2Jd 5\n", "a?b;c?[2Jd 5\n" },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct model *m = folded_model(row[i].in);
		tap_str(m ? folded(m, m->n_types - 1) : e.what, row[i].out, row[i].name);
		model_free(m);
	}
	static const struct { const char *name, *in, *what; } bad[] = {
		{ "no value", "a;b 1\nno value\n", "line 2" },
		{ "a value without a stack", "a 1\nb 2\n17\n", "line 3" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct model *m = folded_model(bad[i].in);
		tap_ok(!m && strstr(e.what, bad[i].what), "%s is refused: %s", bad[i].name, e.what);
		model_free(m);
	}
}

static const char *label(const struct model *m, uint32_t sample, const char *key)
{
	const struct model_labels *set = &m->labels[m->sample[sample].labels];
	for (uint32_t i = 0; i < set->n; i++) {
		const struct model_label *l = &m->label[set->first + i];
		if (strcmp(model_string(m, l->key), key) == 0)
			return model_string(m, l->str);
	}
	return "";
}

static void test_script(void)
{
	static const char text[] =
		"my prog  123/124 [001]  12.345678:     250000 cpu-clock:pppH: \n"
		"\t    55d0c0001234 inner (inlined)\n"
		"\t    55d0c0001234 outer(int, char)+0x14 (/tmp/a (deleted))\n"
		"\t    55d0c0001000 main+0x0 (/tmp/a (deleted))\n"
		"\n"
		"my prog  123/125 [001]  12.445678:     750000 cpu-clock:pppH: \n"
		"\t    55d0c0001234 [unknown] (/tmp/a (deleted))\n"
		"\t    55d0c0001000 main+0x0 (/tmp/a (deleted))\n"
		"\n";
	struct model *m = script_model(text);
	if (!tap_ok(m != NULL, "the text of perf script is read: %s", e.what))
		return;
	tap_int(m->n_samples, 2, "it has two samples");
	tap_str(model_string(m, m->type[0].type), "samples", "the first type counts samples");
	tap_str(model_string(m, m->type[1].unit), "nanoseconds",
		"the second one has a unit of time");
	tap_ok(model_value(m, 0, 0) == 1 && model_value(m, 0, 1) == 250000,
	       "the period is the value");
	tap_int(m->period, 750000, "the largest period is that of the profile");
	tap_str(model_string(m, m->period_type.unit), "nanoseconds", "in the unit of the values");
	tap_str(label(m, 0, "tid"), "124", "the first thread");
	tap_str(label(m, 1, "tid"), "125", "the second thread");
	tap_str(label(m, 1, "pid"), "123", "the process");
	tap_str(label(m, 0, "thread_name"), "my prog", "the thread's name has a space");
	tap_ok(strncmp(folded(m, 1), "main;outer(int, char);inner 250000\n", 35) == 0,
	       "inlined calls are frames");
	tap_int(m->duration_ns, 100000000, "the duration is from the first to the last sample");
	uint32_t leaf = m->stack_location[m->stack[m->sample[0].stack].first];
	tap_int(m->location[leaf].n_lines, 2, "inlined calls share a location");
	tap_str(model_string(m, m->mapping[m->location[leaf].mapping].filename),
		"/tmp/a (deleted)", "the mapping has the file's name");
	model_free(m);

	m = script_model("dd 7 1.0: 5 cycles:k:  "
			 "ffffffffa3a00110 do_it+0x10 ([kernel.kallsyms])\n");
	if (tap_ok(m && m->n_samples == 1, "a sample of the kernel")) {
		leaf = m->stack_location[m->stack[m->sample[0].stack].first];
		tap_str(folded(m, 1), "do_it 5\n", "the kernel's name is kept");
		tap_int((intmax_t)m->location[leaf].address, 0, "the kernel's address is not");
	}
	model_free(m);

	m = script_model("dd 7 1.0: 5 cycles:u:  7f00 f+0x1 (/l)\n"
			"dd 7 2.0: 2 branches:  7f00 f+0x1 (/l)\n");
	tap_ok(m && m->n_types >= 2, "two events with the frames in the first line");
	if (m) {
		uint32_t type = 0;
		tap_int(model_find_type(m, "branches", &type, &e), 0,
			"each event is a sample type");
		tap_str(folded(m, type), "f 2\n", "events are counted separately");
	}
	model_free(m);
	static const struct { const char *name, *in; } bad[] = {
		{ "other text", "Lorem ipsum dolor\nsit amet\n" },
		{ "no text", "" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		m = script_model(bad[i].in);
		tap_ok(!m && e.what[0], "%s is refused: %s", bad[i].name, e.what);
		model_free(m);
	}
}

static void test_detect(void)
{
	static const char script[] = "a 1/2 [000] 1.5: 1 cycles: \n\t1 f (/l)\n\n";
	static const char binary[] = "\n\004a\000b";
	tap_ok(from_detect("a;b 1\n", 6) == &conv_folded, "folded stacks are recognised");
	tap_ok(from_detect(script, strlen(script)) == &from_script,
	       "the text of perf script is recognised");
	tap_ok(from_detect("\x1f\x8b\x08", 3) == &format_pprof, "gzip is read as pprof");
	tap_ok(from_detect(binary, sizeof(binary)) == &format_pprof,
	       "bytes that cannot be text are read as pprof");
}

int main(void)
{
	test_folded();
	test_script();
	test_detect();
	return tap_done();
}
