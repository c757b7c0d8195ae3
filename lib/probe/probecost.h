#ifndef CPROF_PROBE_PROBECOST_H
#define CPROF_PROBE_PROBECOST_H

struct evspec_list;
struct log;

/* Warns about probes on instructions that the kernel can only execute by single-stepping, with what
 * a hit costs the program. */
void probecost_warn(const struct evspec_list *l, const struct log *log);

#endif
