/* Stacks as they are in profiles of real programs, and stacks that only resemble them. */

#include "symbolize/runtime/waitframes.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define KERNEL "[kernel.kallsyms]:schedule [kernel.kallsyms]:futex_do_wait " LIBC \
	       ":__futex_abstimed_wait_common64 " LIBC ":__pthread_cond_wait_common "
#define EPOLL "[kernel.kallsyms]:schedule [kernel.kallsyms]:do_epoll_wait " LIBC ":epoll_wait "
#define THREAD LIBC ":start_thread " LIBC ":__clone3"
#define FIRST LIBC ":__libc_start_call_main " LIBC ":__libc_start_main_impl /bin/x:_start"
#define JVM "/usr/lib/jvm/lib/server/libjvm.so:"
#define PYTHON "/usr/bin/python3.11:"
#define PYTHON_LIB "/usr/lib/libpython3.12.so.1.0:"
#define PYTHON_WAIT LIBC ":__new_sem_wait_slow64 " PYTHON_LIB "PyThread_acquire_lock_timed " \
	PYTHON_LIB "acquire_timed " PYTHON_LIB "lock_PyThread_acquire_lock " \
	PYTHON_LIB "PyObject_Vectorcall "
#define GO_PARK "/bin/g:runtime.gopark "
#define PYTHON_CALL PYTHON_LIB "py_trampoline_evaluator " PYTHON_LIB "PyObject_Vectorcall " \
	PYTHON_LIB "_PyEval_EvalFrameDefault "

/* Frames are FILE:NAME, innermost first; FILE: alone has no name.  =FILE:NAME has this source. */
struct scene {
	const char *name, *stack, *label, *thread;
};

