/* The profile that a report is about if no FILE is given. */

#include "cmd/report/report.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_profile_name(const char *name)
{
	static const char *const endings[] = { ".pb.gz", ".pb" };
	size_t n = strlen(name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t n_ending = strlen(endings[i]);
		if (name[0] != '.' && n > n_ending &&
		    strcmp(name + n - n_ending, endings[i]) == 0)
			return true;
	}
	return false;
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

char *report_newest(const char *folder)
{
	struct timespec newest = { 0 };
	char *found = NULL;
	DIR *d = opendir(folder);
	if (!d)
		return NULL;
	for (const struct dirent *entry; (entry = readdir(d));) {
		struct stat st;
		/* links are left out: they may lead to any file of another user's choice */
		if (!is_profile_name(entry->d_name) ||
		    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || (found && !is_newer(&st.st_mtim, &newest)))
			continue;
		char *name = strdup(entry->d_name);
		if (!name)
			break;
		free(found);
		found = name;
		newest = st.st_mtim;
	}
	closedir(d);
	return found;
}
