#ifndef CPROF_SYMBOLIZE_RUNTIME_PYTHON_LAYOUT_H
#define CPROF_SYMBOLIZE_RUNTIME_PYTHON_LAYOUT_H

/*
 * Where CPython keeps what describes its threads, frames and functions.  The offsets of 3.8 to 3.12
 * are those of release builds for 64-bit machines; from 3.13 on each program has a table of its own
 * (Include/internal/pycore_debug_offsets.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_LAYOUT_NEWEST 14u        /* 3.14 */
#define PYTHON_LAYOUT_NONE UINT16_MAX   /* there is no such field */

/* Which line belongs to an instruction. */
enum python_lines_format {
	PYTHON_LINES_LNOTAB,            /* pairs of differences, of bytes and lines */
	PYTHON_LINES_RANGES,            /* 3.10: the same for ranges; -128: no line */
	PYTHON_LINES_LOCATIONS,         /* 3.11: Objects/locations.md */
};

/* Where an activation of the interpreter's loop begins, among the frames of a thread. */
enum python_entry {
	PYTHON_ENTRY_EACH,              /* each frame has an activation of its own */
	PYTHON_ENTRY_MARKED,            /* its outermost frame is marked */
	PYTHON_ENTRY_OWNER,             /* a frame without a function follows it */
};

/* Offsets in bytes. */
struct python_layout {
	uint8_t minor;                  /* 3.minor */
	uint8_t lines, entry;           /* enum python_lines_format, enum python_entry */
	uint8_t entry_owner;            /* with PYTHON_ENTRY_OWNER: that frame's owner, or above */
	bool has_object_code;           /* the code is an object that functions may share */
	uint8_t unit;                   /* bytes that the number of an instruction counts */
	uint16_t runtime_interpreters;
	uint16_t interp_next, interp_threads;
	uint16_t thread_next, thread_id, thread_native_id;
	uint16_t thread_frame, cframe_frame;    /* cframe_frame: NONE if there is nothing between */
	uint16_t frame_code, frame_previous, frame_instruction, frame_entry;
	uint16_t frame_bytes;           /* all of the above, at least */
	uint16_t code_name, code_qualname, code_file, code_first_line, code_lines, code_start;
	/* code_names, of what the code calls, is NONE before 3.11.  From then on frames follow each
	 * other in memory; each has as many words as the others sum up to.  code_stack_words: NONE
	 * from 3.12 on. */
	uint16_t code_names, code_flags, code_frame_words, code_stack_words, frame_words;
	uint16_t code_bytes;
	uint16_t tuple_bytes;           /* before the items of a tuple */
	uint16_t text_bytes, wide_text_bytes;   /* before the characters of a str: ASCII, others */
};

/* Always. */
#define PYTHON_TYPE_OFF 8u              /* of an object's type, and of its size */
#define PYTHON_SIZE_OFF 16u
#define PYTHON_BYTES_OFF 32u            /* of the contents of a bytes object */
#define PYTHON_TEXT_STATE_OFF 32u       /* of a str */

/* The layout of 3.minor; false: unknown, or the program has a table. */
bool python_layout_of(unsigned int minor, struct python_layout *ret);

/* That table: the first bytes of _PyRuntime. */
#define PYTHON_LAYOUT_TABLE_BYTES 512u
enum python_layout_table {
	PYTHON_LAYOUT_NO_TABLE,
	PYTHON_LAYOUT_UNKNOWN,          /* of a version that is not known; *ret_version is set */
	PYTHON_LAYOUT_FREE_THREADED,    /* without GIL, whose objects differ; likewise */
	PYTHON_LAYOUT_OK,
};
enum python_layout_table python_layout_read(const uint8_t table[PYTHON_LAYOUT_TABLE_BYTES],
					    struct python_layout *ret, uint32_t *ret_version);

#endif
