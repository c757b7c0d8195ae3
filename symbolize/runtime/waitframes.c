/*
 * A rule is a path of names, from the first frame outwards that is not a mere call to wait.  Each
 * word is alternatives, separated by '|', in which '*' stands for any text:
 *
 *   name    this frame; frames without a name are skipped if they are in the file of the next one
 *           with a name, or in that of the one before: static functions of stripped files
 *   ?name   this frame, or none
 *   +name   any number of such frames
 *   @file   a frame of a file with this name, whatever its function
 *   ^       the start of a thread: only frames of the C library follow
 *   $       any frames up to the start of a thread that is not the first one of its process
 *
 * Functions of Python are called py::NAME:FILE, as CPython's own map for perf does.
 *
 * Names come from the sources of the programs; the comments say which.
 */

#include "symbolize/runtime/waitframes.h"

#include "base/path.h"

#include <stdio.h>
#include <string.h>

#define EPOLL "epoll_wait|epoll_pwait|epoll_pwait2|poll|ppoll|select|pselect"
#define COND "pthread_cond_wait*|pthread_cond_timedwait*|pthread_cond_clockwait*"
#define HOTSPOT COND "|*sem_wait*|*sem_timedwait*|*sem_clockwait*"

#define INTERPRETER "@python3*|@libpython3*"

struct rule {
	struct waitframes_label label;
	const char *call;      /* one of the calls to wait; NULL: any */
	const char *path;
	const char *thread;    /* the thread's name; NULL: any */
};

#define LOOP { "idle", "event-loop" }
#define POOL { "idle", "pool" }

