#ifndef CPROF_TESTS_PYMEMORY_H
#define CPROF_TESTS_PYMEMORY_H

/* A CPython in memory, in the layout of a version: functions, frames, threads. */

#include "symbolize/runtime/python-layout.h"
#include "tests/unit/symbolize/gomemory.h"

#define PYMEMORY_CODE_TYPE (GOMEMORY_DATA + 0x1000u)    /* PyCode_Type */
#define PYMEMORY_BYTES_TYPE (GOMEMORY_DATA + 0x1100u)   /* PyBytes_Type */
#define PYMEMORY_TID 4242u

struct pymemory {
	struct gomemory memory;
	struct python_layout l;
	uint64_t next;                  /* free in the heap */
};

static inline void pymemory_init(struct pymemory *m, const struct python_layout *l)
{
	memset(m, 0, sizeof(*m));
	m->l = *l;
	m->next = GOMEMORY_HEAP + 0x100;
}

static inline uint64_t pymemory_room(struct pymemory *m, size_t n)
{
	uint64_t at = m->next;
	m->next += (n + 15) & ~(size_t)15;
	return at;
}

static inline void pymemory_int(struct pymemory *m, uint64_t at, uint32_t x)
{
	gomemory_put(&m->memory, at, &x, sizeof(x));
}

/* A str of n characters of `kind` bytes each; ASCII is a kind of its own. */
static inline uint64_t pymemory_text(struct pymemory *m, const void *characters, uint64_t n,
				     uint32_t kind, bool is_ascii)
{
	size_t head = is_ascii ? m->l.text_bytes : m->l.wide_text_bytes;
	uint64_t at = pymemory_room(m, head + n * kind);
	gomemory_word(&m->memory, at + PYTHON_SIZE_OFF, n);
	pymemory_int(m, at + PYTHON_TEXT_STATE_OFF, 1u | kind << 2 | 1u << 5 |
						    (uint32_t)is_ascii << 6);
	gomemory_put(&m->memory, at + head, characters, n * kind);
	return at;
}

static inline uint64_t pymemory_bytes(struct pymemory *m, const void *bytes, uint64_t n)
{
	uint64_t at = pymemory_room(m, PYTHON_BYTES_OFF + n + 1);
	gomemory_word(&m->memory, at + PYTHON_TYPE_OFF, PYMEMORY_BYTES_TYPE);
	gomemory_word(&m->memory, at + PYTHON_SIZE_OFF, n);
	gomemory_put(&m->memory, at + PYTHON_BYTES_OFF, bytes, n);
	return at;
}

/* A code object with 20 instructions. */
static inline uint64_t pymemory_code(struct pymemory *m, const char *name, uint32_t first_line,
				     const uint8_t *lines, size_t n_lines)
{
	const struct python_layout *l = &m->l;
	uint8_t code[40] = { 0 };
	uint64_t text = pymemory_text(m, name, strlen(name), 1, true);
	uint64_t file = pymemory_text(m, "/srv/a.py", 9, 1, true);
	uint64_t table = pymemory_bytes(m, lines, n_lines);
	uint64_t at = pymemory_room(m, 320);
	gomemory_word(&m->memory, at + PYTHON_TYPE_OFF, PYMEMORY_CODE_TYPE);
	gomemory_word(&m->memory, at + PYTHON_SIZE_OFF, 20);
	gomemory_word(&m->memory, at + l->code_name, text);
	if (l->code_qualname != PYTHON_LAYOUT_NONE)
		gomemory_word(&m->memory, at + l->code_qualname, text);
	gomemory_word(&m->memory, at + l->code_file, file);
	gomemory_word(&m->memory, at + l->code_lines, table);
	pymemory_int(m, at + l->code_first_line, first_line);
	if (l->has_object_code)
		gomemory_word(&m->memory, at + l->code_start, pymemory_bytes(m, code, 40));
	return at;
}

/* A frame at the instruction with that number, called by another one.  is_entry: it is the
 * outermost one of its activation.  Returns the frame to which a callee points. */
static inline uint64_t pymemory_frame(struct pymemory *m, uint64_t code, int number,
				      uint64_t previous, bool is_entry)
{
	const struct python_layout *l = &m->l;
	if (is_entry && l->entry == PYTHON_ENTRY_OWNER) {
		uint64_t entry = pymemory_room(m, 128);
		gomemory_word(&m->memory, entry + l->frame_previous, previous);
		gomemory_put(&m->memory, entry + l->frame_entry, &l->entry_owner, 1);
		previous = entry;
	}
	uint64_t at = pymemory_room(m, 128);
	gomemory_word(&m->memory, at + l->frame_code, code);
	gomemory_word(&m->memory, at + l->frame_previous, previous);
	if (l->has_object_code)
		pymemory_int(m, at + l->frame_instruction, (uint32_t)(2 * number / l->unit));
	else
		gomemory_word(&m->memory, at + l->frame_instruction,
			      code + l->code_start + 2 * (uint64_t)number);
	if (l->entry == PYTHON_ENTRY_MARKED)
		gomemory_put(&m->memory, at + l->frame_entry, &is_entry, 1);
	return at;
}

/* A thread, and the next one after it; its pthread_t shows PYMEMORY_TID to the C library. */
static inline uint64_t pymemory_thread(struct pymemory *m, uint32_t tid, uint64_t frame,
				       uint64_t next)
{
	const struct python_layout *l = &m->l;
	uint64_t pthread = pymemory_room(m, 1024), at = pymemory_room(m, 512);
	pymemory_int(m, pthread + 720, PYMEMORY_TID);
	gomemory_word(&m->memory, at + l->thread_next, next);
	gomemory_word(&m->memory, at + l->thread_id, pthread);
	if (l->thread_native_id != PYTHON_LAYOUT_NONE)
		gomemory_word(&m->memory, at + l->thread_native_id, tid);
	if (l->cframe_frame != PYTHON_LAYOUT_NONE) {
		uint64_t cframe = pymemory_room(m, 32);
		gomemory_word(&m->memory, cframe + l->cframe_frame, frame);
		frame = cframe;
	}
	gomemory_word(&m->memory, at + l->thread_frame, frame);
	return at;
}

/* An interpreter, and the next one. */
static inline uint64_t pymemory_interpreter(struct pymemory *m, uint64_t thread, uint64_t next)
{
	uint64_t at = pymemory_room(m, 8192);
	gomemory_word(&m->memory, at + m->l.interp_next, next);
	gomemory_word(&m->memory, at + m->l.interp_threads, thread);
	return at;
}

#endif
