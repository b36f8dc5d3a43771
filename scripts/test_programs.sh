# Chromium, Redis and PostgreSQL for the tests, from Debian's packages. Sourced by ./test, after environment.sh.
# Node is not among them: without one of the machine's, that of Playwright is used (scripts/checks.py).

install_test_programs() {
  local missing=()
  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || missing+=(chromium fonts-liberation)
  command -v redis-server >/dev/null || missing+=(redis-server)
  command -v postgres >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || missing+=(postgresql)
  ((${#missing[@]})) || return 0
  install_debian_packages "${missing[@]}" || say "Tests that need them are left out, and named below."
}
