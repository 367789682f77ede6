/*
 * Where the kernel enters the static program, before the C library is set up.
 *
 * Setting up a static position independent program is a third of what a short run costs: some
 * fifty page faults and as many cpuid instructions, which virtual machines make slow. So a process
 * that would only continue from the safe image (self_image.h) does so here, and the one that stays
 * asks for the pages that every start touches in three system calls.
 *
 * Nothing depends on this file: whatever fails here, the program starts as it would without it, and
 * main() asks the kernel itself whether its image is safe.
 *
 * Relocations are not applied yet and there is no thread-local storage: no function of a library,
 * no table of pointers, no stack protector (runtime/Makefile.inc).
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "runtime/base/kernel.h"

#if !defined(__x86_64__)
#error "the early entry is written for x86_64"
#endif

#define PAGE 4096UL
/* What create and run use of the 32 pages that the kernel maps at execve. */
#define STACK_TOUCHED (15 * PAGE)

#define HIDDEN __attribute__((visibility("hidden")))

extern const ElfW(Ehdr) __ehdr_start HIDDEN;
extern const char sbx_entry[] HIDDEN, etext[] HIDDEN;

/* The first of what a start hardly uses: the order of linking puts libsodium behind our own code
 * and the smaller libraries, this file before the C library (Makefile.am, runtime/Makefile.inc). */
extern const char crypto_hash_sha256_init[] HIDDEN;

void sbx_entry_prepare(uintptr_t *stack);

/* Saves what _start reads: the stack pointer, and rdx (System V ABI, AMD64 supplement, 3.4.1). */
__asm__(".text\n"
	".globl sbx_entry\n"
	".type sbx_entry, @function\n"
	"sbx_entry:\n"
	"	endbr64\n"
	"	xor %ebp, %ebp\n"
	"	mov %rdx, %rbx\n"
	"	mov %rsp, %r12\n"
	"	mov %rsp, %rdi\n"
	"	call sbx_entry_prepare\n"
	"	mov %r12, %rsp\n"
	"	mov %rbx, %rdx\n"
	"	jmp _start\n"
	".size sbx_entry, . - sbx_entry\n");

static long call(long number, long a, const void *b, long c, const void *d, long e)
{
	register long r10 __asm__("r10") = (long)d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* Some word of the command line is a verb that needs the safe image; a wrong guess costs an execve.
 */
static bool may_need_image(char *const *argv)
{
	for (; *argv; argv++)
		if (same(*argv, "create") || same(*argv, "run") || same(*argv, "exec"))
			return true;
	return false;
}

/* As self_image_ensure() would; returns where anything is in the way. */
static void continue_from_image(char *const *argv, char *const *environment)
{
	struct mount_attr attr;
	struct statfs fs;
	long exe, image;

	exe = call(__NR_openat, AT_FDCWD, "/proc/self/exe", O_PATH | O_CLOEXEC, NULL, 0);
	if (exe < 0)
		return;
	if (call(__NR_fstatfs, exe, &fs, 0, NULL, 0) == 0 && !(fs.f_flags & ST_RDONLY)) {
		attr.attr_set = MOUNT_ATTR_RDONLY;
		attr.attr_clr = 0;
		attr.propagation = 0;
		attr.userns_fd = 0;
		image = call(__NR_open_tree, exe, "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH, NULL, 0);
		if (image >= 0) {
			if (call(__NR_mount_setattr, image, "", AT_EMPTY_PATH, &attr,
				 sizeof(attr)) == 0)
				call(__NR_execveat, image, "", (long)argv, environment,
				     AT_EMPTY_PATH);
			call(__NR_close, image, NULL, 0, NULL, 0);
		}
	}
	call(__NR_close, exe, NULL, 0, NULL, 0);
}

static void populate(uintptr_t start, uintptr_t end, long advice)
{
	start &= ~(PAGE - 1);
	call(__NR_madvise, (long)start, (const void *)(end - start), advice, NULL, 0);
}

/* The code but for its least used part, and what is written: data, its relocations, the stack. */
static void populate_image(uintptr_t stack)
{
	uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *row = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);

	for (int i = 0; i < __ehdr_start.e_phnum; i++, row++) {
		uintptr_t start = base + row->p_vaddr;

		if (row->p_type == PT_LOAD && (row->p_flags & PF_X))
			populate(start, (uintptr_t)crypto_hash_sha256_init, MADV_POPULATE_READ);
		if (row->p_type == PT_LOAD && (row->p_flags & PF_W))
			populate(start, start + row->p_memsz, MADV_POPULATE_WRITE);
	}
	populate((uintptr_t)sbx_entry, (uintptr_t)etext, MADV_POPULATE_READ);
	populate(stack - STACK_TOUCHED, stack, MADV_POPULATE_WRITE);
}

/* stack: as the kernel left it: argc, argv, NULL, environment, NULL. */
void sbx_entry_prepare(uintptr_t *stack)
{
	char *const *argv = (char *const *)(stack + 1);

	if (may_need_image(argv))
		continue_from_image(argv, argv + stack[0] + 1);
	populate_image((uintptr_t)stack);
}
