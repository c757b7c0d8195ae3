/* Output formats: small profiles byte for byte, hostile names, samples that do not fit. */

#include "base/err.h"
#include "base/membuf.h"
#include "base/utf8.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/convert/format.h"

/* The i-th output format other than pprof. */
static const struct format *text_format(size_t i)
{
	const struct format *f;
	for (size_t k = 0; (f = format_at(FORMAT_OUTPUT, k)); k++)
		if (!f->is_pprof && i-- == 0)
			return f;
	return NULL;
}

static struct model *model_of(struct build *b)
{
	struct model *m = NULL;
	struct err e = { 0 };
	if (model_read(b->sink.bytes.v, b->sink.bytes.n, &m, &e) < 0)
		abort();
	return m;
}

/* The output as text, freed by the caller. */
static char *convert(const struct format *f, const struct model *m, uint32_t type,
		     uint64_t *ret_n_left_out)
{
	struct membuf b = { 0 };
	struct err e = { 0 };
	struct emit *o = malloc(sizeof(*o));
	*ret_n_left_out = 0;
	emit_open(o, membuf_write, &b);
	if (f->write(m, type, o, ret_n_left_out, &e) < 0 || emit_finish(o, &e) < 0 ||
	    !VEC_PUSH(&b.bytes, '\0'))
		abort();
	free(o);
	return b.bytes.v;
}

/* Inlined calls, two threads, a stack that is a prefix of another one. */
static const char want_folded[] =
	"main;leaf 1000000\n"
	"main;outer;inner 2000000\n"
	"main 3000000\n";

static const char want_speedscope[] =
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	"\"exporter\":\"cprof\",\"name\":\"/bin/app\",\"activeProfileIndex\":1,\n"
	"\"shared\":{\"frames\":[\n"
	"{\"name\":\"leaf\",\"file\":\"a.c\",\"line\":7},\n"
	"{\"name\":\"main\",\"file\":\"main.c\",\"line\":1},\n"
	"{\"name\":\"inner\",\"file\":\"inner.c\",\"line\":1},\n"
	"{\"name\":\"outer\",\"file\":\"outer.c\",\"line\":1}]},\n"
	"\"profiles\":[{\"type\":\"sampled\",\"name\":\"samples\",\"unit\":\"none\",\"startVa"
	"lue\":0,\"samples\":[[1,0],\n"
	"[1,3,2],\n"
	"[1]],\n"
	"\"weights\":[1,2,3],\"endValue\":6},\n"
	"{\"type\":\"sampled\",\"name\":\"cpu\",\"unit\":\"nanoseconds\",\"startValue\":0,\"s"
	"amples\":[[1,0],\n"
	"[1,3,2],\n"
	"[1]],\n"
	"\"weights\":[1000000,2000000,3000000],\"endValue\":6000000}]}\n";

static const char want_chrome[] =
	"{\"displayTimeUnit\":\"ms\",\"otherData\":{\"exporter\":\"cprof\",\"sample_type\":\""
	"cpu\",\"unit\":\"nanoseconds\"},\n"
	"\"traceEvents\":[\n"
	"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":5,\"args\":{\"name\":\"one"
	"\"}},\n"
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"tid\":5,\"args\":{\"name\":\"app"
	"\"}},\n"
	"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":6,\"args\":{\"name\":\"two"
	"\"}},\n"
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"tid\":6,\"args\":{\"name\":\"app"
	"\"}},\n"
	"{\"ph\":\"X\",\"name\":\"main\",\"cat\":\"main.c\",\"pid\":4,\"tid\":5,\"ts\":0.000,"
	"\"dur\":3999.875},\n"
	"{\"ph\":\"X\",\"name\":\"leaf\",\"cat\":\"a.c\",\"pid\":4,\"tid\":5,\"ts\":0.000,"
	"\"dur\":999.875},\n"
	"{\"ph\":\"X\",\"name\":\"main\",\"cat\":\"main.c\",\"pid\":4,\"tid\":6,\"ts\":0.000,"
	"\"dur\":1999.875},\n"
	"{\"ph\":\"X\",\"name\":\"outer\",\"cat\":\"outer.c\",\"pid\":4,\"tid\":6,\"ts\":0.000,"
	"\"dur\":1999.875},\n"
	"{\"ph\":\"X\",\"name\":\"inner\",\"cat\":\"inner.c\",\"pid\":4,\"tid\":6,\"ts\":0.000,"
	"\"dur\":1999.875}]}\n";

