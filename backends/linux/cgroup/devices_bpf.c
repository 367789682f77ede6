/*
 * The device filter of cgroup2: a small program, assembled here (bpf(2), cgroup-v2.rst, "Device
 * controller").
 *
 * The kernel hands over {access << 16 | type, major, minor} and takes 0 for a refusal. The rules
 *are tried from the last to the first; each takes the bits that it decides out of the access, so
 *that the last rule decides bit for bit, and what is left at the end is denied:
 *
 *	r2 = type, r3 = bits still to be decided, r4 = major, r5 = minor
 *
 * A program is attached beside what a manager may have attached (BPF_F_ALLOW_MULTI): all must
 * agree. On an update ours is replaced in one step. Since Linux 5.11 programs are charged to the
 * memory cgroup; before, RLIMIT_MEMLOCK counts, so it is raised only when a load was refused.
 */
#include "backends/linux/cgroup/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

/* ---- assembler ---- */

struct program {
	struct bpf_insn *v;
	size_t n, max;
};

enum { R0, R1, R2, R3, R4, R5 };

static void emit(struct program *p, __u8 code, __u8 dst, __u8 src, __s16 off, __s32 imm)
{
	if (p->n < p->max)
		p->v[p->n] = (struct bpf_insn){
			.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm};
	p->n++;
}

static void emit_load(struct program *p, __u8 dst, size_t offset)
{
	emit(p, BPF_LDX | BPF_MEM | BPF_W, dst, R1, (__s16)offset, 0);
}

static void emit_alu(struct program *p, __u8 op, __u8 dst, __s32 imm)
{
	emit(p, BPF_ALU64 | op | BPF_K, dst, 0, 0, imm);
}

