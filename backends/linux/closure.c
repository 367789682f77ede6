/*
 * Chosen by what a dynamically linked program of a distribution opens before it reaches its own
 * code, and by what name and certificate look-ups read. No row may hold a secret or a socket.
 */
#include "backends/linux/closure.h"

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

const char *const closure_paths[] = {
	/* programs and libraries */
	"/bin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/sbin",
	"/usr",
	"/gnu/store",
	"/nix/store",
	/* the loader */
	"/etc/ld-musl-aarch64.path",
	"/etc/ld-musl-x86_64.path",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	/* what programs are called and where they keep their defaults */
	"/etc/alternatives",
	"/etc/java-11-openjdk/security",
	"/etc/java-17-openjdk/security",
	"/etc/java-21-openjdk/security",
	"/etc/java-25-openjdk/security",
	"/etc/manpath.config",
	"/etc/maven/logging",
	"/etc/maven/m2.conf",
	"/etc/mime.types",
	"/etc/os-release",
	/* names of users, hosts and services */
	"/etc/gai.conf",
	"/etc/group",
	"/etc/host.conf",
	"/etc/hostname",
	"/etc/hosts",
	"/etc/networks",
	"/etc/nsswitch.conf",
	"/etc/passwd",
	"/etc/protocols",
	"/etc/resolv.conf",
	"/etc/services",
	/* time, languages */
	"/etc/localtime",
	"/etc/timezone",
	"/etc/locale.conf",
	/* certificates: public ones only, private keys stand beside them */
	"/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/crypto-policies",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs",
	"/etc/pki/tls/openssl.cnf",
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
};
const size_t closure_paths_n = ARRAY_SIZE(closure_paths);

bool closure_holds(const char *path)
{
	size_t i;

	for (i = 0; i < closure_paths_n; i++) {
		if (path_is_below(path, closure_paths[i]))
			return true;
	}
	return false;
}
