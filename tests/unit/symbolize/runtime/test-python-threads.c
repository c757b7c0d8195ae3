/* Threads and frames of each layout, and lists without an end. */

#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/python-threads.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/pymemory.h"

#include <stdio.h>

static struct pymemory memory;
static const struct runtime_memory from = { gomemory_read, &memory.memory };
static struct runtime_pages pages;
static struct python_program program;
static struct python_threads threads;
static struct python_frames frames;

/* 3.13 and 3.14 have a table of their own, and else the frames of 3.12. */
static void start(unsigned int minor)
{
	struct python_layout l = { 0 };
	python_layout_of(minor > 12 ? 12 : minor, &l);
	if (minor > 12)
		l.cframe_frame = PYTHON_LAYOUT_NONE;
	pymemory_init(&memory, &l);
	program = (struct python_program){ .layout = l, .runtime = GOMEMORY_DATA };
	runtime_pages_done(&pages);
	runtime_pages_init(&pages, &from, 1000);
}

static void set_interpreters(uint64_t first)
{
	gomemory_word(&memory.memory, program.runtime + memory.l.runtime_interpreters, first);
}

static void all_frames(unsigned int minor)
{
	static const uint8_t table[] = { 0, 0 };
	start(minor);
	uint64_t outer = pymemory_code(&memory, "outer", 1, table, 2);
	uint64_t inner = pymemory_code(&memory, "inner", 5, table, 2);
	bool each = memory.l.entry == PYTHON_ENTRY_EACH;
	uint64_t f = pymemory_frame(&memory, outer, 3, 0, true);
	f = pymemory_frame(&memory, outer, 4, f, each);
	f = pymemory_frame(&memory, inner, 5, f, true);
	f = pymemory_frame(&memory, outer, 6, f, each);
	uint64_t two = pymemory_thread(&memory, 11, 0, 0);
	uint64_t one = pymemory_thread(&memory, 10, f, two);
	uint64_t other = pymemory_interpreter(&memory, pymemory_thread(&memory, 12, 0, 0), 0);
	set_interpreters(pymemory_interpreter(&memory, one, other));

	bool has_tid = memory.l.thread_native_id != PYTHON_LAYOUT_NONE;
	tap_ok(python_threads_read(&program, &pages, &threads) && threads.v.n == 3,
	       "3.%u: threads of two interpreters", minor);
	const struct python_thread *t = python_threads_find(&threads, has_tid ? 10 : PYMEMORY_TID);
	uint64_t at = 0;
	tap_ok(t && t->at == one && python_threads_frame(&program, &pages, t, &at) && at == f,
	       "3.%u: the frame of a thread", minor);
	tap_ok(python_threads_find(&threads, PYMEMORY_TID) == threads.v.v,
	       "3.%u: or by the C library's id, after a fork", minor);
	tap_ok(!python_threads_find(&threads, 77) && !python_threads_find(&threads, 0),
	       "3.%u: a thread that Python does not know", minor);

	tap_ok(python_frames_read(&program, &pages, at, &frames) && frames.is_whole &&
	       frames.frames.n == 4 && frames.frames.v[0].code == outer &&
	       frames.frames.v[0].off == 12 && frames.frames.v[1].code == inner &&
	       frames.frames.v[1].off == 10 && frames.frames.v[3].off == 6,
	       "3.%u: its functions and their instructions", minor);
	if (each)
		tap_ok(frames.ends.n == 4 && frames.ends.v[0] == 1 && frames.ends.v[3] == 4,
		       "3.%u: each has an activation", minor);
	else
		tap_ok(frames.ends.n == 2 && frames.ends.v[0] == 2 && frames.ends.v[1] == 4,
		       "3.%u: two activations of the loop", minor);

	uint64_t code, caller, f_caller = frames.frames.v[1].at;
	tap_ok(python_frames_trace(&program, &pages, f, &code, &caller) && code == outer &&
	       caller == (each ? 0 : f_caller), "3.%u: who has called one of them", minor);
	tap_ok(python_frames_trace(&program, &pages, f_caller, &code, &caller) && code == inner &&
	       !caller, "3.%u: native code has", minor);
	tap_ok(!python_frames_trace(&program, &pages, 0x10, &code, &caller),
	       "3.%u: no frame", minor);

	gomemory_word(&memory.memory, f + memory.l.frame_previous, f);
	runtime_pages_forget(&pages);
	tap_ok(python_frames_read(&program, &pages, f, &frames) && !frames.is_whole &&
	       frames.frames.n <= 2, "3.%u: frames that lead back to themselves", minor);
	gomemory_word(&memory.memory, f + memory.l.frame_previous, 0x10);
	runtime_pages_forget(&pages);
	tap_ok(python_frames_read(&program, &pages, f, &frames) && !frames.is_whole &&
	       frames.frames.n == 1, "3.%u: a caller that cannot be read", minor);
	gomemory_word(&memory.memory, one + memory.l.thread_id, 0);
	gomemory_word(&memory.memory, one + memory.l.thread_next, one);
	runtime_pages_forget(&pages);
	tap_ok(!python_threads_frame(&program, &pages, &(struct python_thread){
		       .at = one, .tid = has_tid ? 9 : 0, .c_tid = PYMEMORY_TID }, &at),
	       "3.%u: a thread that has become another one", minor);
	runtime_pages_forget(&pages);
	tap_ok(!python_threads_read(&program, &pages, &threads) && threads.v.n <= 2,
	       "3.%u: threads that do", minor);
	set_interpreters(0x10);
	runtime_pages_forget(&pages);
	tap_ok(!python_threads_read(&program, &pages, &threads) && !threads.v.n,
	       "3.%u: an interpreter that cannot be read", minor);
}

int main(void)
{
	for (unsigned int minor = 8; minor <= 13; minor++)
		all_frames(minor);
	start(12);
	set_interpreters(0);
	tap_ok(python_threads_read(&program, &pages, &threads) && !threads.v.n, "no interpreter");
	tap_ok(python_frames_read(&program, &pages, 0, &frames) && frames.is_whole &&
	       !frames.frames.n && !frames.ends.n, "no function");
	VEC_FREE(&threads.v);
	python_frames_done(&frames);
	runtime_pages_done(&pages);
	return tap_done();
}
