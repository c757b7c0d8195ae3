#ifndef CPROF_STACK_STACK_USER_LOOKUP_H
#define CPROF_STACK_STACK_USER_LOOKUP_H

/* The table of modules (stack-user.c), as the walk of one sample (stack-user-walk.c) uses it. */

#include "stack/stack-user.h"

/* The context of stack_user_find_module. */
struct stack_user_lookup {
	struct stack_user *u;
	struct procs_space *space;
	uint32_t pid, tid;
};

/* As find_module of struct unwind_options. */
bool stack_user_find_module(void *ctx, uint64_t pc, struct module *ret);

/* Counts the end of a stack, in total and for the file of its outermost known frame. */
void stack_user_count(struct stack_user *u, struct procs_space *space,
		      const struct unwind_result *r);

#endif
