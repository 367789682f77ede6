# Loaded by the files about everyday tools behind helpers: each function is a test's body. $WS is the
# current folder and the workspace.

tools_setup() {
	WS=$BATS_TEST_TMPDIR/ws
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$WS" "$HOME"
	cd "$WS" || return
}

# need_tool NAME...: where programs of the system look for it
need_tool() {
	local name

	for name; do
		PATH=/usr/local/bin:/usr/bin:/bin command -v "$name" >/dev/null || skip "$name is not installed"
	done
}

# confined SCRIPT: runs it by the shell, with the programs of the system alone
confined() {
	PATH=/usr/local/bin:/usr/bin:/bin run_sbx run -- sh -ec "$1"
}

tools_gcc() {
	need_tool gcc make
	printf '#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n' >main.c
	printf 'CFLAGS = -O2 -pipe -g\nARFLAGS = cr\nall: main libmain.a\nlibmain.a: libmain.a(main.o)\n' >Makefile
	confined 'make -s -j2 >&2 && ./main'
	assert_status 0
	assert_output built
	[ "$(./main)" = built ]
}

tools_npm() {
	need_tool node npm
	mkdir -p app/dep
	echo '{"name": "dep", "version": "1.0.0"}' >app/dep/package.json
	echo 'module.exports = 42' >app/dep/index.js
	echo '{"name": "app", "version": "1.0.0", "dependencies": {"dep": "file:./dep"},
		"scripts": {"postinstall": "node -p 6*7 >script-ran"}}' >app/package.json
	confined 'cd app && npm install --offline --no-audit --no-fund >&2 && node -p "require(\"dep\")" && cat script-ran'
	assert_status 0
	assert_output $'42\n42'
	[ -L app/node_modules/dep ]
}

tools_python() {
	need_tool python3
	python3 -c 'import ensurepip' 2>/dev/null || /usr/bin/python3 -c 'import ensurepip' ||
		skip 'the python venv module is not installed'
	mkdir -p package/hello
	echo 'def answer(): return 42' >package/hello/__init__.py
	printf 'from setuptools import setup\nsetup(name="hello", version="1.0", packages=["hello"])\n' \
		>package/setup.py
	confined 'python3 -m venv --system-site-packages venv && venv/bin/pip -q install --no-index --no-build-isolation ./package >&2
		venv/bin/python -c "import hello, sys; print(hello.answer(), sys.prefix)"'
	assert_status 0
	assert_output "42 $WS/venv"
}

tools_java() {
	need_tool javac java
	cat >Main.java <<-JAVA
		public class Main {
			public static void main(String[] args) throws Exception {
				System.out.println(java.security.MessageDigest.getInstance("SHA-256").getAlgorithm());
			}
		}
	JAVA
	confined 'javac Main.java && java Main'
	assert_status 0
	assert_output SHA-256
}

tools_git() {
	need_tool git
	confined 'git init -q project && cd project && echo line >file && git add file
		git -c user.name=me -c user.email=me@example.org commit -q -m first
		git log --format=%s; git status --short | wc -l'
	assert_status 0
	assert_output $'first\n0'
	confined 'cd project && echo more >>file && git status --short'
	assert_output ' M file'
}

tools_system() {
	need_tool script perl python3 ps
	confined 'echo x >/dev/shm/file && cat /dev/shm/file
		python3 -c "import multiprocessing; print(multiprocessing.Semaphore(1).get_value())"
		script -qec "test -t 0 && tty" /dev/null | tr -d "\r"
		file=$(mktemp) && echo temporary >"$file" && cat "$file"
		nproc; df "$PWD" | wc -l; ps -e | wc -l; id -u; whoami; perl -e "print 5, qq(\n)"
		TZ=Europe/Berlin date -d @0 +%H; LC_ALL=C.UTF-8 locale charmap'
	assert_status 0
	assert_output "x
1
/dev/pts/0
temporary
$(nproc)
2
5
0
root
5
01
UTF-8"
}

tools_debuggers() {
	need_tool gdb strace
	confined 'gdb -nx -batch -ex "print 6*7"'
	assert_status 0
	assert_output '$1 = 42'
	confined 'strace -o trace true'
	[ "$status" != 0 ]
	assert_stderr 'Operation not permitted'
	run strace -o "$BATS_TEST_TMPDIR/trace" true # control
	assert_success
}

tools_secrets() {
	local script

	mkdir -p "$HOME/.ssh" "$HOME/.aws"
	echo secret >"$HOME/.ssh/id_ed25519"
	echo secret >"$HOME/.aws/credentials"
	export SSH_AUTH_SOCK=$BATS_TEST_TMPDIR/agent AWS_SECRET_ACCESS_KEY=s3cr3t
	script="for name in .ssh/id_ed25519 .aws/credentials; do
			[ ! -e $HOME/\$name ] || echo \$name; [ ! -e ~/\$name ] || echo ~/\$name
		done
		env | grep -e SSH_AUTH_SOCK -e SECRET | cut -d= -f1 | sort"
	confined "$script"
	assert_status 0
	assert_output ''
	run_sbx run --root "$HOME" --env SSH_AUTH_SOCK --env AWS_SECRET_ACCESS_KEY -- sh -c "$script" # control
	assert_output $'.ssh/id_ed25519\n.aws/credentials\nAWS_SECRET_ACCESS_KEY\nSSH_AUTH_SOCK'
}