static const struct rule rules[] = {
	/* Redis and Valkey: ae.c, ae_epoll.c, bio.c, iothread.c, jemalloc's background_thread.c. */
	{ LOOP, EPOLL, "aeApiPoll|aeProcessEvents|aeMain" },
	{ POOL, COND, "bioProcessBackgroundJobs" },
	{ POOL, COND, "background_thread_sleep|background_work_sleep*|@libjemalloc.so* ^" },
	/* nginx: ngx_epoll_module.c and its neighbours, ngx_process_cycle.c, ngx_thread_pool.c. */
	{ LOOP, NULL, "ngx_epoll_process_events|ngx_poll_process_events|"
		      "ngx_select_process_events" },
	{ LOOP, EPOLL, "ngx_process_events_and_timers" },
	{ LOOP, "sigsuspend", "ngx_master_process_cycle" },
	{ POOL, NULL, "?ngx_thread_cond_wait ngx_thread_pool_cycle" },
	/* libuv: unix/linux.c, threadpool.c; node: node_platform.cc, inspector_agent.cc; V8's
	 * default platform. */
	{ LOOP, EPOLL, "uv__io_poll|uv_run" },
	{ POOL, "uv_cond_wait", "?worker ^" },
	{ POOL, NULL, "node::*PlatformWorkerThread*|node::TaskQueue<*|"
		      "node::*BlockingPop*|v8::platform::*::GetNext*" },
	{ POOL, NULL, "node::inspector::*StartIoThreadMain*" },
	/* libevent: epoll.c, poll.c, select.c, event.c; GLib: gmain.c. */
	{ LOOP, EPOLL, "epoll_dispatch|poll_dispatch|select_dispatch|event_base_loop|"
		       "event_base_dispatch" },
	{ LOOP, EPOLL, "g_main_context_poll*|g_main_context_iterate*|g_main_context_iteration|"
		       "g_main_loop_run" },
	{ POOL, "g_cond_wait*", "g_async_queue_*pop* ?g_thread_pool_wait_for_new_* "
				"?g_thread_pool_thread_proxy" },
	/* PostgreSQL: a backend that waits for its client's next command (pqcomm.c, postgres.c),
	 * the postmaster, and the main loops of the auxiliary processes. */
	{ LOOP, NULL, "secure_read ?pq_recvbuf ?pq_getbyte ?SocketBackend ?ReadCommand "
		      "PostgresMain" },
	{ LOOP, NULL, "?DetermineSleepTime ServerLoop|PostmasterMain" },
	{ POOL, NULL, "CheckpointerMain|BackgroundWriterMain|WalWriterMain|AutoVacLauncherMain|"
		      "StartAutoVacLauncher|ApplyLauncherMain|PgArchiverMain|pgarch_MainLoop|"
		      "SysLoggerMain|WalSummarizerMain|IoWorkerMain" },
	/* Python: asyncio and everything else that calls select.epoll.poll, selectmodule.c; the
	 * workers of concurrent.futures, and other threads that wait for SimpleQueue.get. */
	{ LOOP, "epoll_wait", "select_epoll_poll*|@select.cpython*|@python3*|@libpython3*" },
	{ POOL, NULL, "_queue_SimpleQueue_get*|@_queue.cpython* $" },
	/* queue.Queue is written in Python (queue.py, threading.py).  Any frames of the interpreter
	 * lie between its functions. */
	{ POOL, NULL, "+" INTERPRETER " py::Condition.wait:*/threading.py "
		      "+" INTERPRETER " py::Queue.get:*/queue.py $" },
	/* Go: proc.go, netpoll_epoll.go, sigqueue.go.  A goroutine that waits has no thread, so a
	 * thread that waits here has no work. */
	{ LOOP, NULL, "runtime.netpoll" },
	{ LOOP, NULL, "os/signal.signal_recv|os/signal.loop" },
	{ POOL, NULL, "?runtime.mPark runtime.stopm|runtime.findRunnable|runtime.findrunnable|"
		      "runtime.sysmon|runtime.templateThread|runtime.gcstopm" },
	{ POOL, NULL, "runtime.runqgrab ?runtime.runqsteal ?runtime.stealWork "
		      "runtime.findRunnable|runtime.findrunnable" },
	/* Goroutines, beside those that lib/snapshot/goidle.c recognises: `select {}`; the actors
	 * of oklog/run, which wait for their end; HTTP/2, gRPC and OpenTelemetry. */
	{ LOOP, "runtime.block", "*" },
	{ LOOP, "runtime.chanrecv*|runtime.selectgo", "*/oklog/run.(*Group).Run" },
	{ LOOP, "runtime.chanrecv*|runtime.selectgo",
	  "* ?main.main.func* */oklog/run.(*Group).Run.func*" },
	{ LOOP, "runtime.selectgo",
	  "net/http.(*http2serverConn).serve|*/net/http2.(*serverConn).serve" },
	{ POOL, "runtime.selectgo", "*/grpc/internal/transport.(*controlBuffer).get" },
	{ POOL, "runtime.selectgo", "*/otel/sdk/trace.(*batchSpanProcessor).processQueue" },
	/* Java: sun.nio.ch and Netty's transport; what the threads of a pool wait for, where Java's
	 * methods have names (ThreadPoolExecutor.java, ForkJoinPool.java). */
	{ LOOP, NULL, "Java_sun_nio_ch_EPoll_wait|Java_sun_nio_ch_EPollArrayWrapper_epollWait|"
		      "netty_epoll_native_epollWait*|netty_epoll_linuxsocket_epollWait*" },
	{ POOL, NULL, "Unsafe_Park +*java.util.concurrent.locks*|*java/util/concurrent/locks*|"
		      "*Queue*.take*|*Queue*::take*|*Queue*.poll*|*Queue*::poll*|"
		      "*ForkJoinPool*managedBlock*|"
		      "*jdk.internal.misc.Unsafe*|*jdk/internal/misc/Unsafe*|*sun/misc/Unsafe* "
		      "*ThreadPoolExecutor*getTask*|*ForkJoinPool*awaitWork*|"
		      "*ForkJoinPool*runWorker*" },
	/* HotSpot's own threads, JDK 8 to 21: compileBroker.cpp, vmThread.cpp, workgroup.cpp,
	 * workerThread.cpp, g1ServiceThread.cpp, g1ConcurrentRefineThread.cpp, watcherThread in
	 * nonJavaThread.cpp, serviceThread.cpp, os.cpp, attachListener_linux.cpp; the launcher's
	 * first thread, java_md.c. */
	{ POOL, HOTSPOT, "CompileQueue::get*|VMThread::loop*|VMThread::wait_*|"
			 "SemaphoreGangTaskDispatcher::worker_wait_for_task*|GangWorker::loop*|"
			 "WorkerTaskDispatcher::worker_run_task*|WorkerThread::run*|"
			 "G1ServiceThread::*|G1ConcurrentRefineThread::*|"
			 "G1PrimaryConcurrentRefineThread::*|G1ConcurrentMarkThread::*|"
			 "G1YoungRemSetSamplingThread::*|"
			 "WatcherThread::*|ServiceThread::service_thread_entry*|"
			 "MonitorDeflationThread::monitor_deflation_thread_entry*|"
			 "NotificationThread::notification_thread_entry*|"
			 "StringDedup*::*wait*|ConcurrentGCThread::*|"
			 "signal_thread_entry*|os::signal_wait*|check_pending_signals*|"
			 "NMethodSweeper::sweeper_loop*|JVM_WaitForReferencePendingList" },
	{ POOL, NULL, "ObjectMonitor::wait*", "Finalizer|Common-Cleaner" },
	{ POOL, "accept|accept4", "LinuxAttachListener::dequeue*|AttachListener::dequeue*" },
	{ POOL, "pthread_join*|pthread_clockjoin_ex",
	  "CallJavaMainInNewThread|ContinueInNewThread*|JLI_Launch" },

	/* Python's global lock, ceval_gil.h: the wait for it, and its release. */
	{ { "wait", "gil" }, "pthread_cond_*|sem_*",
	  "take_gil|drop_gil|PyEval_RestoreThread|PyEval_SaveThread|PyEval_AcquireThread|"
	  "PyEval_ReleaseThread|_PyEval_EvalFrameDefault|_Py_HandlePending|"
	  "_PyThreadState_Attach|_PyThreadState_Detach|PyGILState_Ensure|PyGILState_Release" },
	/* HotSpot: objectMonitor.cpp, synchronizer.cpp, unsafe.cpp, jvm.cpp. */
	{ { "wait", "monitor" }, NULL, "ObjectMonitor::enter*|ObjectMonitor::EnterI*|"
				       "ObjectMonitor::ReenterI*|ObjectSynchronizer::enter*" },
	{ { "wait", "notify" }, NULL, "ObjectMonitor::wait*" },
	{ { "wait", "park" }, NULL, "Unsafe_Park" },
	{ { "wait", "sleep" }, NULL, "JavaThread::sleep*|os::sleep*|JVM_Sleep" },
};

