/* Every address comes from the program, which goes on running: lists may have no end, and may come
 * back to where they were. */

#include "symbolize/runtime/python-threads.h"

#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/runtime-cycle.h"
#include "symbolize/runtime/runtime-pages.h"

#include <string.h>

/* The id of a thread in the C library's description of it, whose address is pthread_self(3): struct
 * pthread of glibc for x86-64, nptl/descr.h. */
#define GLIBC_TID_OFF 720u

static bool read_word(struct runtime_pages *p, uint64_t at, uint64_t *ret)
{
	return runtime_pages_read(p, at, ret, sizeof(*ret));
}

/* ---- threads ------------------------------------------------------------------------------- */

static uint32_t read_tid(struct runtime_pages *pages, uint64_t at)
{
	int32_t tid;
	return runtime_pages_read(pages, at, &tid, sizeof(tid)) && tid > 0 ? (uint32_t)tid : 0;
}

static bool read_thread(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			struct python_thread *ret)
{
	const struct python_layout *l = &p->layout;
	uint64_t pthread;
	*ret = (struct python_thread){ .at = at };
	if (!read_word(pages, at + l->thread_id, &pthread))
		return false;
	if (l->thread_native_id != PYTHON_LAYOUT_NONE)
		ret->tid = read_tid(pages, at + l->thread_native_id);
	ret->c_tid = pthread ? read_tid(pages, pthread + GLIBC_TID_OFF) : 0;
	return true;
}

bool python_threads_read(const struct python_program *p, struct runtime_pages *pages,
			 struct python_threads *ret)
{
	const struct python_layout *l = &p->layout;
	struct runtime_cycle interps = { 0 };
	uint64_t interp, thread;
	ret->v.n = 0;
	if (!read_word(pages, p->runtime + l->runtime_interpreters, &interp))
		return false;
	for (size_t i = 0; interp && i < PYTHON_INTERPRETERS_MAX; i++) {
		struct runtime_cycle threads = { 0 };
		if (!runtime_cycle_is_next(&interps, interp) ||
		    !read_word(pages, interp + l->interp_threads, &thread))
			return false;
		while (thread && ret->v.n < PYTHON_THREADS_MAX) {
			struct python_thread t;
			if (!runtime_cycle_is_next(&threads, thread) ||
			    !read_thread(p, pages, thread, &t) ||
			    !VEC_PUSH(&ret->v, t) ||
			    !read_word(pages, thread + l->thread_next, &thread))
				return false;
		}
		if (!read_word(pages, interp + l->interp_next, &interp))
			return false;
	}
	return !interp;
}

const struct python_thread *python_threads_find(const struct python_threads *t, uint32_t tid)
{
	for (size_t i = 0; i < t->v.n && tid; i++)
		if (t->v.v[i].tid == tid)
			return &t->v.v[i];
	for (size_t i = 0; i < t->v.n && tid; i++)
		if (t->v.v[i].c_tid == tid)
			return &t->v.v[i];
	return NULL;
}

bool python_threads_frame(const struct python_program *p, struct runtime_pages *pages,
			  const struct python_thread *t, uint64_t *ret)
{
	const struct python_layout *l = &p->layout;
	struct python_thread now;
	if (!read_thread(p, pages, t->at, &now) || now.tid != t->tid || now.c_tid != t->c_tid ||
	    !read_word(pages, t->at + l->thread_frame, ret))
		return false;
	return l->cframe_frame == PYTHON_LAYOUT_NONE || !*ret ||
	       read_word(pages, *ret + l->cframe_frame, ret);
}

/* ---- frames -------------------------------------------------------------------------------- */

/* Of pointers that carry a mark in their low bits (3.14). */
#define POINTER(x) ((x) & ~UINT64_C(3))

static uint64_t word_at(const uint8_t *bytes, uint16_t off)
{
	uint64_t x;
	memcpy(&x, bytes + off, sizeof(x));
	return x;
}

static int64_t instruction_off(const struct python_layout *l, const uint8_t *frame, uint64_t code)
{
	int32_t number;
	if (!l->has_object_code)
		return (int64_t)(word_at(frame, l->frame_instruction) - (code + l->code_start));
	memcpy(&number, frame + l->frame_instruction, sizeof(number));
	return (int64_t)number * l->unit;
}

/* Does an activation begin with it?  *ret_is_function: it has a function. */
static bool is_entry(const struct python_layout *l, const uint8_t *frame, bool *ret_is_function)
{
	uint8_t mark = l->entry == PYTHON_ENTRY_EACH ? 1 : frame[l->frame_entry];
	bool has_owner = l->entry == PYTHON_ENTRY_OWNER;
	*ret_is_function = !has_owner || mark < l->entry_owner;
	return has_owner ? mark == l->entry_owner : mark != 0;
}

/* Adds the frame; false: no memory. */
static bool add_frame(const struct python_layout *l, uint64_t at, const uint8_t *frame,
		      struct python_frames *ret)
{
	uint64_t code = POINTER(word_at(frame, l->frame_code));
	bool is_function, is_end = is_entry(l, frame, &is_function);
	const struct python_frame f = { at, code, instruction_off(l, frame, code) };
	if (is_function && !VEC_PUSH(&ret->frames, f))
		return false;
	return !is_end || VEC_PUSH(&ret->ends, (uint32_t)ret->frames.n);
}

bool python_frames_code(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			uint64_t *ret)
{
	if (!read_word(pages, at + p->layout.frame_code, ret))
		return false;
	*ret = POINTER(*ret);
	return true;
}

bool python_frames_trace(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			 uint64_t *ret_code, uint64_t *ret_caller)
{
	const struct python_layout *l = &p->layout;
	uint8_t frame[UINT8_MAX + 1];
	bool is_function;
	if (l->frame_bytes > sizeof(frame) || !runtime_pages_read(pages, at, frame, l->frame_bytes))
		return false;
	*ret_code = POINTER(word_at(frame, l->frame_code));
	*ret_caller = is_entry(l, frame, &is_function) ? 0 : word_at(frame, l->frame_previous);
	if (!*ret_caller || l->entry != PYTHON_ENTRY_OWNER)
		return is_function;
	/* a frame without a function may be between */
	uint64_t caller = *ret_caller;
	bool is_caller;
	if (!runtime_pages_read(pages, caller, frame, l->frame_bytes) ||
	    is_entry(l, frame, &is_caller) || !is_caller)
		*ret_caller = 0;
	return is_function;
}

bool python_frames_read(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			struct python_frames *ret)
{
	const struct python_layout *l = &p->layout;
	struct runtime_cycle cycle = { 0 };
	uint8_t frame[UINT8_MAX + 1];
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = false;
	for (size_t i = 0; at && i < 2 * PYTHON_FRAMES_MAX; i++) {
		if (ret->frames.n == PYTHON_FRAMES_MAX || l->frame_bytes > sizeof(frame) ||
		    !runtime_cycle_is_next(&cycle, at) ||
		    !runtime_pages_read(pages, at, frame, l->frame_bytes))
			return true;
		if (!add_frame(l, at, frame, ret))
			return false;
		at = word_at(frame, l->frame_previous);
	}
	ret->is_whole = !at;
	return true;
}

void python_frames_done(struct python_frames *f)
{
	VEC_FREE(&f->frames);
	VEC_FREE(&f->ends);
}
