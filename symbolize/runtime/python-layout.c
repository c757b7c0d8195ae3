/*
 * The order of the table's fields changes with the minor version, and the table does not say where
 * a field is that is not in it.  So only known versions are accepted, and offsets that no structure
 * of Python can have are not.
 */

#include "symbolize/runtime/python-layout.h"

#include <string.h>

#define OBJECT_FRAME \
	.entry = PYTHON_ENTRY_EACH, .has_object_code = true, .interp_threads = 8, \
	.runtime_interpreters = 32, .thread_next = 8, .thread_id = 176, \
	.thread_native_id = PYTHON_LAYOUT_NONE, .thread_frame = 24, \
	.cframe_frame = PYTHON_LAYOUT_NONE, .frame_code = 32, .frame_previous = 24, \
	.frame_entry = PYTHON_LAYOUT_NONE, .frame_bytes = 112, .code_name = 112, \
	.code_qualname = PYTHON_LAYOUT_NONE, .code_file = 104, .code_first_line = 40, \
	.code_lines = 120, .code_start = 48, .code_bytes = 128, .text_bytes = 48, \
	.code_names = PYTHON_LAYOUT_NONE, .code_frame_words = PYTHON_LAYOUT_NONE, \
	.wide_text_bytes = 72

#define DATA_FRAME \
	.lines = PYTHON_LINES_LOCATIONS, .unit = 1, .thread_next = 8, .frame_instruction = 56, \
	.frame_bytes = 80, .code_name = 120, .code_qualname = 128, .code_file = 112, \
	.code_lines = 136, .code_bytes = 144, .code_flags = 48, .code_names = 32, \
	.code_frame_words = 76, .tuple_bytes = 24

static const struct python_layout known[] = {
	{
		.minor = 8, .lines = PYTHON_LINES_LNOTAB, .unit = 1, .frame_instruction = 104,
		OBJECT_FRAME,
	},
	{
		.minor = 9, .lines = PYTHON_LINES_LNOTAB, .unit = 1, .frame_instruction = 104,
		OBJECT_FRAME,
	},
	{
		.minor = 10, .lines = PYTHON_LINES_RANGES, .unit = 2, .frame_instruction = 96,
		OBJECT_FRAME,
	},
	{
		.minor = 11, DATA_FRAME, .entry = PYTHON_ENTRY_MARKED, .runtime_interpreters = 40,
		.interp_threads = 16, .thread_id = 152, .thread_native_id = 160,
		.thread_frame = 56, .cframe_frame = 8, .frame_code = 32, .frame_previous = 48,
		.frame_entry = 68, .code_first_line = 72, .code_start = 184, .text_bytes = 48,
		.wide_text_bytes = 72, .code_stack_words = 68, .frame_words = 9,
	},
	{
		.minor = 12, DATA_FRAME, .entry = PYTHON_ENTRY_OWNER, .entry_owner = 3,
		.runtime_interpreters = 40, .interp_threads = 72, .thread_id = 136,
		.thread_native_id = 144, .thread_frame = 56, .cframe_frame = 0,
		.frame_previous = 8, .frame_entry = 70, .code_first_line = 68, .code_start = 192,
		.text_bytes = 40, .wide_text_bytes = 56, .code_stack_words = PYTHON_LAYOUT_NONE,
	},
};

bool python_layout_of(unsigned int minor, struct python_layout *ret)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (known[i].minor != minor)
			continue;
		*ret = known[i];
		return true;
	}
	return false;
}

/* ---- tables -------------------------------------------------------------------------------- */

#define COOKIE "xdebugpy"
#define WORDS (PYTHON_LAYOUT_TABLE_BYTES / 8)

/* Indices of words: version, free_threaded, sizes of the parts that precede others. */
enum { VERSION = 1, FREE_THREADED, RUNTIME, INTERPRETER = RUNTIME + 3 };

/* No structure that is read has more bytes; that of an interpreter is the largest. */
#define OFFSET_MAX 65535u
#define FRAME_BYTES_MAX 256u
#define CODE_BYTES_MAX 512u

static bool is_below(uint64_t offset, uint64_t n_bytes, uint64_t limit)
{
	return offset <= limit - n_bytes && offset % (n_bytes < 8 ? n_bytes : 8) == 0;
}

