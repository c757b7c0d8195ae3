/*
 * Debug information that is correct, but that compilers write rarely or never: forms, entries of
 * range lists and opcodes of line programs.  oracle.py has the functions that are at each address.
 *
 *	C5	DWARF 5: .debug_rnglists and .debug_addr with all kinds of entries; file 0
 *	C2	DWARF 2: DW_FORM_ref_addr has the size of an address; instructions of two bytes
 *	C4	DWARF 4: .debug_ranges with base entries; three operations per instruction; siblings
 *		of other forms; code in modules, try blocks and abstract functions; code at
 *		address 0, which is what linkers leave of functions that they dropped
 *	C6, C7	nested functions in gaps between others that look like padding
 */
	.text
	.globl _start
_start:
	.fill 0x800, 1, 0x90

	.macro abbrev code, tag, children
	.uleb128 \code, \tag
	.byte \children
	.endm
	.macro attrs pairs:vararg
	.uleb128 \pairs, 0, 0
	.endm

	.section .debug_abbrev,"",@progbits
A4:	abbrev 1, 0x11, 1		/* unit: name, comp_dir, stmt_list, low_pc, ranges */
	attrs 0x03,0x08, 0x1b,0x08, 0x10,0x17, 0x11,0x01, 0x55,0x17
	abbrev 2, 0x2e, 1		/* function: name, ranges */
	attrs 0x03,0x08, 0x55,0x17
	abbrev 3, 0x1d, 0		/* inlined: origin, name, ranges, call_file, call_line */
	attrs 0x31,0x13, 0x03,0x08, 0x55,0x17, 0x58,0x0b, 0x59,0x0b
	abbrev 4, 0x2e, 0		/* abstract: name, linkage_name, decl_line */
	attrs 0x03,0x08, 0x6e,0x08, 0x3b,0x0b
	abbrev 5, 0x32, 1		/* try block */
	attrs 0x3f,0x19
	abbrev 6, 0x1e, 1		/* module: name */
	attrs 0x03,0x08
	abbrev 7, 0x2e, 1		/* function: name, low_pc, high_pc; sibling as ref_udata */
	attrs 0x01,0x15, 0x03,0x08, 0x11,0x01, 0x12,0x07
	abbrev 8, 0x2e, 1		/* the same; sibling as ref8 */
	attrs 0x03,0x08, 0x11,0x01, 0x12,0x07, 0x01,0x14
	abbrev 9, 0x34, 0		/* variable */
	attrs 0x03,0x08
	abbrev 10, 0x2e, 1		/* abstract function with functions in it */
	attrs 0x03,0x08
	abbrev 11, 0x25, 1		/* catch block */
	attrs 0x3f,0x19
	abbrev 12, 0x11, 1		/* unit: low_pc, high_pc */
	attrs 0x11,0x01, 0x12,0x07
	abbrev 14, 0x04, 1		/* enumeration: sibling as ref1, byte_size, decl_line */
	attrs 0x01,0x11, 0x0b,0x0b, 0x3b,0x05
	abbrev 13, 0x2e, 0		/* function: name, low_pc, high_pc */
	attrs 0x03,0x08, 0x11,0x01, 0x12,0x07
	.byte 0
A2:	abbrev 1, 0x11, 1		/* unit: name, comp_dir, stmt_list, low_pc, high_pc */
	attrs 0x03,0x08, 0x1b,0x08, 0x10,0x06, 0x11,0x01, 0x12,0x01
	abbrev 2, 0x2e, 1		/* function: name, low_pc, high_pc */
	attrs 0x03,0x08, 0x11,0x01, 0x12,0x01
	abbrev 3, 0x1d, 0		/* inlined: origin as ref_addr, low_pc, high_pc, call_file, call_line */
	attrs 0x31,0x10, 0x11,0x01, 0x12,0x01, 0x58,0x0b, 0x59,0x0b
	.byte 0
