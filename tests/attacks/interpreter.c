/*
 * The ELF interpreter of a hostile image (its /lib64/ld-linux-x86-64.so.2): the kernel runs it in
 * place of the loader of whatever dynamic program is started there, a container runtime among them.
 * It opens the program that it was started for and hands that to `intruder overwrite`.
 *
 * No libc: its start-up would read the program headers of the other program as its own.
 */
#include <fcntl.h>
#include <sys/syscall.h>

static long call(long nr, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#else
#error "add the system call of this machine"
#endif
}

void _start(void)
{
	static char number[] = "0";
	static const char program[] = "/proc/self/exe", next[] = "/bin/intruder";
	static char *argv[] = {(char *)next, "overwrite", number, (char *)0};
	static char *envp[] = {(char *)0};
	long fd = call(SYS_openat, AT_FDCWD, (long)program, O_RDONLY, 0);

	if (fd >= 0 && fd <= 9) {
		number[0] = (char)('0' + fd);
		call(SYS_execve, (long)next, (long)argv, (long)envp, 0);
	}
	call(SYS_exit_group, 3, 0, 0, 0);
}