static const struct scene scenes[] = {
	{ "redis's loop", EPOLL "/usr/bin/redis:aeApiPoll /usr/bin/redis:aeMain "
	  "/usr/bin/redis:main "
	  FIRST, "idle=event-loop", "" },
	{ "redis's loop, stripped", EPOLL "/usr/bin/redis: /usr/bin/redis:aeMain " FIRST,
	  "idle=event-loop", "" },
	{ "a handler of redis that waits itself", EPOLL "/usr/bin/redis:aeWait "
	  "/usr/bin/redis:syncCommand /usr/bin/redis:aeMain " FIRST, "", "" },
	{ "redis's workers", KERNEL LIBC ":___pthread_cond_wait "
	  "/usr/bin/redis:bioProcessBackgroundJobs "
	  THREAD, "idle=pool", "" },
	{ "jemalloc's thread, without names", KERNEL LIBC ":pthread_cond_timedwait "
	  "/usr/lib/libjemalloc.so.2: /usr/lib/libjemalloc.so.2: " THREAD, "idle=pool", "" },
	{ "a lock in jemalloc", "[kernel.kallsyms]:schedule " LIBC ":pthread_mutex_lock "
	  "/usr/lib/libjemalloc.so.2: /bin/x:work " THREAD, "", "" },
	{ "a thread of Python with an empty queue, with names", PYTHON_WAIT
	  "[jit]:py::Condition.wait:/usr/lib/python3.12/threading.py " PYTHON_CALL
	  "[jit]:py::Queue.get:/usr/lib/python3.12/queue.py " PYTHON_CALL
	  "[jit]:py::worker:/srv/app.py " THREAD, "idle=pool", "" },
	{ "the same, read from memory", PYTHON_WAIT
	  "=/usr/lib/python3.12/threading.py:py::Condition.wait " PYTHON_LIB "PyObject_Vectorcall "
	  "=/usr/lib/python3.12/queue.py:py::Queue.get =/srv/app.py:py::worker "
	  THREAD, "idle=pool", "" },
	{ "a queue of the program's own", PYTHON_WAIT
	  "=/usr/lib/python3.12/threading.py:py::Condition.wait " PYTHON_LIB "PyObject_Vectorcall "
	  "=/srv/app.py:py::Queue.get =/srv/app.py:py::worker " THREAD, "", "" },
	{ "a first thread of Python that waits for a result", PYTHON_WAIT
	  "[jit]:py::Condition.wait:/usr/lib/python3.12/threading.py " PYTHON_CALL
	  "[jit]:py::Queue.get:/usr/lib/python3.12/queue.py " PYTHON_CALL
	  "[jit]:py::<module>:/srv/app.py " FIRST, "", "" },
	{ "a condition of Python, which may be anything", PYTHON_WAIT
	  "[jit]:py::Condition.wait:/usr/lib/python3.12/threading.py " PYTHON_CALL
	  "[jit]:py::worker:/srv/app.py " THREAD, "", "" },
	{ "a full queue of Python", PYTHON_WAIT
	  "[jit]:py::Condition.wait:/usr/lib/python3.12/threading.py " PYTHON_CALL
	  "[jit]:py::Queue.put:/usr/lib/python3.12/queue.py " PYTHON_CALL
	  "[jit]:py::worker:/srv/app.py " THREAD, "", "" },
	{ "node's loop", LIBC ":epoll_pwait /usr/bin/node:uv__io_poll /usr/bin/node:uv_run "
	  "/usr/bin/node:node::SpinEventLoopInternal " FIRST, "idle=event-loop", "" },
	{ "Debian's libuv", EPOLL "/usr/lib/libuv.so.1: /usr/lib/libuv.so.1:uv_run " FIRST,
	  "idle=event-loop", "" },
	{ "a callback of libuv that waits", LIBC ":poll /bin/x: /usr/lib/libuv.so.1: "
	  "/usr/lib/libuv.so.1:uv_run " FIRST, "", "" },
	{ "a callback of libuv with a name", LIBC ":poll /bin/x:on_timer /bin/x:uv__run_timers "
	  "/bin/x:uv_run " FIRST, "", "" },
	{ "libuv's pool", KERNEL LIBC ":pthread_cond_wait /usr/lib/libuv.so.1:uv_cond_wait "
	  "/usr/lib/libuv.so.1: " THREAD, "idle=pool", "" },
	{ "a program's own thread with libuv's condition", KERNEL LIBC ":pthread_cond_wait "
	  "/usr/lib/libuv.so.1:uv_cond_wait /bin/x: " THREAD, "", "" },
	{ "node's platform", LIBC ":pthread_cond_wait /usr/bin/node:uv_cond_wait "
	  "/usr/bin/node:node::(anonymous_namespace)::PlatformWorkerThread " THREAD,
	  "idle=pool", "" },
	{ "nginx", EPOLL "/usr/sbin/nginx:ngx_epoll_process_events "
	  "/usr/sbin/nginx:ngx_process_events_and_timers " FIRST, "idle=event-loop", "" },
	{ "Debian's nginx", EPOLL "/usr/sbin/nginx: /usr/sbin/nginx:ngx_process_events_and_timers "
	  FIRST, "idle=event-loop", "" },
	{ "Debian's autovacuum launcher", EPOLL "/usr/bin/postgres:WaitEventSetWait "
	  "/usr/bin/postgres:WaitLatch /usr/bin/postgres: /usr/bin/postgres:StartAutoVacLauncher "
	  "/usr/bin/postgres:PostmasterMain " FIRST, "idle=pool", "" },
	{ "nginx reads", LIBC ":recv /usr/sbin/nginx:ngx_unix_recv "
	  "/usr/sbin/nginx:ngx_epoll_process_events " FIRST, "", "" },
	{ "postgres between commands", EPOLL "/usr/bin/postgres:WaitEventSetWait "
	  "/usr/bin/postgres:secure_read /usr/bin/postgres: /usr/bin/postgres:pq_getbyte "
	  "/usr/bin/postgres:PostgresMain " FIRST, "idle=event-loop", "" },
	{ "postgres receives data of COPY", EPOLL "/usr/bin/postgres:WaitEventSetWait "
	  "/usr/bin/postgres:secure_read /usr/bin/postgres: /usr/bin/postgres:pq_getbyte "
	  "/usr/bin/postgres:CopyGetData /usr/bin/postgres:PostgresMain " FIRST, "", "" },
	{ "postgres waits for a row", EPOLL "/usr/bin/postgres:WaitEventSetWait "
	  "/usr/bin/postgres:WaitLatch /usr/bin/postgres:ProcSleep /usr/bin/postgres:PostgresMain "
	  FIRST, "", "" },
	{ "postgres's checkpointer", EPOLL "/usr/bin/postgres:WaitEventSetWait "
	  "/usr/bin/postgres:WaitLatch /usr/bin/postgres:CheckpointerMain " FIRST,
	  "idle=pool", "" },
	{ "asyncio", EPOLL PYTHON " " PYTHON "PyObject_Vectorcall " PYTHON
	  "_PyEval_EvalFrameDefault " FIRST, "idle=event-loop", "" },
	{ "Python waits for a child", LIBC ":poll " PYTHON " " PYTHON "PyObject_Vectorcall " PYTHON
	  "_PyEval_EvalFrameDefault " FIRST, "", "" },
	{ "Python's global lock", KERNEL LIBC ":___pthread_cond_timedwait64 " PYTHON "take_gil "
	  PYTHON "PyEval_RestoreThread " FIRST, "wait=gil", "" },
	{ "Python's global lock, stripped", KERNEL LIBC ":pthread_cond_timedwait " PYTHON " " PYTHON
	  "_PyEval_EvalFrameDefault " FIRST, "wait=gil", "" },
	{ "Python's global lock is released", LIBC ":pthread_cond_signal " PYTHON "drop_gil "
	  PYTHON "PyEval_SaveThread " FIRST, "wait=gil", "" },
	{ "time.sleep", LIBC ":clock_nanosleep " PYTHON " " PYTHON "_PyEval_EvalFrameDefault "
	  FIRST, "", "" },
	{ "read from a pipe", LIBC ":read /bin/cat:main " FIRST, "", "" },
	{ "a worker of Python", LIBC ":sem_wait " PYTHON "PyThread_acquire_lock_timed "
	  "/usr/lib/_queue.cpython-311.so: " PYTHON "PyObject_Vectorcall " THREAD,
	  "idle=pool", "" },
	{ "the first thread waits for a result", LIBC ":sem_wait " PYTHON
	  "PyThread_acquire_lock_timed "
	  "/usr/lib/_queue.cpython-311.so: " PYTHON "PyObject_Vectorcall " FIRST, "", "" },
	{ "an idle thread of Go", "/bin/g:runtime.futex /bin/g:runtime.futexsleep "
	  "/bin/g:runtime.notesleep /bin/g:runtime.mPark /bin/g:runtime.stopm "
	  "/bin/g:runtime.findRunnable /bin/g:runtime.mcall", "idle=pool", "" },
	{ "Go waits for the network", "/bin/g:runtime/internal/syscall.EpollWait "
	  "/bin/g:runtime.netpoll /bin/g:runtime.findRunnable", "idle=event-loop", "" },
	{ "a goroutine that waits for ever", GO_PARK "/bin/g:runtime.block /bin/g:main.run "
	  "/bin/g:main.main /bin/g:runtime.main /bin/g:runtime.goexit", "idle=event-loop", "" },
	{ "main waits for actors", GO_PARK "/bin/g:runtime.chanrecv /bin/g:runtime.chanrecv1 "
	  "/bin/g:github.com/oklog/run.(*Group).Run /bin/g:main.main /bin/g:runtime.main",
	  "idle=event-loop", "" },
	{ "an actor", GO_PARK "/bin/g:runtime.selectgo /bin/g:main.main.func7 "
	  "/bin/g:github.com/oklog/run.(*Group).Run.func1 /bin/g:runtime.goexit",
	  "idle=event-loop", "" },
	{ "an actor that runs a manager", GO_PARK "/bin/g:runtime.selectgo "
	  "/bin/g:example.com/scrape.(*Manager).Run /bin/g:main.main.func15 "
	  "/bin/g:github.com/oklog/run.(*Group).Run.func1 /bin/g:runtime.goexit",
	  "idle=event-loop", "" },
	{ "an actor at work", GO_PARK "/bin/g:runtime.selectgo /bin/g:example.com/db.Query "
	  "/bin/g:example.com/scrape.(*Manager).Run /bin/g:main.main.func15 "
	  "/bin/g:github.com/oklog/run.(*Group).Run.func1 /bin/g:runtime.goexit", "", "" },
	{ "an actor that waits for a lock", GO_PARK "/bin/g:runtime.semacquire1 "
	  "/bin/g:sync.(*Mutex).Lock /bin/g:main.main.func7 "
	  "/bin/g:github.com/oklog/run.(*Group).Run.func1 /bin/g:runtime.goexit", "", "" },
	{ "a connection of HTTP/2", GO_PARK "/bin/g:runtime.selectgo "
	  "/bin/g:net/http.(*http2serverConn).serve /bin/g:runtime.goexit",
	  "idle=event-loop", "" },
	{ "a request of HTTP/2", GO_PARK "/bin/g:runtime.selectgo "
	  "/bin/g:net/http.(*http2ClientConn).RoundTrip /bin/g:main.fetch", "", "" },
	{ "a result", GO_PARK "/bin/g:runtime.chanrecv /bin/g:runtime.chanrecv1 /bin/g:main.main "
	  "/bin/g:runtime.main /bin/g:runtime.goexit", "", "" },
	{ "a system call of Go", "/bin/g:syscall.Syscall /bin/g:syscall.read "
	  "/bin/g:os.(*File).Read /bin/g:main.main", "", "" },
	{ "a compiler thread of Java", KERNEL LIBC ":___pthread_cond_timedwait64 " JVM
	  "os::PlatformMonitor::wait " JVM "Monitor::wait " JVM "CompileQueue::get " JVM
	  "CompileBroker::compiler_thread_loop " THREAD, "idle=pool", "" },
	{ "a collector's worker", LIBC ":__new_sem_wait_slow64 " JVM "PosixSemaphore::wait " JVM
	  "GangWorker::loop " THREAD, "idle=pool", "" },
	{ "a Java monitor", KERNEL LIBC ":pthread_cond_wait " JVM "os::PlatformEvent::park " JVM
	  "ObjectMonitor::EnterI " JVM "ObjectMonitor::enter " THREAD, "wait=monitor", "" },
	{ "Object.wait", LIBC ":pthread_cond_wait " JVM "os::PlatformEvent::park " JVM
	  "ObjectMonitor::wait " JVM "JVM_MonitorWait " THREAD, "wait=notify", "main" },
	{ "the thread of finalizers", LIBC ":pthread_cond_wait " JVM "os::PlatformEvent::park " JVM
	  "ObjectMonitor::wait " JVM "JVM_MonitorWait " THREAD, "idle=pool", "Finalizer" },
	{ "a pool of Java, with names", LIBC ":pthread_cond_wait " JVM "Parker::park " JVM
	  "Unsafe_Park /tmp/perf-1.map:java.util.concurrent.locks.LockSupport.park "
	  "/tmp/perf-1.map:java.util.concurrent.LinkedBlockingQueue.take "
	  "/tmp/perf-1.map:java.util.concurrent.ThreadPoolExecutor.getTask " THREAD,
	  "idle=pool", "" },
	{ "one of JDK 17, which lets the pool know", LIBC ":pthread_cond_wait " JVM
	  "Parker::park " JVM "Unsafe_Park [jit]:jdk.internal.misc.Unsafe.park "
	  "[jit]:java.util.concurrent.locks.LockSupport.park "
	  "[jit]:java.util.concurrent.ForkJoinPool.unmanagedBlock "
	  "[jit]:java.util.concurrent.ForkJoinPool.managedBlock "
	  "[jit]:java.util.concurrent.LinkedBlockingQueue.take "
	  "[jit]:java.util.concurrent.ThreadPoolExecutor.getTask " THREAD,
	  "idle=pool", "" },
	{ "a task that waits", LIBC ":pthread_cond_wait " JVM "Parker::park " JVM
	  "Unsafe_Park /tmp/perf-1.map:java.util.concurrent.locks.LockSupport.park "
	  "/tmp/perf-1.map:java.util.concurrent.FutureTask.get /tmp/perf-1.map:T.run "
	  "/tmp/perf-1.map:java.util.concurrent.ThreadPoolExecutor.getTask " THREAD,
	  "wait=park", "" },
	{ "nothing but the kernel", "[kernel.kallsyms]:schedule", "", "" },
	{ "no frames", "", "", "" },
};

