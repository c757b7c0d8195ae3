#ifndef CPROF_VIEW_TABLE_CHANCE_H
#define CPROF_VIEW_TABLE_CHANCE_H

/*
 * The probability that chance alone causes a deviation of at least `errors` standard errors to
 * either side: of Student's distribution, if the standard error was estimated with `freedom`
 * degrees of freedom; of the normal distribution, if freedom is infinite.
 */
double chance_beyond(double errors, double freedom);

/* The number of standard errors that chance exceeds with this probability (0 < chance < 1). */
double chance_limit(double chance, double freedom);

#endif
