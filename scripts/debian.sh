# Installs Debian packages where this user may; otherwise says in one line which are missing. Sourced.

# install_debian_packages PACKAGE…
install_debian_packages() {
  if ! command -v apt-get >/dev/null || ! _as_root true 2>/dev/null; then
    say "Needed, and not for this user to install: $* (as root: apt-get install $*)"
    return 1
  fi
  say "Installing Debian packages: $* …"
  if ! _apt_get install "$@" && ! { _apt_get update && _apt_get install "$@"; }; then
    say "apt-get could not install: $* (see above)"
    return 1
  fi
}

_as_root() {
  if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi
}

_apt_get() {
  # A start script must not be asked questions, and packages that only tests use need not start their services.
  _as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=180 -o Dpkg::Use-Pty=0 "$@" </dev/null >&2
}
