/* A function that faults at its first instruction, directly behind another function. */
	.text
	.p2align 4
	.type other, @function
other:	.cfi_startproc
	ret
	.cfi_endproc
	.size other, . - other

	.globl faults_first
	.type faults_first, @function
faults_first:
	.cfi_startproc
#if defined(__aarch64__)
	ldr w0, [x0]	/* the fault */
#else
	movl (%rdi), %eax	/* the fault */
#endif
	ret
	.cfi_endproc
	.size faults_first, . - faults_first
	.section .note.GNU-stack, "", @progbits
