# run -- COMMAND as an ordinary user: everyday tools do their work under the default profile.
# direct_tools.bats has the same tests for root.
load helpers
load tools

setup() {
	helpers_setup
	tools_setup
}

@test 'rootless: make and gcc build and run a program' {
	tools_gcc
}

@test 'rootless: npm installs a local package with a lifecycle script, node runs it' {
	tools_npm
}

@test 'rootless: python makes a virtual environment, pip installs a local package there' {
	tools_python
}

@test 'rootless: java compiles and runs a class' {
	tools_java
}

@test 'rootless: git reads and commits in a repository that the command makes' {
	tools_git
}

@test 'rootless: shared memory, terminals, temporary files, processors, processes, users and time' {
	tools_system
}

@test 'rootless: a debugger starts, and tracing is refused' {
	tools_debuggers
}

@test 'rootless: keys, the agent and secret variables are not there' {
	tools_secrets
}
