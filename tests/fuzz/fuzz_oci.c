/*
 * spec/decode and spec/oci: config.json, the process document and the resources document from any
 * bytes. What was accepted keeps the promises that the backends build on.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "spec/oci.h"
#include "tests/fuzz/fuzz.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define ID_NONE	    UINT32_MAX

static void check_strings(const struct strings *list)
{
	if (!list->v) {
		fuzz_check(list->n == 0);
		return;
	}
	for (size_t i = 0; i < list->n; i++)
		fuzz_check(list->v[i] && strlen(list->v[i]) < (size_t)1 << 20);
	fuzz_check(!list->v[list->n]);
}

static void check_id_maps(const struct oci_id_maps *maps)
{
	fuzz_check(maps->n <= 340);
	for (size_t i = 0; i < maps->n; i++) {
		fuzz_check(maps->v[i].size > 0);
		fuzz_check((uint64_t)maps->v[i].container_id + maps->v[i].size <= UINT32_MAX);
		fuzz_check((uint64_t)maps->v[i].host_id + maps->v[i].size <= UINT32_MAX);
	}
}

static void check_process(const struct oci_process *process)
{
	fuzz_check(process->cwd[0] == '/');
	fuzz_check(process->user.uid != ID_NONE && process->user.gid != ID_NONE);
	for (size_t i = 0; i < process->user.additional_gids_n; i++)
		fuzz_check(process->user.additional_gids[i] != ID_NONE);
	check_strings(&process->args);
	check_strings(&process->env);
	for (size_t i = 0; i < process->env.n; i++)
		fuzz_check(strchr(process->env.v[i], '=') > process->env.v[i]);
	for (int set = 0; process->capabilities && set < CAPSET_COUNT; set++)
		check_strings(&process->capabilities->sets[set]);
	for (size_t i = 0; i < process->rlimits_n; i++)
		fuzz_check(process->rlimits[i].soft <= process->rlimits[i].hard);
}

static void check_resources(const struct oci_resources *resources)
{
	for (size_t i = 0; i < resources->devices_n; i++)
		fuzz_check(strchr("abc", resources->devices[i].type));
	for (size_t i = 0; i < resources->unified.n; i++)
		fuzz_check(!strchr(resources->unified.v[i].key, '/'));
	for (size_t i = 0; i < resources->rdma_n; i++)
		fuzz_check(!strchr(resources->rdma[i].name, '/'));
	for (size_t i = 0; i < resources->hugepages_n; i++)
		fuzz_check(!strchr(resources->hugepages[i].page_size, '/'));
}

static void check_linux(const struct oci_linux *linux_)
{
	char path[OCI_SYSCTL_PATH_MAX];

	check_id_maps(&linux_->uid_maps);
	check_id_maps(&linux_->gid_maps);
	for (int ns = 0; ns < NS_COUNT; ns++)
		fuzz_check(!linux_->ns[ns].path || linux_->ns[ns].path[0] == '/');
	for (size_t i = 0; i < linux_->devices_n; i++)
		fuzz_check(linux_->devices[i].path[0] == '/' && linux_->devices[i].major >= 0);
	for (size_t i = 0; i < linux_->sysctl.n; i++) {
		fuzz_check(oci_sysctl_path(linux_->sysctl.v[i].key, path, sizeof(path)) == 0);
		fuzz_check(path[0] != '/' && !strstr(path, "//") && !strstr(path, "/../"));
	}
	check_strings(&linux_->masked_paths);
	check_strings(&linux_->readonly_paths);
	for (size_t i = 0; linux_->seccomp && i < linux_->seccomp->rules_n; i++) {
		check_strings(&linux_->seccomp->rules[i].names);
		fuzz_check(linux_->seccomp->rules[i].names.n > 0);
	}
	if (linux_->resources)
		check_resources(linux_->resources);
}

static void check_spec(const struct oci_spec *spec)
{
	fuzz_check(strncmp(spec->oci_version, "1.", 2) == 0);
	if (spec->process)
		check_process(spec->process);
	for (size_t i = 0; i < spec->mounts_n; i++) {
		fuzz_check(spec->mounts[i].destination[0] == '/');
		check_strings(&spec->mounts[i].options);
		check_id_maps(&spec->mounts[i].uid_maps);
		check_id_maps(&spec->mounts[i].gid_maps);
	}
	for (int kind = 0; kind < HOOK_KIND_COUNT; kind++)
		for (size_t i = 0; i < spec->hooks.n[kind]; i++) {
			fuzz_check(spec->hooks.v[kind][i].path[0] == '/');
			check_strings(&spec->hooks.v[kind][i].args);
			check_strings(&spec->hooks.v[kind][i].env);
		}
	for (size_t i = 0; i < spec->annotations.n; i++)
		fuzz_check(oci_annotation(spec, spec->annotations.v[i].key) ==
			   spec->annotations.v[i].value);
	check_linux(&spec->linux_);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena;
	const char *text = (const char *)data;
	struct sbx_error err = {0};
	struct oci_spec *spec = NULL;
	struct oci_process *process = NULL;
	struct oci_resources *resources = NULL;

	arena_init(&arena, ARENA_BYTES);
	if (oci_parse(&arena, text, size, &spec, &err) == 0)
		check_spec(spec);
	else
		fuzz_check(!spec && err.code != SBX_OK && err.message[0]);
	if (oci_parse_process(&arena, text, size, &process, &err) == 0)
		check_process(process);
	if (oci_parse_resources(&arena, text, size, &resources, &err) == 0)
		check_resources(resources);
	return 0;
}
