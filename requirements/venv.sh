#!/bin/sh
# Make the virtual environment $1 with the newest Python >= 3.11 that works here, or say what is missing.
set -eu
venv=$1
for python in python3.13 python3.12 python3.11 python3 python; do
    # A name on the PATH may be a shim for a Python that is not there: only running it tells.
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        if command -v uv >/dev/null; then
            exec uv venv --quiet --allow-existing --python "$("$python" -c 'import sys; print(sys.executable)')" "$venv"
        fi
        if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
            exec "$python" -m venv "$venv"
        fi
        echo "$python has no ensurepip, so it can make no environment (on Debian: apt install python3-venv)" >&2
    fi
done
if command -v uv >/dev/null; then
    exec uv venv --quiet --allow-existing --python '>=3.11' "$venv"
fi
echo "theanine needs Python 3.11 or later (with venv) and found none: install one, or uv, and run make again" >&2
exit 1