/* Wait functions of runtimes that are in no library of their own, and libraries' wrappers. */
static const char *const calls[] = {
	/* Go: os_linux.go, lock_futex.go, the packages of system calls. */
	"runtime.futex*|runtime.note*sleep*|runtime.semasleep*|runtime.usleep*|"
	"runtime.epollwait*|runtime.epoll_wait*|internal/runtime/syscall.*|"
	"runtime/internal/syscall.*|internal/runtime/syscall/linux.*|"
	"syscall.Syscall*|syscall.RawSyscall*|syscall.syscall*|runtime.entersyscall*|"
	"runtime.mutexSleep*|runtime.osyield*",
	/* Goroutines: proc.go, chan.go, select.go, sema.go, and the packages sync and
	 * internal/sync. */
	"runtime.gopark*|runtime.chanrecv*|runtime.chansend*|runtime.selectgo*|runtime.block|"
	"runtime.semacquire*|runtime.notifyListWait|sync.runtime_*|internal/sync.runtime_*|"
	"sync.(*Mutex).*|internal/sync.(*Mutex).*|sync.(*RWMutex).*Lock|sync.(*WaitGroup).Wait|"
	"sync.(*Cond).Wait",
	/* HotSpot: os_posix.cpp, mutex.cpp, semaphore_posix.cpp. */
	"os::PlatformEvent::park*|os::PlatformMonitor::wait*|PlatformEvent::park*|"
	"PlatformMonitor::wait*|os::PlatformParker*|Parker::park*|Monitor::wait*|"
	"Monitor::IWait*|Monitor::ParkCommon|MonitorLocker::wait*|Mutex::wait*|"
	"PosixSemaphore::*wait*|Semaphore::wait*|Semaphore::timedwait*",
	/* libuv, node and V8. */
	"uv_cond_wait|uv_cond_timedwait|uv_sem_wait|uv__sem_wait|uv_mutex_lock|"
	"node::*ConditionVariable*::Wait*|v8::base::ConditionVariable::Wait*|"
	"v8::base::Mutex::Lock*|v8::base::Semaphore::Wait*",
	/* GLib, and PostgreSQL's latch.c and waiteventset.c. */
	"g_poll|g_cond_wait*|g_mutex_lock*",
	"WaitEventSetWait*|WaitLatch*",
	/* Python's thread_pthread.h. */
	"PyThread_acquire_lock*|PyCOND_TIMEDWAIT|PyCOND_WAIT|acquire_timed",
	/* musl, linked statically: __timedwait.c, syscall_cp.s. */
	("__syscall_cp*|__cp_end|sccp|__timedwait*|__futexwait|__wait|"
	 "epoll_wait|epoll_pwait|poll|ppoll|select|pselect|nanosleep|clock_nanosleep|"
	 "pthread_cond_wait|pthread_cond_timedwait|pthread_mutex_lock|sem_wait|sem_timedwait"),
	/* C++ */
	"std::condition_variable::*|std::this_thread::sleep_*|std::mutex::lock|"
	"__gthread_*|std::__atomic_futex_unsigned_base::*",
};