A5:	abbrev 1, 0x11, 1		/* unit: name, comp_dir, stmt_list, low_pc, ranges, bases */
	attrs 0x73,0x17, 0x74,0x17, 0x03,0x08, 0x1b,0x08, 0x10,0x17, 0x11,0x1b, 0x55,0x23
	abbrev 2, 0x2e, 1		/* function: name, ranges as rnglistx */
	attrs 0x03,0x08, 0x55,0x23
	abbrev 3, 0x1d, 0		/* inlined: origin, low_pc, high_pc, call_file, call_line, column */
	attrs 0x31,0x11, 0x11,0x1b, 0x12,0x0b, 0x58,0x0b, 0x59,0x0b, 0x57,0x0b
	abbrev 4, 0x2e, 0		/* abstract: name, decl_line */
	attrs 0x03,0x08, 0x3b,0x0b
	.byte 0

	.section .debug_info,"",@progbits
C5:	.4byte 9f-8f
8:	.2byte 5
	.byte 1, 8
	.4byte A5
	.uleb128 1
	.4byte ADDR5
	.4byte RNG5
	.asciz "five.c"
	.asciz "/five"
	.4byte L5
	.uleb128 1
	.uleb128 0
D5abstract:
	.uleb128 4
	.asciz "origin5"
	.byte 5
	.uleb128 2
	.asciz "scattered5"
	.uleb128 1
	.uleb128 3
	.byte D5abstract-C5
	.uleb128 4			/* addrx: _start+0x528 */
	.byte 8, 0, 9, 3		/* file 0 */
	.byte 0
	.byte 0
9:
C2:	.4byte 9f-8f
8:	.2byte 2
	.4byte A2
	.byte 8
	.uleb128 1
	.asciz "two.c"
	.asciz "/two"
	.4byte L2
	.8byte _start+0x400
	.8byte _start+0x500
	.uleb128 2
	.asciz "two"
	.8byte _start+0x400
	.8byte _start+0x500
	.uleb128 3
	.8byte D4abstract
	.8byte _start+0x420
	.8byte _start+0x440
	.byte 1, 7
	.byte 0
	.byte 0
9:
C4:	.4byte 9f-8f
8:	.2byte 4
	.4byte A4
	.byte 8
	.uleb128 1
	.asciz "four.c"
	.asciz "/four"
	.4byte L4
	.8byte _start+0x10
	.4byte R4unit
D4abstract:
	.uleb128 4
	.asciz "origin"
	.asciz "_Z6originv"
	.byte 17
	.uleb128 14
	.byte D4enum-C4, 1
	.2byte 0			/* read as four bytes, the sibling is elsewhere */
	.uleb128 9
	.asciz "inside"
	.byte 0
D4enum:
	.uleb128 7			/* only its sibling, as ref_udata, leads behind it */
	.uleb128 D4next-C4
	.asciz "jumped"
	.8byte _start+0x8
	.8byte 0x8
	.uleb128 9
	.asciz "inside"
	.uleb128 7
	.uleb128 D4inner-C4
	.asciz "nested"
	.8byte _start+0x700
	.8byte 0x10
	.byte 0
D4inner:
	.byte 0
D4next:	.uleb128 2
	.asciz "scattered"
	.4byte R4function
	.uleb128 5			/* try { catch { inlined } } */
	.uleb128 11
	.uleb128 3
	.4byte D4abstract-C4
	.asciz "own_name"
	.4byte R4inlined
	.byte 1, 44
	.byte 0
	.byte 0
	.byte 0
	.uleb128 8
	.asciz "eight"
	.8byte _start+0x50
	.8byte 0x10
	.8byte D4module-C4
	.uleb128 9
	.asciz "inside"
	.byte 0
D4module:
	.uleb128 6
	.asciz "module"
	.uleb128 2
	.asciz "in_module"
	.4byte R4module
	.byte 0
	.byte 0
	.uleb128 10			/* a function without code that contains one with code */
	.asciz "template"
	.uleb128 2
	.asciz "in_abstract"
	.4byte R4nested
	.uleb128 13
	.asciz "deeper"
	.8byte _start+0x710
	.8byte 0x8
	.byte 0
	.byte 0
	.uleb128 13
	.asciz "dropped_pair"
	.8byte 0
	.8byte 0x800000
	.uleb128 2			/* dropped: its range starts at 0 */
	.asciz "dropped"
	.4byte R4dropped
	.byte 0
	.uleb128 2			/* its entries are empty, whatever the base */
	.asciz "empty"
	.4byte R4empty
	.byte 0
	.uleb128 9			/* a long name, so that wrong siblings are inside the unit */
	.fill 300, 1, 0x78
	.byte 0
	.byte 0
