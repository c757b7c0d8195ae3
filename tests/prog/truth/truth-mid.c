/*
 * A function in the middle of a chain, compiled without unwind tables, once with and once without
 * frame pointers.
 */
void MID_NAME(void (*call)(void));

void MID_NAME(void (*call)(void))
{
	volatile char some[40];
	some[0] = 1;
	for (int i = 0; i < 400; i++)
		call();
	some[1] = some[0];
}