/* ---- words ------------------------------------------------------------------------------- */

/* Does pattern, up to end, match the whole text? */
static bool glob(const char *pattern, const char *end, const char *text)
{
	const char *star = NULL, *back = NULL;
	while (*text) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			back = text;
		} else if (pattern < end && *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++back;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

/* Is one of the alternatives up to end the text? */
static bool any_glob(const char *pattern, const char *end, const char *text)
{
	while (pattern < end) {
		const char *bar = memchr(pattern, '|', (size_t)(end - pattern));
		if (glob(pattern, bar ? bar : end, text))
			return true;
		if (!bar)
			break;
		pattern = bar + 1;
	}
	return false;
}

static bool any_name(const char *pattern, const char *text)
{
	return any_glob(pattern, pattern + strlen(pattern), text);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "[kernel.kallsyms]", "[ext4]", "[vdso]"; other tools write "/lib/modules/.../ext4.ko.xz". */
static bool is_kernel(const char *module)
{
	static const char *const memory[] = { "[jit", "[anon", "[heap", "[stack", "[unknown" };
	const char *ko = strstr(module, ".ko");
	if (*module != '[')
		return ko && (!ko[3] || (ko[3] == '.' && !strchr(ko, '/')));
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		if (begins(module, memory[i]))
			return false;
	return true;
}

/* The C library, and the parts of C++'s that threads wait in. */
static bool is_library(const char *module)
{
	static const char *const begin[] = {
		"libc.so", "libc-2.", "libpthread", "ld-linux", "ld-musl", "libc.musl", "ld-2.",
		"libstdc++.so", "libc++.so",
	};
	const char *base = path_base_name(module);
	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (begins(base, begin[i]))
			return true;
	return false;
}

static bool is_named(const struct waitframes_frame *f)
{
	return f->name[0] != '\0';
}

bool waitframes_is_call(const struct waitframes_frame *f)
{
	if (is_kernel(f->module) || is_library(f->module))
		return true;
	for (size_t i = 0; is_named(f) && i < sizeof(calls) / sizeof(*calls); i++)
		if (any_name(calls[i], f->name))
			return true;
	return false;
}

/* The C library's own names for a function: "__GI___poll", "poll@@GLIBC_2.2.5". */
static bool is_call_to(const char *pattern, const struct waitframes_frame *f)
{
	char name[64];
	const char *text = f->name;
	if (begins(text, "__GI_"))
		text += 5;
	text += strspn(text, "_");
	size_t n = strcspn(text, "@(");
	if (n >= sizeof(name))
		return false;
	memcpy(name, text, n);
	name[n] = '\0';
	return any_name(pattern, name);
}

const char *waitframes_remark(const char *function)
{
	if (!any_name("runtime.mcall|runtime.mstart1|runtime.findRunnable", function))
		return NULL;
	return "waits of threads: a goroutine of Go that waits for a channel, a lock or the "
	       "network has no thread, so it is not measured";
}

/* ---- paths ------------------------------------------------------------------------------- */

struct stack {
	const struct waitframes_frame *f;
	size_t n, first;       /* first: past the calls to wait */
	bool is_whole;
};

/* Is frame i a function without a name in the file of the next one with a name, or of the one
 * before? */
static bool is_skipped(const struct stack *s, size_t i)
{
	if (is_named(&s->f[i]))
		return false;
	if (i > 0 && strcmp(s->f[i].module, s->f[i - 1].module) == 0)
		return true;
	for (size_t k = i + 1; k < s->n; k++) {
		if (strcmp(s->f[k].module, s->f[i].module) != 0)
			return false;
		if (is_named(&s->f[k]))
			return true;
	}
	return false;
}

static size_t skip_calls(const struct stack *s)
{
	size_t at = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (waitframes_is_call(&s->f[i]))
			at = i + 1;
		else if (!is_skipped(s, i))
			break;
	}
	return at;
}

static bool is_start(const struct stack *s, size_t i)
{
	while (i < s->n && is_skipped(s, i))
		i++;
	for (; i < s->n; i++)
		if (!is_library(s->f[i].module))
			return false;
	return s->is_whole;
}

/* It begins in the C library, the first one in the program. */
static bool is_later_thread(const struct stack *s)
{
	return s->n > 0 && is_library(s->f[s->n - 1].module) &&
	       !is_call_to("libc_start*", &s->f[s->n - 1]);
}

/* The name that rules have: of a function that was read from the memory of Python, with its file,
 * in text. */
static const char *name_of(const struct waitframes_frame *f, char *text, size_t n_bytes)
{
	if (!f->source || !*f->source || !begins(f->name, "py::") || strchr(f->name + 4, ':'))
		return f->name;
	int n = snprintf(text, n_bytes, "%s:%s", f->name, f->source);
	return n > 0 && (size_t)n < n_bytes ? text : f->name;
}

static bool fits(const char *word, const char *end, const struct waitframes_frame *f)
{
	char text[512];
	for (const char *bar; word < end; word = bar + 1) {
		bar = memchr(word, '|', (size_t)(end - word));
		bar = bar ? bar : end;
		if (*word == '@' ? glob(word + 1, bar, path_base_name(f->module))
				 : is_named(f) && glob(word, bar, name_of(f, text, sizeof(text))))
			return true;
	}
	return false;
}

static bool follows(const struct stack *s, const char *path)
{
	size_t i = s->first;
	while (*path) {
		const char *end = path + strcspn(path, " ");
		char kind = *path == '?' || *path == '+' ? *path : '\0';
		const char *word = path + (kind != '\0');
		size_t before = i;
		if (*path == '^')
			return is_start(s, i);
		if (*path == '$')
			return is_later_thread(s);
		while (i < s->n && !fits(word, end, &s->f[i]) && is_skipped(s, i))
			i++;
		if (i < s->n && fits(word, end, &s->f[i])) {
			i++;
			if (kind == '+')
				continue;
		} else if (kind) {
			i = before;
		} else {
			return false;
		}
		path = end + strspn(end, " ");
	}
	return true;
}

static bool has_call(const struct stack *s, const char *call)
{
	for (size_t i = 0; i < s->first; i++)
		if (is_call_to(call, &s->f[i]))
			return true;
	return false;
}

const struct waitframes_label *waitframes_label(const struct waitframes_frame *f, size_t n,
						bool is_whole, const char *thread)
{
	struct stack s = { f, n, 0, is_whole };
	s.first = skip_calls(&s);
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *r = &rules[i];
		if (follows(&s, r->path) && (!r->call || has_call(&s, r->call)) &&
		    (!r->thread || any_name(r->thread, thread)))
			return &r->label;
	}
	return NULL;
}
