/*
 * Loads a BPF program, cprof_test, runs it on messages for MS of CPU time, and unloads it.  If that
 * is not possible, prints the reason and exits with status 77.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "prog.h"

#define N_STEPS 4000

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF 50
#endif

static int cannot(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 77;
}

int main(int argc, char **argv)
{
	static struct bpf_insn code[N_STEPS + 2];
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
	int sock[2], prog;
	char byte = 1;
	code[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 0 };
	for (int i = 1; i <= N_STEPS; i++)
		code[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .imm = i };
	code[N_STEPS + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = N_STEPS + 2,
		.insns = (uintptr_t)code, .license = (uintptr_t)"GPL",
	};
	strcpy(attr.prog_name, "cprof_test");
	prog = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (prog < 0)
		return cannot("bpf");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sock) < 0 ||
	    setsockopt(sock[1], SOL_SOCKET, SO_ATTACH_BPF, &prog, sizeof(prog)) < 0)
		return cannot("socket");
	uint64_t end = prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;
	while (prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 100; i++)
			if (send(sock[0], &byte, 1, MSG_DONTWAIT) == 1)
				recv(sock[1], &byte, 1, MSG_DONTWAIT);
	return 0;
}
