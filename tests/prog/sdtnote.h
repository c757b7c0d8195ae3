#ifndef CPROF_TESTS_SDTNOTE_H
#define CPROF_TESTS_SDTNOTE_H

/*
 * USDT probes, written by hand: a nop and a note (NT_STAPSDT) for each location.  Arguments are
 * texts of assembly, such as "8@%[x]" with an operand named x.
 */

#define SDTNOTE_BASE \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n" \
	".popsection\n" \
	".endif\n"

/* semaphore: the name of a variable, or "0". */
#define SDTNOTE(provider, name, semaphore, args) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"\",%%note\n" \
	".balign 4\n" \
	".4byte 992f - 991f, 994f - 993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: .8byte 990b, _.stapsdt.base, " semaphore "\n" \
	".asciz \"" provider "\"\n" \
	".asciz \"" name "\"\n" \
	".asciz \"" args "\"\n" \
	"994: .balign 4\n" \
	".popsection\n" \
	SDTNOTE_BASE

#endif