9:
C6:	.4byte 9f-8f			/* a gap of 48 bytes with a function that is nested */
8:	.2byte 4
	.4byte A4
	.byte 8
	.uleb128 12
	.8byte _start+0x640
	.8byte 0x50
	.uleb128 13
	.asciz "before"
	.8byte _start+0x640
	.8byte 0x10
	.uleb128 10
	.asciz "outer"
	.uleb128 13
	.asciz "in_gap"
	.8byte _start+0x654
	.8byte 0x14
	.byte 0
	.uleb128 13
	.asciz "behind"
	.8byte _start+0x680
	.8byte 0x10
	.byte 0
9:
C7:	.4byte 9f-8f			/* a gap of 12 bytes before a function that is not aligned */
8:	.2byte 4
	.4byte A4
	.byte 8
	.uleb128 12
	.8byte _start+0x6c0
	.8byte 0x28
	.uleb128 13
	.asciz "before"
	.8byte _start+0x6c0
	.8byte 0x10
	.uleb128 10
	.asciz "outer"
	.uleb128 13
	.asciz "in_small_gap"
	.8byte _start+0x6d2
	.8byte 0x6
	.byte 0
	.uleb128 13
	.asciz "unaligned"
	.8byte _start+0x6dc
	.8byte 0xc
	.byte 0
9:

	.section .debug_ranges,"",@progbits
	.8byte 1, 2			/* so that no list is at 0 */
R4unit:	.8byte -1, _start
	.8byte 0x8, 0x400, -1, _start+0x600, 0, 0x40, 0xf0, 0x200, 0, 0
R4function:				/* relative to the unit's low_pc, then to two others */
	.8byte 0x0, 0x8, -1, _start+0x20, 0, 0x8, 0x10, 0x18, -1, 0, _start+0x60, _start+0x68
	.8byte 0, 0
R4inlined:
	.8byte 0x2, 0x4, -1, _start+0x20, 0x2, 0x4, 0, 0
R4module:
	.8byte -1, 0, _start+0x80, _start+0x90, 0, 0
R4nested:
	.8byte -1, 0, _start+0xa0, _start+0xb0, 0, 0
R4dropped:
	.8byte -1, 0, 0, 0x800000, 0, 0
R4empty:
	.8byte 0x100, 0x100, -1, _start+0x100, 0x20, 0x20, 0, 0

	.section .debug_addr,"",@progbits
	.4byte 9f-8f
8:	.2byte 5
	.byte 8, 0
	.8byte 0
ADDR5:	.8byte 0xdead, _start+0x500, _start+0x520, _start+0x530, _start+0x528, _start+0x560
9:
	.section .debug_rnglists,"",@progbits
	.4byte 9f-8f
8:	.2byte 5
	.byte 8, 0
	.4byte 2
RNG5:	.4byte R5unit-RNG5, R5function-RNG5
R5unit:	.byte 2				/* startx_endx */
	.uleb128 1, 5
	.byte 7				/* start_length */
	.8byte _start+0x560
	.uleb128 0xa0
	.byte 0
R5function:
	.byte 4				/* offset_pair, relative to the unit's low_pc (0x500) */
	.uleb128 0x4, 0x8
	.byte 2				/* startx_endx */
	.uleb128 2, 3
	.byte 1				/* base_addressx */
	.uleb128 5
	.byte 4
	.uleb128 0x1, 0x5
	.byte 3				/* startx_length */
	.uleb128 3, 0x3
	.byte 5				/* base_address */
	.8byte _start+0x580
	.byte 4
	.uleb128 0x2, 0x9
	.byte 6				/* start_end */
	.8byte _start+0x590, _start+0x5a0
	.byte 7				/* start_length */
	.8byte _start+0x5b0
	.uleb128 0x7
	.byte 6				/* at 0 */
	.8byte 0, 0x800000
	.byte 0
