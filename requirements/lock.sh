#!/bin/sh
# Write requirements/*.txt from pyproject.toml: universal, hashed, naming no place to fetch from.
set -eu
cd "$(dirname "$0")/.."
if ! command -v uv >/dev/null; then
    sh requirements/venv.sh build/uv
    build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
    PATH="$PWD/build/uv/bin:$PATH"
fi
export UV_CUSTOM_COMPILE_COMMAND="make lock"
compile() {
    uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --upgrade "$@" pyproject.toml
}
compile --all-extras --group dev --output-file requirements/dev.txt
# Held to the same versions, so that one environment can take both, one after the other.
compile --group build --constraint requirements/dev.txt --output-file requirements/base.txt
