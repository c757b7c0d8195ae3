# Downloads Debian packages and unpacks them into private folders.
#
# Sourced by prepare.sh. Nothing is installed, the system's apt and dpkg state stays untouched, and
# no privileges are needed: a private apt state under $cache/apt resolves the dependencies from the
# system's package sources, and dpkg-deb unpacks the downloaded files.
#
# Expects: $cache (folder). Optional: $CPROF_GUEST_SOURCES, an apt sources file (.list or
# .sources) to use in place of the system's, for systems whose sources lack arm64.
# shellcheck shell=sh disable=SC2154

say() { printf '%s\n' "guest: $*" >&2; }
die() { say "$*"; exit 125; }
# For failures of a machine without network or without apt: exit status 77.
cannot() { say "$*"; exit 77; }

# debs_conf FILE ARCHITECTURE ARCHITECTURES STATUS: writes an apt configuration
debs_conf() {
	{
		# Keep settings like proxies; drop hooks, which would act on the system.
		apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets' || :
		cat <<-CONF
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "/dev/null";
		Dir::State "$cache/apt/state";
		Dir::State::status "$4";
		Dir::Cache "$cache/apt/cache-$2";
		APT::Architecture "$2";
		APT::Architectures { $3 };
		APT::Install-Recommends "false";
		APT::Sandbox::User "$(id -un)";
		Acquire::Languages "none";
		Acquire::Retries "3";
		CONF
		case "${CPROF_GUEST_SOURCES-}" in
		'') ;;
		*.sources)	# apt reads this format only from a folder
			mkdir -p "$cache/apt/sources"
			cp "$CPROF_GUEST_SOURCES" "$cache/apt/sources/"
			echo 'Dir::Etc::sourcelist "/dev/null";'
			echo "Dir::Etc::sourceparts \"$cache/apt/sources\";" ;;
		*)
			echo "Dir::Etc::sourcelist \"$CPROF_GUEST_SOURCES\";"
			echo 'Dir::Etc::sourceparts "/dev/null";' ;;
		esac
	} >"$1"
}

# Creates the apt state and reads the package lists, once.
debs_setup() {
	[ -z "${debs_ready-}" ] || return 0
	for tool in apt-get apt-cache apt-config dpkg dpkg-deb; do
		command -v "$tool" >/dev/null || cannot "needs $tool, as on Debian"
	done
	debs_host=$(dpkg --print-architecture)
	mkdir -p "$cache/apt/state/lists/partial" "$cache/apt/archives"
	for arch in "$debs_host" arm64; do
		mkdir -p "$cache/apt/cache-$arch/archives/partial"
	done
	: >"$cache/apt/status.empty"
	cp /var/lib/dpkg/status "$cache/apt/status.host"
	both="\"$debs_host\"; \"arm64\";"
	[ "$debs_host" != arm64 ] || both='"arm64";'
	# For programs that run on this machine: resolved against its installed packages.
	debs_conf "$cache/apt/host.conf" "$debs_host" "$both" "$cache/apt/status.host"
	# For the guest and the sysroot: all dependencies, for arm64.
	debs_conf "$cache/apt/arm64.conf" arm64 '"arm64";' "$cache/apt/status.empty"
	say 'reading package lists'
	APT_CONFIG=$cache/apt/host.conf apt-get -qq update >&2 ||
		say 'apt-get update complained; trying to go on'
	debs_ready=1
}

# debs_unpack FOLDER INTO KIND: unpacks all packages in FOLDER; for the host all except libc
debs_unpack() {
	mkdir -p "$2"
	for deb in "$1"/*.deb; do
		[ -e "$deb" ] || continue
		case "$3:${deb##*/}" in host:libc6_*|host:libc-bin_*) continue ;; esac
		dpkg-deb -x "$deb" "$2" || die "cannot unpack $deb"
	done
}

# debs_closure host|arm64 INTO PACKAGE...: unpacks packages with all their dependencies
debs_closure() {
	debs_setup
	kind=$1
	into=$2
	shift 2
	debs=$(mktemp -d "$cache/apt/archives/XXXXXX")
	mkdir "$debs/partial"
	say "fetching ($kind): $*"
	APT_CONFIG=$cache/apt/$kind.conf apt-get -qq -y --download-only \
		-o Dir::Cache::archives="$debs" install "$@" >&2 ||
		cannot "cannot fetch packages: $*"
	debs_unpack "$debs" "$into" "$kind"
	rm -rf "$debs"
}

# debs_single INTO PACKAGE: unpacks one arm64 package, without its dependencies
debs_single() {
	debs_setup
	debs=$(mktemp -d "$cache/apt/archives/XXXXXX")
	say "fetching (alone): $2"
	(cd "$debs" && APT_CONFIG=$cache/apt/arm64.conf apt-get -qq download "$2" >&2) ||
		cannot "cannot fetch package: $2"
	debs_unpack "$debs" "$1" arm64
	rm -rf "$debs"
}

# Deletes the package lists (about 40 MB) when everything has been prepared.
debs_done() {
	rm -rf "$cache/apt"
	debs_ready=
}

# debs_usrmerge ROOT: replaces /bin, /sbin and /lib by links into /usr
debs_usrmerge() {
	for d in bin sbin lib; do
		mkdir -p "$1/usr/$d"
		if [ -d "$1/$d" ] && [ ! -L "$1/$d" ]; then
			cp -a "$1/$d/." "$1/usr/$d/"
			rm -rf "${1:?}/$d"
		fi
		[ -L "$1/$d" ] || ln -s "usr/$d" "$1/$d"
	done
}
