#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_LAYOUT_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_LAYOUT_H

/*
 * Where V8 keeps what the names of its functions need, by the constants that it exports for
 * debuggers (v8dbg_*, gen-postmortem-metadata.py of V8), and by the version where it has none.
 */

#include <stdbool.h>
#include <stdint.h>

struct runtime_code_source;

/* Types of objects (InstanceType); -1: unknown. */
struct v8_types {
	int32_t function_first, function_last, shared, scope, script, bytecode, interpreter, code,
		stream;                 /* stream -1: instructions follow their Code */
};

/* Offsets in objects; -1: there is no such field. */
struct v8_layout {
	char version[16];               /* "11.3" */
	uint32_t major;
	/* The embedded builtins, as addresses in the file, which may be mapped several times. */
	uint64_t builtins_start, builtins_end;
	struct v8_types type;
	int32_t map_type;
	int32_t function_shared;
	int32_t shared_data, shared_name, shared_script;
	int32_t script_source, script_name;
	int32_t string_length, string_chars;
	int32_t scope_first;            /* the names of the context's variables */
	int32_t scope_start;            /* the position, if it is before them */
	int32_t bytecode_positions, bytecode_first;
	int32_t code_stream;            /* -1: instructions follow their Code */
	int32_t code_start, code_size;
	int32_t code_data;              /* of the deoptimizer, or the bytecode */
	int32_t code_positions;
	int32_t stream_start;           /* of the instructions in their object */
	/* Indices in the deoptimizer's data: the function, constants, inlined functions. */
	uint32_t deopt_shared, deopt_literals, deopt_inlining;
	bool is_wrapped;                /* the function is in an object of its own */
};

enum v8_layout_result {
	V8_LAYOUT_OK,
	V8_LAYOUT_UNREADABLE,
	V8_LAYOUT_UNSUPPORTED,          /* *ret_missing: what it lacks */
};

enum v8_layout_result v8_layout_read(const struct runtime_code_source *from, struct v8_layout *ret,
				     const char **ret_missing);

#endif
