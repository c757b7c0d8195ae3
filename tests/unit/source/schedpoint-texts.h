#ifndef CPROF_TESTS_UNIT_SOURCE_SCHEDPOINT_TEXTS_H
#define CPROF_TESTS_UNIT_SOURCE_SCHEDPOINT_TEXTS_H

/* What kernels write in the files "format" of the scheduler's tracepoints. */

#define SWITCH_FIELDS \
	"name: sched_switch\n" \
	"ID: 372\n" \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n" \
	"\n" \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n" \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n" \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n" \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n" \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n" \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n" \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n" \
	"\n"

#define SWITCH_6_18 SWITCH_FIELDS \
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_co" \
	"mm=%s next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_pri" \
	"o, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | " \
	"0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_" \
	"flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 " \
	"| 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), \"|\", {" \
	" 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x000000" \
	"08, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\"" \
	" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & (((0x00000000 | 0x000000" \
	"01 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x000000" \
	"40) + 1) << 1) ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio\n"

#define SWITCH_4_4 SWITCH_FIELDS \
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_co" \
	"mm=%s next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_pri" \
	"o, REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), \"|" \
	"\", { 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 3" \
	"2, \"X\" }, { 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1" \
	"024, \"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : \"\", REC->next_comm, " \
	"REC->next_pid, REC->next_prio\n"

/* Not of any kernel. */
#define SWITCH_NO_TABLE SWITCH_FIELDS \
	"print fmt: \"%s%s\", __print_flags(REC->prev_state, \"|\", { 0x1, \"S\" }, { 0" \
	"x2, \"D\" }, { 0x10, \"X\" }, { TASK_MAX, \"N\" }), REC->prev_state & TASK_STA" \
	"TE_MAX ? \"+\" : \"\"\n"

#define WAKING_6_18 \
	"name: sched_waking\n" \
	"ID: 375\n" \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n" \
	"\n" \
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n" \
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n" \
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n" \
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n" \
	"\n" \
	"print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, RE" \
	"C->prio, REC->target_cpu\n"

#endif
