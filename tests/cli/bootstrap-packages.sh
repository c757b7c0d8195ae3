#!/bin/sh
# bootstrap: wrong arguments, missing packages, systems without apt.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

mkdir clone.keep tools.keep
cp "$CPROF_SOURCE_ROOT/bootstrap" clone.keep/
for tool in sh cat sed tail cut id dirname mkdir env grep sleep head rm; do
	ln -s "$(command -v $tool)" tools.keep/$tool
done

run clone.keep/bootstrap
is "$status" 64 'no mode: usage'
like err 'demo' 'no mode: shows the modes'
run clone.keep/bootstrap nosuch
is "$status" 64 'an unknown mode: usage'

# no apt-get, no meson: names the packages, and does nothing else
run env PATH="$T/tools.keep" clone.keep/bootstrap demo
is "$status" 1 'without apt: status 1'
like err 'libdw-dev' 'without apt: the message lists the packages for building'
like err 'sqlite3' 'without apt: the message lists the packages for the demo'

# apt-get exists, a package is missing, neither root nor sudo
cat >tools.keep/dpkg-query <<'END'
#!/bin/sh
for last; do :; done
[ "$last" != libdw-dev ] && printf installed
END
cat >tools.keep/apt-get <<'END'
#!/bin/sh
echo "$*" >>"$APT_LOG"
case $1 in
update) : >"$APT_LOG.updated" ;;
install) [ -e "$APT_LOG.updated" ] ;;
esac
END
printf '#!/bin/sh\necho 1000\n' >id.keep
printf '#!/bin/sh\nexit 1\n' >meson.keep
chmod +x tools.keep/dpkg-query tools.keep/apt-get id.keep meson.keep
rm tools.keep/id
cp id.keep tools.keep/id
ln -s "$T/meson.keep" tools.keep/pkg-config
run env PATH="$T/tools.keep" APT_LOG="$T/apt.keep" clone.keep/bootstrap build
is "$status" 1 'a missing package, neither root nor sudo: status 1'
like err 'libdw-dev' 'a missing package, neither root nor sudo: the message names it'
unlike err 'zlib1g' 'a missing package: the message names no installed package'
check 'a missing package, neither root nor sudo: apt-get is not run' test ! -e apt.keep

# with sudo: installs it, after updating the lists because the first attempt fails
cat >tools.keep/sudo <<'END'
#!/bin/sh
exec "$@"
END
cp meson.keep tools.keep/meson
chmod +x tools.keep/sudo
run env PATH="$T/tools.keep" APT_LOG="$T/apt.keep" clone.keep/bootstrap build
like apt.keep 'install .*libdw-dev' 'with sudo: the missing package is installed'
like apt.keep '^update' 'with sudo: if the installation fails, the lists are updated'
like out 'installing libdw-dev' 'with sudo: names the packages that it installs'
like err 'meson could not configure' 'with sudo: the build starts after the installation'
finish
