#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_FILE_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_FILE_H

/* What runtimes know of one file, besides its CFI. */

#include <stdbool.h>
#include <stdint.h>

struct cfi;
struct cfi_rule;
struct module;
struct runtime;

struct runtime_file {
	struct cfi *cfi;                /* borrowed */
	const struct runtime *runtime;  /* whose file it is; NULL: nobody's, or unknown yet */
	void *data;                     /* the runtime's */
	bool is_searched;
};

/* Reads nothing before the first question.  c is borrowed.  NULL: no memory. */
struct runtime_file *runtime_file_new(struct cfi *c);
void runtime_file_free(struct runtime_file *f);

/* The runtime's data if the file is that runtime's.  f may be NULL. */
void *runtime_file_data(struct runtime_file *f, const struct runtime *runtime);

/* Does the file open at fd belong to a runtime that switches stacks? */
bool runtime_file_switches(int fd);

/* As cfi_rule_at for a module with CFI, with what its runtime knows. */
void runtime_file_rule(const struct module *m, uint64_t vaddr, struct cfi_rule *ret);

/* Where the function starts that contains vaddr, by CFI or the runtime. */
bool runtime_file_function(const struct module *m, uint64_t vaddr, uint64_t *ret_start);

/* Does that function only pass on its arguments, and was made by the compiler? */
bool runtime_file_is_wrapper(const struct module *m, uint64_t vaddr);

#endif