static size_t parse(char *text, struct waitframes_frame *f)
{
	size_t n = 0;
	char *save = NULL;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *colon = strchr(w, ':');
		*colon = '\0';
		bool has_source = *w == '=';
		f[n++] = (struct waitframes_frame){
			.name = colon + 1, .module = has_source ? "" : w,
			.source = has_source ? w + 1 : NULL,
		};
	}
	return n;
}

static void play(const struct scene *s)
{
	struct waitframes_frame f[WAITFRAMES_MAX];
	char *text = strdup(s->stack), got[64] = "";
	size_t n = parse(text, f);
	const struct waitframes_label *l = waitframes_label(f, n, true, s->thread);
	if (l)
		snprintf(got, sizeof(got), "%s=%s", l->key, l->value);
	tap_str(got, s->label, s->name);
	free(text);
}

static void test_calls(void)
{
	static const struct { const char *name, *module; bool is_call; } c[] = {
		{ "schedule", "[kernel.kallsyms]", true }, { "nvme_poll", "/lib/nvme.ko.xz", true },
		{ "ext4_sync", "[ext4]", true }, { "f", "[jit] 0x7f00-0x8000", false },
		{ "poll", LIBC, true }, { "", "/lib/ld-musl-x86_64.so.1", true },
		{ "runtime.futex.abi0", "/bin/g", true }, { "uv_cond_wait", "/bin/node", true },
		{ "main", "/bin/x", false }, { "", "/bin/x", false }, { "", "", false },
		{ "runtime.findRunnable", "/bin/g", false }, { "runtime.gopark", "/bin/g", true },
		{ "sync.(*Mutex).Lock", "/bin/g", true }, { "sync.(*Pool).Get", "/bin/g", false },
		{ "f", "/lib/libc.so.6/x", false },
	};
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		const struct waitframes_frame f = { c[i].name, c[i].module };
		tap_ok(waitframes_is_call(&f) == c[i].is_call, "'%s' of %s %s", c[i].name,
		       c[i].module, c[i].is_call ? "only waits" : "is of the program");
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		play(&scenes[i]);
	struct waitframes_frame cut[] = { { "pthread_cond_wait", LIBC },
					  { "uv_cond_wait", "/lib/libuv.so.1" },
					  { "start_thread", LIBC } };
	tap_ok(!waitframes_label(cut, 3, false, ""), "the start of a thread needs the whole stack");
	test_calls();
	return tap_done();
}
