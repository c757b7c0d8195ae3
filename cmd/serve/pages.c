/* The pages for people and for Prometheus. */
#include "cmd/serve/serve.h"

#include <sys/resource.h>
#include <unistd.h>

static const struct { const char *path, *what; } rows[] = {
	{ "profile", "where CPU time goes" },
	{ "wall", "where time goes, running and waiting" },
	{ "off_cpu", "what threads wait for" },
	{ "block", "waits for locks and conditions" },
	{ "mutex", "who holds the locks that others wait for" },
	{ "cycles", "CPU cycles" },
	{ "instructions", "instructions" },
	{ "cache_misses", "cache misses" },
	{ "branch_misses", "mispredicted branches" },
	{ "page_faults", "page faults" },
	{ "threads", "what each thread is doing now" },
	{ "goroutine", "what each goroutine of Go programs is doing now" },
	{ "allocs", "who allocates memory, in programs with libcprof-alloc.so" },
	{ "heap", "who holds it" },
};

static void print_html(FILE *to, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '&': fputs("&amp;", to); break;
		case '"': fputs("&quot;", to); break;
		default: fputc(*text, to); break;
		}
}

void pages_index(const struct serve *s, FILE *to)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<title>cprof serve</title>\n"
	      "<style>body{font:16px sans-serif;margin:2em;max-width:50em}"
	      "td{padding:.2em 1em .2em 0}code{background:#eee;padding:.1em .3em}</style>"
	      "</head>\n<body><h1>cprof serve</h1>\n<p>Each link records for five seconds and "
	      "downloads a profile", to);
	if (s->opts.process) {
		fputs(" of <code>", to);
		print_html(to, s->opts.process);
		fputs("</code>", to);
	} else {
		fputs(" of all processes", to);
	}
	fputs(". Add <code>pid=PID</code>, <code>comm=NAME</code> or <code>cgroup=PATH</code> "
	      "for others, <code>event=EVENT</code> to <code>profile</code> for any event, and "
	      "<code>hz=</code> or <code>period=</code> for another rate.</p>\n<table>\n", to);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *p = rows[i].path;
		bool is_now = *p == 't' || *p == 'g';
		fprintf(to, "<tr><td><a href=\"/debug/pprof/%s%s\">%s</a></td><td>%s</td></tr>\n",
			p, is_now ? "" : "?seconds=5", p, rows[i].what);
	}
	fputs("</table>\n<p><a href=\"/metrics\">metrics</a> of this server</p>\n"
	      "</body></html>\n", to);
}

static double own_cpu_s(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long resident_bytes(void)
{
	long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * sysconf(_SC_PAGESIZE);
}

static void print_metric(FILE *to, const char *name, const char *type, const char *help,
			 double value)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

void pages_metrics(const struct serve *s, FILE *to)
{
	struct hub_counts n;
	hub_count(s->hub, &n);
	fputs("# HELP cprof_build_info The version of cprof.\n# TYPE cprof_build_info gauge\n"
	      "cprof_build_info{version=\"" CPROF_VERSION "\"} 1\n"
	      "# HELP cprof_http_responses_total Responses by status.\n"
	      "# TYPE cprof_http_responses_total counter\n", to);
	for (unsigned i = 0; i < SERVE_STATUS_MAX; i++)
		if (s->n_by_status[i])
			fprintf(to, "cprof_http_responses_total{code=\"%u\"} %llu\n", i,
				(unsigned long long)s->n_by_status[i]);
	print_metric(to, "cprof_connections", "gauge", "Open connections.", (double)s->n_conns);
	print_metric(to, "cprof_recordings", "gauge", "Recordings that run.",
		     (double)n.n_recordings);
	print_metric(to, "cprof_waiting_clients", "gauge", "Clients who wait for a recording.",
		     (double)n.n_clients);
	print_metric(to, "cprof_recordings_total", "counter", "Recordings started.",
		     (double)n.n_started);
	print_metric(to, "cprof_parts_total", "counter", "Parts of recordings received.",
		     (double)n.n_parts);
	print_metric(to, "cprof_samples_total", "counter", "Samples in these parts.",
		     (double)n.n_samples);
	print_metric(to, "cprof_lost_samples_total", "counter", "Samples lost by the kernel.",
		     (double)n.n_lost);
	print_metric(to, "cprof_recording_cpu_seconds_total", "counter",
		     "CPU time of the recording processes.", (double)n.cpu_ns / 1e9);
	print_metric(to, "process_cpu_seconds_total", "counter", "CPU time of the server.",
		     own_cpu_s());
	print_metric(to, "process_resident_memory_bytes", "gauge", "Memory of the server.",
		     (double)resident_bytes());
}
