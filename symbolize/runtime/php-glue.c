#include "symbolize/runtime/php-glue.h"

#include <stddef.h>
#include <string.h>

/* Beginnings of names: Zend/zend_execute_API.c, zend_interfaces.c, zend_generators.c and
 * zend_vm_execute.h of 8.1 to 8.4. */
static const char *const glue[] = {
	"zend_call_function", "zend_call_known_", "_call_user_function", "zend_call_method",
	"zend_execute", "zend_generator_resume", "zend_generator_ensure", "execute_ex", "ZEND_",
	"zend_fcall_info_call",
};

bool php_glue_is(const char *name)
{
	for (size_t i = 0; i < sizeof(glue) / sizeof(*glue); i++)
		if (strncmp(name, glue[i], strlen(glue[i])) == 0)
			return true;
	return false;
}