static bool are_plausible(const uint64_t *runtime, const uint64_t *interp, const uint64_t *thread,
			  const uint64_t *frame, const uint64_t *code)
{
	return is_below(runtime[2], 8, OFFSET_MAX) && is_below(interp[2], 8, OFFSET_MAX) &&
	       is_below(interp[3], 8, OFFSET_MAX) && is_below(thread[2], 8, OFFSET_MAX) &&
	       is_below(thread[4], 8, OFFSET_MAX) && is_below(thread[5], 8, OFFSET_MAX) &&
	       is_below(thread[6], 8, OFFSET_MAX) && is_below(frame[1], 8, FRAME_BYTES_MAX) &&
	       is_below(frame[2], 8, FRAME_BYTES_MAX) && is_below(frame[3], 8, FRAME_BYTES_MAX) &&
	       is_below(frame[5], 1, FRAME_BYTES_MAX) && is_below(code[1], 8, CODE_BYTES_MAX) &&
	       is_below(code[2], 8, CODE_BYTES_MAX) && is_below(code[3], 8, CODE_BYTES_MAX) &&
	       is_below(code[4], 8, CODE_BYTES_MAX) && is_below(code[5], 4, CODE_BYTES_MAX) &&
	       is_below(code[9], 2, CODE_BYTES_MAX);
}

/* The end of the last one of n fields. */
static uint16_t end_of(const uint64_t *offset, size_t n)
{
	uint64_t last = 0;
	for (size_t i = 0; i < n; i++)
		last = offset[i] > last ? offset[i] : last;
	return (uint16_t)(last + 8);
}

enum python_layout_table python_layout_read(const uint8_t table[PYTHON_LAYOUT_TABLE_BYTES],
					    struct python_layout *ret, uint32_t *ret_version)
{
	uint64_t word[WORDS];
	memcpy(word, table, sizeof(word));
	if (memcmp(table, COOKIE, strlen(COOKIE)) != 0)
		return PYTHON_LAYOUT_NO_TABLE;
	*ret_version = (uint32_t)word[VERSION];
	uint32_t minor = word[VERSION] >> 16 & 0xff;
	if (word[VERSION] >> 24 != 3 || minor < 13 || minor > PYTHON_LAYOUT_NEWEST)
		return PYTHON_LAYOUT_UNKNOWN;
	if (word[FREE_THREADED])
		return PYTHON_LAYOUT_FREE_THREADED;
	/* 3.14 has three more fields of an interpreter, and two of a frame */
	const uint64_t *interp = word + INTERPRETER;
	const uint64_t *thread = interp + (minor == 13 ? 13 : 16);
	const uint64_t *frame = thread + 9;
	const uint64_t *code = frame + (minor == 13 ? 6 : 8);
	if (!are_plausible(word + RUNTIME, interp, thread, frame, code))
		return PYTHON_LAYOUT_UNKNOWN;
	*ret = (struct python_layout){
		.minor = (uint8_t)minor, .lines = PYTHON_LINES_LOCATIONS,
		.entry = PYTHON_ENTRY_OWNER, .entry_owner = 3, .unit = 1,
		.runtime_interpreters = (uint16_t)word[RUNTIME + 2],
		.interp_next = (uint16_t)interp[2], .interp_threads = (uint16_t)interp[3],
		.thread_next = (uint16_t)thread[2], .thread_frame = (uint16_t)thread[4],
		.thread_id = (uint16_t)thread[5], .thread_native_id = (uint16_t)thread[6],
		.cframe_frame = PYTHON_LAYOUT_NONE, .frame_previous = (uint16_t)frame[1],
		.frame_code = (uint16_t)frame[2], .frame_instruction = (uint16_t)frame[3],
		.frame_entry = (uint16_t)frame[5],
		.frame_bytes = end_of((const uint64_t[]){ frame[1], frame[2], frame[3],
							  frame[5] & ~UINT64_C(7) }, 4),
		.code_file = (uint16_t)code[1], .code_name = (uint16_t)code[2],
		.code_qualname = (uint16_t)code[3], .code_lines = (uint16_t)code[4],
		.code_first_line = (uint16_t)code[5], .code_start = (uint16_t)code[9],
		.code_bytes = end_of((const uint64_t[]){ code[1], code[2], code[3], code[4],
							 code[5] }, 5),
		.text_bytes = 40, .wide_text_bytes = 56,
		/* not in the table: those of 3.12 */
		.code_flags = 48, .code_names = 32, .code_frame_words = 76,
		.tuple_bytes = minor == 13 ? 24 : 32,
		.code_stack_words = PYTHON_LAYOUT_NONE,
	};
	return PYTHON_LAYOUT_OK;
}
