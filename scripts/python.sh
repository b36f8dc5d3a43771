# Finds a Python that really works. Sourced by environment.sh.

oldest_python="3.11"
python_names=(python3.11 python3.12 python3.13 python3.14 python3 python)

# find_python: prints the path of a Python >= 3.11 that can make virtual environments, installing Debian packages if
# there is none and this user may.
find_python() {
  local python version
  if python=$(_working_python "import ensurepip, venv; ensurepip.version()"); then
    echo "$python"
    return
  fi
  if python=$(_working_python "pass"); then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # Debian splits the standard library: the Python is there, what makes environments may not be.
    install_debian_packages "python$version-venv" || return 1
  else
    install_debian_packages python3 python3-venv || return 1
  fi
  if ! python=$(_working_python "import ensurepip, venv; ensurepip.version()"); then
    say "Clonoscope needs Python $oldest_python or newer with its venv module; none was found, not even after installing Debian's."
    return 1
  fi
  echo "$python"
}

# Asks each candidate to run: a name on PATH may be the shim of a version manager that has no such version.
_working_python() {
  local name candidate found
  for name in "${python_names[@]}"; do
    while IFS= read -r candidate; do
      found=$("$candidate" -I -c "
import sys
$1
print(sys.executable if sys.version_info >= (${oldest_python/./, }) else '')" 2>/dev/null) || continue
      if [[ -n $found ]]; then
        echo "$found"
        return 0
      fi
    done < <(type -ap "$name"; printf '%s\n' "/usr/bin/$name" "/usr/local/bin/$name")
  done
  return 1
}