/* From the shared tables on. */
static const char want_firefox[] =
	"\"shared\":{\n"
	"\"frameTable\":{\"length\":4,\n"
	"\"address\":[-1,4096,8192,8192],\n"
	"\"inlineDepth\":[0,0,1,0],\n"
	"\"category\":[1,1,1,1],\n"
	"\"subcategory\":[0,0,0,0],\n"
	"\"func\":[0,1,2,3],\n"
	"\"nativeSymbol\":[null,null,null,null],\n"
	"\"innerWindowID\":[0,0,0,0],\n"
	"\"line\":[7,1,1,1],\n"
	"\"column\":[null,null,null,null]},\n"
	"\"funcTable\":{\"length\":4,\n"
	"\"name\":[0,1,2,3],\n"
	"\"isJS\":[false,false,false,false],\n"
	"\"relevantForJS\":[false,false,false,false],\n"
	"\"resource\":[0,0,0,0],\n"
	"\"source\":[0,1,2,3],\n"
	"\"lineNumber\":[null,null,null,null],\n"
	"\"columnNumber\":[null,null,null,null]},\n"
	"\"sources\":{\"length\":4,\n"
	"\"id\":[null,null,null,null],\n"
	"\"filename\":[4,5,6,7],\n"
	"\"startLine\":[1,1,1,1],\n"
	"\"startColumn\":[1,1,1,1],\n"
	"\"sourceMapURL\":[null,null,null,null]},\n"
	"\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[],"
	"\"name\":[]},\n"
	"\"resourceTable\":{\"length\":1,\n"
	"\"lib\":[0],\n"
	"\"name\":[8],\n"
	"\"host\":[null],\n"
	"\"type\":[1]},\n"
	"\"stackTable\":{\"length\":5,\n"
	"\"frame\":[1,0,1,3,2],\n"
	"\"prefix\":[null,0,null,2,3]},\n"
	"\"stringArray\":[\"leaf\",\n"
	"\"main\",\n"
	"\"inner\",\n"
	"\"outer\",\n"
	"\"a.c\",\n"
	"\"main.c\",\n"
	"\"inner.c\",\n"
	"\"outer.c\",\n"
	"\"app\",\n"
	"\"\"]},\n"
	"\"threads\":[\n"
	"{\"name\":\"one\",\"processName\":\"app\",\"pid\":\"4\",\"tid\":\"5\",\"isMainThread"
	"\":false,\"processType\":\"default\",\"pausedRanges\":[],\"processStartupTime\":0,\""
	"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\"showMarkersI"
	"nTimeline\":false,\n"
	"\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],\"p"
	"hase\":[],\"startTime\":[]},\n"
	"\"samples\":{\"length\":2,\n"
	"\"stack\":[1,0],\n"
	"\"timeDeltas\":[0,1.000000],\n"
	"\"weight\":[1.000000,3.000000],\"weightType\":\"tracing-ms\"}},\n"
	"{\"name\":\"two\",\"processName\":\"app\",\"pid\":\"4\",\"tid\":\"6\",\"isMainThread"
	"\":false,\"processType\":\"default\",\"pausedRanges\":[],\"processStartupTime\":0,\""
	"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\"showMarkersI"
	"nTimeline\":false,\n"
	"\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],\"p"
	"hase\":[],\"startTime\":[]},\n"
	"\"samples\":{\"length\":1,\n"
	"\"stack\":[4],\n"
	"\"timeDeltas\":[0],\n"
	"\"weight\":[2.000000],\"weightType\":\"tracing-ms\"}}]}\n";

