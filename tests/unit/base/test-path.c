#include "base/path.h"

#include "tap.h"

int main(void)
{
	tap_str(path_base_name("/usr/lib/libc.so.6"), "libc.so.6", "an absolute path");
	tap_str(path_base_name("lib/x"), "x", "a relative path");
	tap_str(path_base_name("x"), "x", "a path without a slash");
	tap_str(path_base_name("/x/"), "/x/", "a path that ends in a slash is returned whole");
	tap_str(path_base_name(""), "", "an empty path");
	return tap_done();
}
