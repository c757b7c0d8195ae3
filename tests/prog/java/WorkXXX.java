/* Loaded by Churn under other names. */
public class WorkXXX implements Runnable {
	private final long ns;
	private long sum;

	public WorkXXX(long ms) {
		ns = ms * 1000000;
	}

	private long step(long n) {
		long s = 0;
		for (long i = 0; i < n; i++)
			s += i * i ^ s >> 3;
		return s;
	}

	private long middle(long n) {
		return step(n) + 1;
	}

	@Override
	public void run() {
		long end = System.nanoTime() + ns;
		while (System.nanoTime() < end)
			sum += middle(2000);
		if (sum == 42)
			System.out.println(sum);
	}
}
