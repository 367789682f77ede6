# The verb profile: documents without a container.
load helpers

AGENT='{"version": 1, "workspace": {"root": "/w", "read": "allow", "write": "allow"}, "command": "gated",
	"protect": ["keys"], "network": {"rules": [{"target": "tcp:*.X.org:443", "access": "allow"}]}}'

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	printf '%s\n' "$AGENT" >agent.json
}

teardown() {
	cd /
}

profile() {
	run --separate-stderr "$SBX_RUNTIME" profile "$@"
}

@test 'profile check: the normalised document, of a file and of standard input' {
	profile check agent.json
	[ "$status" -eq 0 ]
	[ "$(jq -r '.network.rules[0].target' <<<"$output")" = 'tcp:*.x.org:443' ]
	[ "$(jq -r .home <<<"$output")" = isolated ]
	first=$output
	run --separate-stderr "$SBX_RUNTIME" profile check - <<<"$first"
	[ "$status" -eq 0 ]
	[ "$output" = "$first" ]
}

@test 'profile check: one error object with the pointer, exit 1' {
	local wrong

	for wrong in '{"version":1,"hosts":{}}:/hosts' '{"version":2}:/version' \
		'{"version":1,"roots":[{"path":"/x/../y"}]}:/roots/0/path' \
		'{"version":1,"limits":{"memory":"2GB"}}:/limits/memory'; do
		printf '%s' "${wrong%:/*}" >wrong.json
		profile check wrong.json
		[ "$status" -eq 1 ]
		[ "$(jq -r .code <<<"$output")" = invalid-profile ]
		[ "$(jq -r .pointer <<<"$output")" = "/${wrong##*:/}" ]
	done
	printf '{"version":1,"version":1}' >wrong.json
	profile check wrong.json
	[ "$status" -eq 1 ]
	[ "$(jq -r .code <<<"$output")" = invalid-json ]
	profile check absent.json
	[ "$status" -eq 1 ]
	jq -e .message <<<"$output"
}

@test 'profile access and explain: values, and errors instead of values' {
	profile access agent.json network tcp:a.x.org:443
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.version, .access, .name]' <<<"$output")" = '[1,2,"allow"]' ]
	profile access agent.json command.execute make
	[ "$(jq .access <<<"$output")" = 1 ]
	profile access agent.json filesystem.write /w/keys/id
	[ "$(jq .access <<<"$output")" = 0 ]
	profile explain agent.json filesystem.write /w/keys/id
	[ "$status" -eq 0 ]
	[[ $output == *deny*/protect*keys* ]]
	profile explain agent.json 'network tcp:x.org:443'
	[[ $output == *deny*/network/access* ]]
	for question in 'filesystem.exec /w' 'filesystem.read tree:/w/sub' 'filesystem.read w' \
		'network tcp:127.1:80' 'command.execute'; do
		# shellcheck disable=SC2086
		profile access agent.json $question
		[ "$status" -eq 1 ]
		[ -z "$output" ]
	done
}

@test 'profile restrict: the narrower of both' {
	printf '{"version":1,"workspace":{"read":"allow"},"command":"allow","protect":["@git"]}' >ceiling.json
	profile restrict agent.json ceiling.json
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.workspace.root, .workspace.write, .command, .protect, .network.rules]' <<<"$output")" = \
		'["/w","deny","gated",["@git","keys"],[]]' ]
	# the control: without the ceiling the rule and the write are there
	profile restrict agent.json agent.json
	[ "$(jq -c '[.workspace.write, (.network.rules | length)]' <<<"$output")" = '["allow",1]' ]
}

@test 'profile fingerprint and encode: one profile, however it is written' {
	profile fingerprint agent.json
	[ "$status" -eq 0 ]
	[[ $output =~ ^[0-9a-f]{64}$ ]]
	first=$output
	jq -S -c . agent.json >sorted.json
	profile fingerprint sorted.json
	[ "$output" = "$first" ]
	jq '.command = "allow"' agent.json >other.json
	profile fingerprint other.json
	[ "$output" != "$first" ]
	profile encode agent.json
	[[ $output =~ ^b64:[A-Za-z0-9_-]+$ ]]
	text=${output#b64:}
	while [ $((${#text} % 4)) -ne 0 ]; do
		text+='='
	done
	tr _- /+ <<<"$text" | base64 -d >decoded.json
	profile fingerprint decoded.json
	[ "$output" = "$first" ]
}

@test 'profile: usage errors' {
	local line

	for line in '' frob 'check' 'check a b' 'restrict a' 'access agent.json network' \
		'fingerprint not-installed'; do
		# shellcheck disable=SC2086
		profile $line
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		[ -n "$stderr" ]
	done
}
