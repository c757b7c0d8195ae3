/*
 * malloc(3), calloc(3), free(3) and realloc(3) for x86-64; other machines have them in
 * alloc-hooks.c.
 *
 * A dormant function is one test and one jump, which goes from here to the next library: a direct
 * jump, because an indirect one takes longer than everything else.  Its distance is known when the
 * program runs, so alloc-jumps.c writes it, if the system allows that, into four aligned bytes
 * behind the jump.  Until then they say where an indirect jump is.
 *
 * The code for blocks that are counted but not sampled follows without a jump.
 */

#include "preload/alloc-entry.h"

#if defined(__x86_64__)

/* In struct alloc_next. */
	.set offset_MALLOC, ALLOC_ENTRY_MALLOC
	.set offset_CALLOC, ALLOC_ENTRY_CALLOC
	.set offset_FREE, ALLOC_ENTRY_FREE
	.set offset_REALLOC, ALLOC_ENTRY_REALLOC

/* A jump to the next library; opcode: one or two bytes. */
	.macro JUMP_NEXT next, opcode:vararg
	.byte \opcode
990:	.long next_\next - . - 4
	.pushsection alloc_jumps, "a", @progbits
	.long 990b - ., offset_\next
	.popsection
	.endm

/* The prefixes have no meaning, and align the distance. */
	.macro ENTRY name, next, active
	.globl \name
	.type \name, @function
\name:	.cfi_startproc
	.byte	0x3e
	movl	alloc_ring_page + \active(%rip), %eax
	.byte	0x3e
	orl	alloc_sampler_wanted(%rip), %eax
	JUMP_NEXT \next, 0x0f, 0x84	/* jz */
	.endm

	.macro END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* All of it in one page. */
	.section .text.alloc_entry, "ax", @progbits
	.p2align 9
	.globl alloc_entry_start, alloc_entry_end
	.hidden alloc_entry_start, alloc_entry_end
alloc_entry_start:

ENTRY malloc, MALLOC, ALLOC_ENTRY_ACTIVE
	/* alloc_sampler_passes */
	.byte	0x3e
	movl	alloc_ring_page + ALLOC_ENTRY_ACTIVE(%rip), %ecx
	.byte	0x3e
	movq	alloc_thread@GOTTPOFF(%rip), %rdx
	cmpl	%ecx, %fs:ALLOC_ENTRY_RECORDING(%rdx)
	jne	malloc_taken
	movq	%fs:ALLOC_ENTRY_LEFT(%rdx), %rax
	subq	%rdi, %rax
	jbe	malloc_taken
	movq	%rax, %fs:ALLOC_ENTRY_LEFT(%rdx)
	JUMP_NEXT MALLOC, 0xe9		/* jmp */
END malloc

	.p2align 7
ENTRY free, FREE, ALLOC_ENTRY_ACTIVE_FREES
	/* alloc_live_may_have */
	movq	%rdi, %rax
	movq	%rdi, %rdx
	shrq	$6, %rax
	shrq	$21, %rdx
	xorl	%edx, %eax
	andl	$ALLOC_ENTRY_FILTER_MASK, %eax
	leaq	alloc_live_filter(%rip), %rdx
	movzbl	(%rdx,%rax), %eax
	testb	%al, %al
	JUMP_NEXT FREE, 0x0f, 0x84	/* jz */
	jmp	free_sampled
END free

	.p2align 5
ENTRY calloc, CALLOC, ALLOC_ENTRY_ACTIVE
	jmp	calloc_recorded
END calloc

	.p2align 5
ENTRY realloc, REALLOC, ALLOC_ENTRY_ACTIVE
	jmp	realloc_recorded
END realloc
alloc_entry_end:

	.macro INDIRECT next
next_\next:
	.cfi_startproc
	jmp	*alloc_next + offset_\next(%rip)
	.cfi_endproc
	.endm

	.p2align 4
	INDIRECT MALLOC
	INDIRECT CALLOC
	INDIRECT FREE
	INDIRECT REALLOC

/* These mean our own functions, also if another library has the name first. */
	.globl alloc_hooks_malloc, alloc_hooks_realloc
	.hidden alloc_hooks_malloc, alloc_hooks_realloc
	.set alloc_hooks_malloc, malloc
	.set alloc_hooks_realloc, realloc
#endif

	.section .note.GNU-stack, "", @progbits