9:
	.section .debug_line,"",@progbits
	.macro special line, ops, base, range, opcode
	.byte (\line - \base) + \range * \ops + \opcode
	.endm
	.macro set_address at
	.byte 0, 9, 2
	.8byte \at
	.endm
	.macro end_sequence
	.byte 0, 1, 1
	.endm
L4:	.4byte 9f-8f			/* three operations in 4 bytes */
8:	.2byte 4
	.4byte 7f-6f
6:	.byte 4, 3, 1, -3, 5, 10
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1
	.asciz "include"
	.byte 0
	.asciz "four.c"
	.uleb128 0, 0, 0
	.asciz "four.h"
	.uleb128 1, 0, 0
	.byte 0
7:	set_address _start+8
	.byte 5, 6			/* column 6 */
	.byte 1				/* copy */
	.byte 2, 4, 3, 1, 1		/* advance_pc 4: 4 bytes, operation 1; line 2 */
	.byte 2, 5, 3, 1, 1		/* 8 bytes more, operation 0; line 3 */
	special 1, 7, -3, 5, 10
	.byte 4, 2			/* file 2 */
	.byte 8				/* const_add_pc */
	.byte 1
	special -2, 0, -3, 5, 10	/* operation 2 */
	.byte 9				/* fixed_advance_pc: the operation becomes 0 */
	.2byte 12
	.byte 1
	.byte 2, 2, 3, 9, 1
	special 0, 1, -3, 5, 10
	.byte 2, 1			/* operation 1 */
	set_address _start+0x100	/* the operation becomes 0, too */
	special 1, 2, -3, 5, 10
	special 1, 1, -3, 5, 10
	.byte 0, 14, 3			/* define_file 3 */
	.asciz "defined.c"
	.uleb128 0, 0, 0
	.byte 4, 3, 2, 30, 1
	.byte 2, 60, 1
	.byte 2, 0x80, 4
	end_sequence
	set_address _start+0x600	/* starts with file 1, line 1, column 0 */
	.byte 1
	.byte 2, 60, 1
	.uleb128 2, 120			/* 120 operations: up to 0x6f0 */
	end_sequence
	set_address 0			/* dropped */
	.byte 3, 59, 1
	.byte 9
	.2byte 0xfff0
	end_sequence
9:
L2:	.4byte 9f-8f			/* two bytes per unit, the common opcodes */
8:	.2byte 2
	.4byte 7f-6f
6:	.byte 2, 1, -5, 14, 10
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1
	.byte 0
	.asciz "two.c"
	.uleb128 0, 0, 0
	.byte 0
7:	set_address _start+0x400
	special 2, 0, -5, 14, 10
	special 3, 5, -5, 14, 10
	.byte 6, 5, 4			/* negate_stmt; column 4 */
	.byte 8				/* const_add_pc */
	special 4, 2, -5, 14, 10
	.byte 0, 2, 4, 3		/* discriminator */
	.byte 9				/* fixed_advance_pc */
	.2byte 9
	.byte 3, 11, 1
	.byte 2, 7, 1
	.byte 2, 40
	.byte 8
	.byte 1
	.byte 2, 8
	end_sequence
	set_address _start+0x4e0	/* a second sequence */
	.byte 3, 50, 1
	.byte 2, 16
	end_sequence
9:
L5:	.4byte 9f-8f
8:	.2byte 5
	.byte 8, 0
	.4byte 7f-6f
6:	.byte 1, 1, 1, -5, 14, 13
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
	.byte 1				/* folders: path */
	.uleb128 1, 8
	.uleb128 2
	.asciz "/five"
	.asciz "sub"
	.byte 2				/* files: path, folder */
	.uleb128 1, 8, 2, 11
	.uleb128 2
	.asciz "zero.c"
	.byte 0
	.asciz "one.c"
	.byte 1
7:	set_address _start+0x500
	.byte 3, 4, 1
	.byte 4, 0, 2, 8, 3, 1, 1	/* file 0 */
	.byte 2, 0x20, 3, 2, 1
	.byte 4, 1
	special 2, 9, -5, 14, 13
	special 1, 3, -5, 14, 13
	.byte 2, 0x80, 2
	end_sequence
9:
