#ifndef CPROF_SYMBOLIZE_RUNTIME_PHP_LAYOUT_H
#define CPROF_SYMBOLIZE_RUNTIME_PHP_LAYOUT_H

/*
 * Where PHP keeps what describes its functions and frames, in builds for 64-bit machines without
 * threads (Zend/zend_compile.h, zend_types.h, zend_globals.h, zend_modules.h).
 */

#include <stdbool.h>
#include <stdint.h>

#define PHP_LAYOUT_OLDEST "8.1"
#define PHP_LAYOUT_NEWEST "8.4"

/* Offsets in struct _zend_op_array. */
struct php_layout {
	uint32_t api;                   /* ZEND_MODULE_API_NO: one per 8.x */
	uint16_t last, opcodes, file, first_line;
	uint16_t bytes;                 /* all of these */
};

/* The layout of the PHP with that number; NULL: it is not known. */
const struct php_layout *php_layout_of(uint32_t api);

/* The same in all of them. */
enum {
	PHP_GLOBALS_CURRENT = 488,      /* executor_globals.current_execute_data */
	PHP_FRAME_OPLINE = 0,           /* struct _zend_execute_data */
	PHP_FRAME_FUNC = 24,
	PHP_FRAME_THIS = 32,
	PHP_FRAME_CALL_INFO = 40,
	PHP_FRAME_PREVIOUS = 48,
	PHP_FRAME_BYTES = 56,
	PHP_FUNC_TYPE = 0,              /* union _zend_function, 8 bits */
	PHP_FUNC_NAME = 8,
	PHP_FUNC_SCOPE = 16,
	PHP_GENERATOR_FRAME = 56,       /* struct _zend_generator: execute_data */
	PHP_GENERATOR_PARENT = 152,     /* node.parent: to which it delegates */
	PHP_GENERATOR_FAKE = 184,       /* execute_fake */
	PHP_OP_LINE = 24,               /* struct _zend_op */
	PHP_OP_BYTES = 32,
	PHP_STRING_HASH = 8,            /* struct _zend_string */
	PHP_STRING_LENGTH = 16,
	PHP_STRING_TEXT = 24,
	PHP_CLASS_NAME = 8,             /* struct _zend_class_entry */
	PHP_TABLE_BUCKETS = 16,         /* struct _zend_array */
	PHP_TABLE_USED = 24,
	PHP_BUCKET_BYTES = 32,
	PHP_MODULE_API = 4,             /* struct _zend_module_entry */
	PHP_MODULE_DEBUG = 8,
	PHP_MODULE_THREADS = 9,
	PHP_MODULE_NAME = 32,
	PHP_MODULE_INFO = 80,
	PHP_MODULE_VERSION = 88,
	PHP_MODULE_BYTES = 96,
};

/* The frame is the outermost one of an activation of the loop. */
#define PHP_CALL_TOP 0x20000u

enum { PHP_FUNC_INTERNAL = 1, PHP_FUNC_USER = 2, PHP_FUNC_EVAL = 4 };

#endif
