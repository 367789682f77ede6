# The samples of contrib/, as the build writes them: their formats parse, and what they name fits together and exists.
load helpers

setup() {
	helpers_setup
	CONTRIB=$SBX_TESTS/../contrib
	BUILT=${SBX_TEST_BIN%/tests/bin}/contrib
}

# document FORMAT FILE FILTER: what the filter of jq takes from a TOML or YAML file; YAML is a list of documents.
document() {
	/usr/bin/python3 -c 'import json, sys
if sys.argv[1] == "toml":
	import tomllib
	value = tomllib.load(sys.stdin.buffer)
else:
	import yaml
	value = list(yaml.safe_load_all(sys.stdin))
json.dump(value, sys.stdout)' "$1" <"$2" | jq -r "$3"
}

needs_module() {
	/usr/bin/python3 -c "import $1" 2>/dev/null || skip "needs python3 with $1"
}

# The program's path, as this build installs it.
installed() {
	jq -r '.runtimes["sbx-runtime"].path' "$BUILT/docker/daemon.json"
}

@test 'no placeholder is left, and every path is that of the installed program' {
	run grep -rn '@' "$BUILT"
	assert_failure 1
	assert_output ''
	run installed
	assert_output --regexp '^/.*/sbx-runtime$'
}

@test 'containerd: one handler, without systemd, that passes the profile on' {
	needs_module tomllib
	run document toml "$BUILT/containerd/sbx-runtime.toml" '.version,
		(.plugins["io.containerd.grpc.v1.cri"].containerd.runtimes | to_entries[] | .key, .value.runtime_type,
		(.value.pod_annotations + .value.container_annotations | join(" ")), .value.options.BinaryName,
		.value.options.SystemdCgroup)'
	assert_output "2
sbx-runtime
io.containerd.runc.v2
dev.sbx.* dev.sbx.*
$(installed)
false"
}

@test 'CRI-O: one handler, with the keys that it knows, and no annotation that it does not' {
	needs_module tomllib
	run document toml "$BUILT/crio/10-sbx-runtime.conf" '.crio.runtime.runtimes | to_entries[] | .key,
		(.value | keys | join(" ")), .value.runtime_path, .value.runtime_type, (.value.allowed_annotations | length)'
	assert_output "sbx-runtime
allowed_annotations monitor_cgroup monitor_env monitor_path runtime_path runtime_root runtime_type
$(installed)
oci
0"
}

@test 'podman: the runtime, and its name in both lists' {
	needs_module tomllib
	run document toml "$BUILT/podman/sbx-runtime.conf" '.engine | .runtimes["sbx-runtime"][],
		([.runtime_supports_json, .runtime_supports_nocgroup, .runtime_supports_nocgroups][] |
		index("sbx-runtime") != null)'
	assert_output "$(installed)
true
true
true"
}

@test 'docker: a plain runtime, and one whose arguments the program takes' {
	run jq -c '.runtimes | map_values(.runtimeArgs)' "$BUILT/docker/daemon.json"
	assert_output '{"sbx-runtime":null,"sbx-confined":["--profile","confined"]}'
	# shellcheck disable=SC2046 # words
	run "$SBX_RUNTIME" $(jq -r '.runtimes["sbx-confined"].runtimeArgs[]' "$BUILT/docker/daemon.json") --version
	assert_success
}

@test 'docker: the profile of the confined runtime is one, and bears the name' {
	local name

	name=$(jq -r '.runtimes["sbx-confined"].runtimeArgs[1]' "$BUILT/docker/daemon.json")
	run_sbx profile check "$CONTRIB/docker/$name.json"
	assert_status 0
	run_sbx profile access "$CONTRIB/docker/$name.json" filesystem.write /workspace/x
	assert_output --partial '"allow"'
}

@test 'Kubernetes: the class names the handler, the pod names the class' {
	needs_module yaml
	run document yaml "$CONTRIB/kubernetes/runtimeclass.yaml" '.[] | "\(.apiVersion) \(.kind) \(.metadata.name) \(
		.handler // .spec.runtimeClassName)"'
	assert_output 'node.k8s.io/v1 RuntimeClass sbx-runtime sbx-runtime
v1 Pod agent sbx-runtime'
}

@test "Kubernetes: the pod's annotation is a profile, of a container and with a workspace that it has" {
	needs_module yaml
	local pod=$CONTRIB/kubernetes/runtimeclass.yaml

	run document yaml "$pod" '.[1].metadata.annotations | keys[] | ltrimstr("dev.sbx.profile.")'
	assert_output "$(document yaml "$pod" '.[1].spec.containers[].name')"
	document yaml "$pod" '.[1].metadata.annotations[]' >"$BATS_TEST_TMPDIR/profile"
	run "$SBX_RUNTIME" profile check "$BATS_TEST_TMPDIR/profile"
	assert_success
	run jq -r .workspace.root "$BATS_TEST_TMPDIR/profile"
	assert_output "$(document yaml "$pod" '.[1].spec.containers[].volumeMounts[].mountPath')"
}