static void test_exact_output(void)
{
	struct build b;
	uint64_t n;
	BUILD(&b, "samples/count cpu/nanoseconds",
	      "1,1000000 leaf@a.c:7 main ; tid=5 pid=4 thread_name=one",
	      "2,2000000 inner+outer main ; tid=6 pid=4 thread_name=two",
	      "3,3000000 main ; tid=5 pid=4 thread_name=one");
	struct model *m = model_of(&b);
	char *text = convert(&conv_folded, m, 1, &n);
	tap_str(text, want_folded, "folded");
	free(text);
	text = convert(&conv_folded, m, 0, &n);
	tap_str(text, "main;leaf 1\nmain;outer;inner 2\nmain 3\n", "folded, another sample type");
	free(text);
	text = convert(&conv_speedscope, m, 1, &n);
	tap_str(text, want_speedscope, "speedscope");
	free(text);
	text = convert(&conv_chrome, m, 1, &n);
	tap_str(text, want_chrome, "chrome");
	free(text);
	text = convert(&conv_firefox, m, 1, &n);
	const char *shared = strstr(text, "\"shared\":");
	tap_str(shared, want_firefox, "firefox");
	tap_ok(strstr(text, "\"interval\":0.001000,") && strstr(text, "\"startTime\":1000.000,"),
	       "firefox: the interval and the start, in milliseconds");
	free(text);
	model_free(m);
	build_done(&b);
}

/* A child of a shell has the shell's name until it executes its program. */
static void test_names(void)
{
	struct build b;
	uint64_t n;
	BUILD(&b, "cpu/nanoseconds", "1000 main ; tid=4 pid=4 thread_name=sh process_name=sh",
	      "4000 a main ; tid=4 pid=4 thread_name=gzip process_name=gzip x=1",
	      "4000 a main ; tid=4 pid=4 thread_name=gzip process_name=gzip x=2",
	      "5000 main ; tid=5 pid=4 thread_name=sh process_name=sh",
	      "3000 main ; tid=6 pid=6 thread_name=xz process_name=xz");
	struct model *m = model_of(&b);
	char *text = convert(&conv_chrome, m, 0, &n);
	static const char four[] =
		"\"thread_name\",\"pid\":4,\"tid\":4,\"args\":{\"name\":\"gzip\"}},\n"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"tid\":4,"
		"\"args\":{\"name\":\"gzip\"}}";
	static const char five[] =
		"\"thread_name\",\"pid\":4,\"tid\":5,\"args\":{\"name\":\"sh\"}},\n"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"tid\":5,"
		"\"args\":{\"name\":\"gzip\"}}";
	tap_ok(strstr(text, four), "chrome: the name that a thread had for most of its time");
	tap_ok(strstr(text, five), "chrome: the name that the process had, in all of its threads");
	tap_ok(strstr(text, "\"process_name\",\"pid\":6,\"tid\":6,\"args\":{\"name\":\"xz\"}"),
	       "chrome: another process");
	free(text);
	model_free(m);
	build_done(&b);
}

/* Readers add ts and dur as doubles: no event may end after the one that contains it. */
static void test_chrome_ends(void)
{
	struct build b;
	uint64_t n;
	unsigned n_calls = 0, n_late = 0, n_touching = 0;
	double end[8] = { 0 };
	/* as sums of decimals, three of these are wrong */
	BUILD(&b, "cpu/nanoseconds", "2451981 a main", "1785084 b main", "168272 c main",
	      "1475667 d main", "1922895 e main", "26849 f main", "1 g main", "999 h main");
	struct model *m = model_of(&b);
	char *text = convert(&conv_chrome, m, 0, &n);
	for (const char *at = text; (at = strstr(at, "\"ts\":")); at++) {
		double ts, dur;
		if (sscanf(at, "\"ts\":%lf,\"dur\":%lf", &ts, &dur) != 2)
			continue;
		/* the first event contains all others */
		if (n_calls++ == 0)
			end[0] = ts + dur;
		n_late += ts + dur > end[0] || ts < end[1];
		n_touching += n_calls > 2 && dur > 0 && ts == end[1];
		end[1] = n_calls > 1 ? ts + dur : 0;
	}
	tap_int(n_touching, 0, "chrome: no call begins when the one before it ends");
	tap_int(n_calls, 9, "chrome: a call for each function");
	tap_int(n_late, 0, "chrome: no call ends after its caller or begins before the last one");
	free(text);
	model_free(m);
	build_done(&b);
}

