/* Every address comes from the program, which goes on running: lists may have no end. */

#include "symbolize/runtime/ruby-program.h"

#include "symbolize/runtime/runtime-cycle.h"
#include "symbolize/runtime/runtime-pages.h"

#include <string.h>

#define THREADS_MAX 65536u

/* The id of a thread in glibc's struct pthread for x86-64 (nptl/descr.h): after fork(2) Ruby's own
 * is that of the parent. */
#define GLIBC_TID_OFF 720u

/* Flags in the environment of a frame (vm_core.h). */
#define FLAG_FINISH 0x20u       /* the outermost frame of an activation of the loop */
#define FLAG_C 0x80u

static bool read_word(struct runtime_pages *pages, uint64_t at, uint64_t *ret)
{
	return runtime_pages_read(pages, at, ret, sizeof(*ret));
}

/* A thread refers to its context, and the context to its thread. */
static enum ruby_program_result prove(const struct ruby_program *p, struct runtime_pages *pages)
{
	uint64_t vm, ractor, thread, ec, back;
	if (!read_word(pages, p->vm, &vm))
		return RUBY_PROGRAM_UNREADABLE;
	if (!vm || !read_word(pages, vm + RUBY_VM_MAIN_RACTOR, &ractor) || !ractor ||
	    !read_word(pages, ractor + p->layout->ractor_threads, &thread) || !thread ||
	    thread == ractor + p->layout->ractor_threads)
		return RUBY_PROGRAM_STARTING;
	return read_word(pages, thread + p->layout->thread_ec, &ec) &&
	       read_word(pages, ec + RUBY_EC_THREAD, &back) && back == thread ?
		RUBY_PROGRAM_OK : RUBY_PROGRAM_MISFIT;
}

enum ruby_program_result ruby_program_open(struct runtime_pages *pages, uint64_t version,
					   uint64_t vm, struct ruby_program *ret)
{
	*ret = (struct ruby_program){ .vm = vm };
	if (!runtime_pages_text(pages, version, ret->version, sizeof(ret->version))) {
		*ret->version = '\0';
		return RUBY_PROGRAM_UNREADABLE;
	}
	for (char *v = ret->version; *v; v++)
		if (*v < ' ' || *v > '~')
			*v = '?';
	ret->layout = ruby_layout_find(ret->version);
	if (!ret->layout)
		return RUBY_PROGRAM_UNSUPPORTED;
	return vm ? prove(ret, pages) : RUBY_PROGRAM_NO_VM;
}

/* ---- threads ------------------------------------------------------------------------------- */

static bool has_tid(const struct ruby_layout *l, struct runtime_pages *pages, uint64_t thread,
		    uint32_t tid)
{
	uint64_t pthread, native = thread;
	uint32_t own;
	if (l->thread_native && !read_word(pages, thread + l->thread_native, &native))
		return false;
	if (runtime_pages_read(pages, native + l->native_tid, &own, sizeof(own)) && own == tid)
		return true;
	return read_word(pages, native + l->native_pthread, &pthread) &&
	       runtime_pages_read(pages, pthread + GLIBC_TID_OFF, &own, sizeof(own)) && own == tid;
}

static bool read_stack(const struct ruby_layout *l, struct runtime_pages *pages, uint64_t thread,
		       struct ruby_stack *ret)
{
	uint64_t ec, stack, n;
	if (!read_word(pages, thread + l->thread_ec, &ec) ||
	    !read_word(pages, ec + RUBY_EC_STACK, &stack) ||
	    !read_word(pages, ec + RUBY_EC_STACK + 8, &n) ||
	    !read_word(pages, ec + RUBY_EC_FRAME, &ret->at))
		return false;
	ret->end = stack + n * RUBY_WORD_BYTES;
	return ret->at % 8 == 0 && n <= UINT32_MAX;
}

bool ruby_program_stack(const struct ruby_program *p, struct runtime_pages *pages, uint32_t tid,
			struct ruby_stack *ret, bool *ret_is_known)
{
	struct runtime_cycle cycle = { 0 };
	uint64_t vm, ractor, head, thread;
	*ret_is_known = false;
	if (!read_word(pages, p->vm, &vm) || !read_word(pages, vm + RUBY_VM_MAIN_RACTOR, &ractor))
		return false;
	head = ractor + p->layout->ractor_threads;
	if (!read_word(pages, head, &thread))
		return false;
	for (size_t i = 0; thread != head && i < THREADS_MAX; i++) {
		if (!runtime_cycle_is_next(&cycle, thread))
			return false;
		if (has_tid(p->layout, pages, thread, tid))
			return read_stack(p->layout, pages, thread, ret);
		if (!read_word(pages, thread, &thread))
			return false;
	}
	*ret_is_known = thread == head;
	return false;
}

/* ---- frames -------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t x;
	memcpy(&x, bytes + off, sizeof(x));
	return x;
}

bool ruby_program_code(struct runtime_pages *pages, uint64_t at, uint64_t *ret)
{
	return read_word(pages, at + RUBY_FRAME_ISEQ, ret);
}

bool ruby_program_frames(const struct ruby_program *p, struct runtime_pages *pages,
			 const struct ruby_stack *s, struct runtime_frames *ret)
{
	const size_t n_bytes = p->layout->frame_bytes;
	uint8_t frame[RUBY_FRAME_BYTES_MAX];
	uint64_t at = s->at, flags;
	ret->v.n = ret->ends.n = 0;
	ret->is_whole = false;
	/* the outermost frame is not executed (vm_backtrace.c) */
	for (; at < s->end && s->end - at >= 2 * n_bytes; at += n_bytes) {
		if (ret->v.n == RUNTIME_FRAMES_MAX ||
		    !runtime_pages_read(pages, at, frame, n_bytes))
			return true;
		const struct runtime_frame f = {
			at, word_at(frame, RUBY_FRAME_ISEQ), word_at(frame, RUBY_FRAME_PC),
		};
		if (!f.code || !f.instruction)
			continue;
		if (!read_word(pages, word_at(frame, RUBY_FRAME_EP), &flags))
			return true;
		if (flags & FLAG_C)
			continue;
		if (!VEC_PUSH(&ret->v, f) ||
		    ((flags & FLAG_FINISH) && !VEC_PUSH(&ret->ends, (uint32_t)ret->v.n)))
			return false;
	}
	ret->is_whole = true;
	return true;
}
