# run -- COMMAND: everyday tools do their work under the default profile, in the current folder.
# rootless_direct_tools.bats has the same tests for an ordinary user.
load helpers
load tools

setup() {
	require_root
	helpers_setup
	tools_setup
}

@test 'make and gcc build and run a program' {
	tools_gcc
}

@test 'npm installs a local package with a lifecycle script, node runs it' {
	tools_npm
}

@test 'python makes a virtual environment, pip installs a local package there' {
	tools_python
}

@test 'java compiles and runs a class' {
	tools_java
}

@test 'git reads and commits in a repository that the command makes' {
	tools_git
}

@test 'shared memory, terminals, temporary files, processors, processes, users and time' {
	tools_system
}

@test 'a debugger starts, and tracing is refused' {
	tools_debuggers
}

@test 'keys, the agent and secret variables are not there' {
	tools_secrets
}
