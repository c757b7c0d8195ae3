/* Breakpoints on threads of this process, and the reasons where there are none. */
#include "labels/gobreak.h"

#include "base/host.h"
#include "symbolize/arch/arch.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct host host;
static unsigned int n_changes, n_foreign;
static uint64_t last_labels, last_ns, own;
static bool is_ordered = true, has_stack = true;

static void on_change(void *ctx, const struct gobreak_hit *h)
{
	if (h->pid != *(uint32_t *)ctx) {
		n_foreign++;
		return;
	}
	n_changes++;
	is_ordered &= h->time_ns >= last_ns;
	last_ns = h->time_ns;
	last_labels = h->labels;
	has_stack &= h->sp && h->n_words >= 8 && h->at == own;
}

/* The first argument of Go's functions is in the register of results. */
static void __attribute__((noinline)) change(uint64_t labels)
{
#if defined(__x86_64__)
	__asm__ volatile("" : : "a"(labels) : "memory");
#else
	__asm__ volatile("" : : "r"(labels) : "memory");
#endif
}

/* With -O3 the compiler would call a copy of it that is made for 7. */
static void (*volatile call_change)(uint64_t) = change;

static void *in_thread(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 5; i++)
		call_change(7);
	return NULL;
}

/* Three changes, and five in a thread that is created later. */
static void run_child(int go)
{
	char c;
	pthread_t t;
	if (read(go, &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < 3; i++)
		call_change(7);
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	_exit(0);
}

static void reports(void)
{
	struct gobreak b;
	struct gobreak_events e = { 0 };
	int go[2], status;
	gobreak_init(&b, evopen_syscall, &host, arch_native());
	if (pipe(go) < 0)
		abort();
	pid_t child = fork();
	if (child == 0)
		run_child(go[0]);
	uint32_t pid = (uint32_t)child;
	bool is_open = gobreak_open(&b, pid, (uintptr_t)&change, 96, &e);
	tap_ok(is_open || b.why[0], "breakpoints on another process%s%s", b.why[0] ? ": " : "",
	       b.why);
	if (write(go[1], "x", 1) != 1)
		abort();
	waitpid(child, &status, 0);
	gobreak_drain(&b, on_change, &pid);
	if (is_open) {
		tap_int(n_changes, 8, "all calls are reported, also those of later threads");
		tap_ok(has_stack, "each with the innermost part of the stack");
		tap_ok(b.cost_ns > 0 && b.cost_ns < 10000000, "a change costs %llu ns",
		       (unsigned long long)b.cost_ns);
		tap_int((long long)b.n_lost, 0, "none is lost");
	} else {
		tap_skip("all calls are reported, also those of later threads", b.why);
	}
	gobreak_close(&e);
	tap_ok(!gobreak_open(&b, pid, (uintptr_t)&change, 96, &e) && !e.fd.n && b.why[0],
	       "a process that has ended: %s", b.why);
	close(go[0]);
	close(go[1]);
	gobreak_done(&b);
}

static int none_free(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	if (attr->type != PERF_TYPE_BREAKPOINT)
		return evopen_syscall(attr, pid, cpu, group, flags);
	errno = ENOSPC;
	return -1;
}

static int forbidden(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	(void)attr, (void)pid, (void)cpu, (void)group, (void)flags;
	errno = EACCES;
	return -1;
}

static void refuses(evopen_fn *open, const char *want, const char *what)
{
	struct gobreak b;
	struct gobreak_events e = { 0 };
	gobreak_init(&b, open, &host, arch_native());
	bool is_open = gobreak_open(&b, (uint32_t)getpid(), own, 96, &e);
	tap_ok(!is_open && strstr(b.why, want), "%s: %s", what, b.why);
	gobreak_done(&b);
}

int main(void)
{
	struct err *none = NULL;
	own = (uintptr_t)&change;
	if (host_open(&host, NULL, NULL, NULL, none) < 0)
		return 1;
	reports();
	refuses(NULL, "perf events", "no perf events");
	refuses(forbidden, "Permission denied", "perf events that are forbidden");
	refuses(none_free, "no debug register", "debug registers in use");
	host_close(&host);
	return tap_done();
}