static void emit_copy(struct program *p, __u8 dst, __u8 src)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void emit_return(struct program *p, __s32 value)
{
	emit_alu(p, BPF_MOV, R0, value);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* A jump to the end of the rule, patched by end_rule(). */
#define JUMPS_PER_RULE 4

struct rule_jumps {
	size_t at[JUMPS_PER_RULE];
	size_t n;
};

static void emit_skip(struct program *p, struct rule_jumps *jumps, __u8 op, __u8 reg, __s32 imm)
{
	jumps->at[jumps->n++] = p->n;
	emit(p, BPF_JMP | op | BPF_K, reg, 0, 0, imm);
}

static void end_rule(struct program *p, const struct rule_jumps *jumps)
{
	for (size_t i = 0; i < jumps->n; i++)
		if (jumps->at[i] < p->max)
			p->v[jumps->at[i]].off = (__s16)(p->n - jumps->at[i] - 1);
}

static void emit_rule(struct program *p, const struct device_rule *rule)
{
	struct rule_jumps jumps = {.n = 0};

	if (rule->type != 'a')
		emit_skip(p, &jumps, BPF_JNE, R2,
			  rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
	if (rule->major >= 0)
		emit_skip(p, &jumps, BPF_JNE, R4, (__s32)rule->major);
	if (rule->minor >= 0)
		emit_skip(p, &jumps, BPF_JNE, R5, (__s32)rule->minor);
	if (rule->access != DEVICE_ALL) {
		if (rule->allow) {
			emit_alu(p, BPF_AND, R3, (__s32)(DEVICE_ALL & ~rule->access));
			emit_skip(p, &jumps, BPF_JNE, R3, 0);
		} else {
			emit_copy(p, R0, R3);
			emit_alu(p, BPF_AND, R0, (__s32)rule->access);
			emit_skip(p, &jumps, BPF_JEQ, R0, 0);
		}
	}
	emit_return(p, rule->allow);
	end_rule(p, &jumps);
}

/* No device has such a number (the kernel's are 12 and 20 bits): the rule matches nothing. */
static bool matches_nothing(const struct device_rule *rule)
{
	return rule->major > INT32_MAX || rule->minor > INT32_MAX;
}

static bool decides_everything(const struct device_rule *rule)
{
	return rule->type == 'a' && rule->major < 0 && rule->minor < 0 &&
	       rule->access == DEVICE_ALL;
}

int devices_assemble(const struct device_rules *rules, struct bpf_insn *out, size_t max)
{
	struct program p = {.v = out, .max = max};
	bool done = false;

	emit_load(&p, R2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
	emit_load(&p, R4, offsetof(struct bpf_cgroup_dev_ctx, major));
	emit_load(&p, R5, offsetof(struct bpf_cgroup_dev_ctx, minor));
	emit_copy(&p, R3, R2);
	emit_alu(&p, BPF_RSH, R3, 16);
	emit_alu(&p, BPF_AND, R2, 0xffff);
	for (size_t i = rules->n; !done && i-- > 0;) {
		if (!matches_nothing(&rules->v[i]))
			emit_rule(&p, &rules->v[i]);
		done = decides_everything(&rules->v[i]);
	}
	if (!done)
		emit_return(&p, 0);
	return p.n > p.max ? -E2BIG : (int)p.n;
}

/* ---- loading ---- */

static int call_bpf(int command, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int load_once(const struct bpf_insn *insns, int n)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (__u32)n;
	attr.license = (uintptr_t) "GPL";
	memcpy(attr.prog_name, "sbx_devices", sizeof("sbx_devices"));
	return call_bpf(BPF_PROG_LOAD, &attr);
}

static int load_program(const struct bpf_insn *insns, int n)
{
	struct rlimit before, raised;
	int fd = load_once(insns, n);

	if (fd != -EPERM || getrlimit(RLIMIT_MEMLOCK, &before) < 0)
		return fd;
	raised.rlim_cur = raised.rlim_max = RLIM_INFINITY;
	if (setrlimit(RLIMIT_MEMLOCK, &raised) < 0) {
		raised.rlim_cur = raised.rlim_max = before.rlim_max;
		if (before.rlim_cur == before.rlim_max || setrlimit(RLIMIT_MEMLOCK, &raised) < 0)
			return fd;
	}
	fd = load_once(insns, n);
	setrlimit(RLIMIT_MEMLOCK, &before);
	return fd;
}

/* ---- attaching ---- */

#define ATTACHED_MAX 64

/* A descriptor of our own program on the group, -ENOENT where there is none. */
static int find_attached(int group_fd)
{
	__u32 ids[ATTACHED_MAX];
	union bpf_attr attr;
	__u32 n;
	int r;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (__u32)group_fd;
	attr.query.attach_type = BPF_CGROUP_DEVICE;
	attr.query.prog_ids = (uintptr_t)ids;
	attr.query.prog_cnt = ATTACHED_MAX;
	r = call_bpf(BPF_PROG_QUERY, &attr);
	if (r < 0)
		return r;
	n = attr.query.prog_cnt;
	for (__u32 i = 0; i < n && i < ATTACHED_MAX; i++) {
		struct bpf_prog_info info;
		cleanup_fd int fd = -EBADF;

		memset(&attr, 0, sizeof(attr));
		attr.prog_id = ids[i];
		fd = call_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = (__u32)fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (uintptr_t)&info;
		if (call_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 &&
		    strcmp(info.name, "sbx_devices") == 0)
			return take_fd(&fd);
	}
	return -ENOENT;
}

static int attach_program(int group_fd, int program_fd, int replaced_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (__u32)group_fd;
	attr.attach_bpf_fd = (__u32)program_fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	if (replaced_fd >= 0) {
		attr.attach_flags |= BPF_F_REPLACE;
		attr.replace_bpf_fd = (__u32)replaced_fd;
	}
	return call_bpf(BPF_PROG_ATTACH, &attr);
}

int devices_attach_bpf(const struct cgroup_hierarchy *h, const struct device_rules *rules,
		       struct sbx_error *err)
{
	cleanup_free struct bpf_insn *insns = malloc(DEVICE_INSNS_MAX * sizeof(*insns));
	cleanup_fd int group = cgroup_open_dir(h), program = -EBADF, attached = -EBADF;
	int n = insns ? devices_assemble(rules, insns, DEVICE_INSNS_MAX) : -ENOMEM;
	int r;

	if (n < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -n, "assemble the device filter");
	if (group < 0)
		return cgroup_fail(err, h, -group, "open cgroup");
	program = load_program(insns, n);
	if (program < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -program, "load the device filter");
	attached = find_attached(group);
	r = attach_program(group, program, attached);
	return r < 0 ? cgroup_fail(err, h, -r, "attach the device filter to cgroup") : 0;
}