/* No name can break out of its quotes or its line. */
static void test_hostile(void)
{
	struct build b;
	uint64_t n;
	BUILD(&b, "samples/count",
	      "1 </script>\\\";a\"b\001\177\377\342\200\250\033[2J main ; thread_name=\"},{\n\\");
	struct model *m = model_of(&b);
	const struct format *f;
	for (size_t i = 0; (f = text_format(i)); i++) {
		char *text = convert(f, m, 0, &n);
		bool is_clean = true, is_quoted = false;
		unsigned depth = 0, deepest = 0;
		for (const char *p = text; *p; p++) {
			is_clean &= (unsigned char)*p >= 0x20 ? *p != 0x7f : *p == '\n';
			if (is_quoted && *p == '\\')
				p++;
			else if (*p == '"')
				is_quoted = !is_quoted;
			else if (!is_quoted && strchr("{[", *p))
				deepest = ++depth > deepest ? depth : deepest;
			else if (!is_quoted && strchr("}]", *p))
				depth--;
		}
		tap_ok(is_clean, "%s: no control characters", f->name);
		if (f == &conv_folded)
			tap_int(strcspn(text, "\n"), strlen(text) - 1, "folded: one line");
		else
			tap_ok(!is_quoted && depth == 0 && deepest >= 3,
			       "%s: quotes and brackets are balanced", f->name);
		size_t n_bytes = strlen(text);
		char *clean = malloc(UTF8_CLEAN_MAX(n_bytes));
		tap_ok(utf8_clean(clean, text, n_bytes) == n_bytes &&
		       memcmp(clean, text, n_bytes) == 0, "%s: valid UTF-8", f->name);
		free(clean);
		free(text);
	}
	model_free(m);
	build_done(&b);
}

static void test_left_out(void)
{
	const struct format *f;
	struct build b;
	uint64_t n;
	BUILD(&b, "samples/count", "-3 lost main", "5 kept main");
	struct model *m = model_of(&b);
	for (size_t i = 0; (f = text_format(i)); i++) {
		char *text = convert(f, m, 0, &n);
		bool keeps = f == &conv_folded || f == &conv_firefox;
		tap_int((long long)n, keeps ? 0 : 1, f->name);
		tap_ok(strstr(text, "kept") != NULL, "%s: other samples are kept", f->name);
		free(text);
	}
	model_free(m);
	build_done(&b);

	BUILD(&b, "samples/count", "0 nothing");
	m = model_of(&b);
	for (size_t i = 0; (f = text_format(i)); i++) {
		char *text = convert(f, m, 0, &n);
		tap_ok(f == &conv_folded ? !*text : text[0] == '{', "%s: a profile without samples",
		       f->name);
		free(text);
	}
	model_free(m);
	build_done(&b);
}

static void test_table(void)
{
	static const struct { const char *path, *name; } row[] = {
		{ "a.pb.gz", "pprof" }, { "a.txt", "folded" },
		{ "a.speedscope.json", "speedscope" }, { "a.perfetto.json", "chrome" },
		{ "dir/a.firefox", "firefox" }, { "a.json", "" }, { ".txt", "" }, { "", "" },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct format *f = format_of_path(row[i].path);
		tap_str(f ? f->name : "", row[i].name, row[i].path);
	}
	tap_ok(format_find(FORMAT_OUTPUT, "perfetto") == &conv_chrome, "an alias is found");
	tap_ok(format_find(FORMAT_INPUT, "script") == &from_script &&
	       !format_find(FORMAT_OUTPUT, "script"), "an input format is not an output format");
	tap_ok(!format_find(FORMAT_INPUT, "firefox"), "an output format is not an input format");
	size_t n = 0;
	while (format_input_name(n))
		n++;
	tap_int(n, 7, "seven input formats");
	tap_str(format_output_name(0), "folded", "the first output format");
}

int main(void)
{
	test_table();
	test_exact_output();
	test_names();
	test_chrome_ends();
	test_hostile();
	test_left_out();
	return tap_done();
}
