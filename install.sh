#!/bin/sh
# Installs the program legwork for the user who runs this. It asks for no rights and changes nothing
# but one file:
#
#   curl -fsSL https://github.com/OWNER/legwork/releases/latest/download/install.sh | sh
#
# LEGWORK_VERSION=0.1.0    that version instead of the newest one
# LEGWORK_INSTALL_DIR=DIR  there instead of in ~/.local/bin
# LEGWORK_RELEASES=URL     from a copy of the releases
set -eu

releases="${LEGWORK_RELEASES:-https://github.com/OWNER/legwork/releases}"

# Everything is in functions that are called at the end: half a script does nothing.
main() {
    if [ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ]; then
        fail "it is for one user and needs no rights. Run it again without sudo."
    fi
    for tool in uname mktemp tar gzip grep; do
        has "$tool" ||
            fail "$tool is not on the PATH, and it is needed. Install it, then try again."
    done
    has curl || has wget ||
        fail "neither curl nor wget is on the PATH. Install one, then try again."
    has sha256sum || has shasum ||
        fail "neither sha256sum nor shasum is on the PATH, so nothing can be checked. Install one."

    target="$(target)"
    name="legwork-$target"
    case "${LEGWORK_VERSION:-latest}" in
        latest) url="$releases/latest/download" ;;
        v*) url="$releases/download/$LEGWORK_VERSION" ;;
        *) url="$releases/download/v$LEGWORK_VERSION" ;;
    esac
    if [ -n "${LEGWORK_INSTALL_DIR:-}" ]; then
        folder="$LEGWORK_INSTALL_DIR"
    else
        folder="${HOME:?is not set, so there is no place to install to}/.local/bin"
    fi

    work="$(mktemp -d)"
    draft=
    trap 'rm -rf "$work"; [ -z "$draft" ] || rm -f "$draft"' EXIT
    trap 'exit 130' HUP INT TERM
    fetch "$url/$name.tar.gz" "$work/$name.tar.gz"
    fetch "$url/SHA256SUMS" "$work/SHA256SUMS"
    check "$name.tar.gz"
    tar -C "$work" -xzf "$work/$name.tar.gz" "$name/legwork" ||
        fail "$name.tar.gz cannot be unpacked. Nothing was changed."
    place "$work/$name/legwork"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

fail() {
    echo "legwork was not installed: $1" >&2
    exit 1
}

target() {
    system="$(uname -s)"
    machine="$(uname -m)"
    case "$system" in
        Linux) rest=unknown-linux-musl ;;
        Darwin) rest=apple-darwin ;;
        *) fail "there is none for $system. On Windows, run this inside WSL." ;;
    esac
    # A shell that Rosetta translates believes in another processor than the Mac has.
    if [ "$system" = Darwin ] && [ "$(sysctl -n hw.optional.arm64 2>/dev/null || :)" = 1 ]; then
        machine=arm64
    fi
    case "$machine" in
        x86_64 | amd64) echo "x86_64-$rest" ;;
        aarch64 | arm64) echo "aarch64-$rest" ;;
        *) fail "there is none for $machine. Build it with: cargo install --locked legwork" ;;
    esac
}

fetch() {
    if has curl; then
        case "$1" in
            https:*) curl -fsSL --proto '=https' --retry 2 -o "$2" "$1" ;;
            *) curl -fsSL --retry 2 -o "$2" "$1" ;;
        esac
    else
        wget -q -O "$2" "$1"
    fi || fail "$1 cannot be downloaded. Nothing was changed."
}

check() {
    grep " [ *]$1\$" "$work/SHA256SUMS" >"$work/sum" ||
        fail "the release has no checksum for $1. Nothing was changed."
    if has sha256sum; then sum=sha256sum; else sum="shasum -a 256"; fi
    # shellcheck disable=SC2086 # a command with its options
    (cd "$work" && $sum -c sum >/dev/null 2>&1) ||
        fail "$1 is not what was released: its checksum is another. Nothing was changed."
}

place() {
    chmod 755 "$1"
    version="$("$1" --version 2>/dev/null)" ||
        fail "the program does not run on this system. Nothing was changed."
    mkdir -p "$folder" || fail "$folder cannot be made. Set LEGWORK_INSTALL_DIR to another folder."
    # In one step, and never over a program that runs: that goes on with the file that it has.
    draft="$folder/.legwork.$$"
    { cp "$1" "$draft" && mv -f "$draft" "$folder/legwork"; } ||
        fail "$folder cannot be written to. Set LEGWORK_INSTALL_DIR to another folder."
    draft=
    echo "$version is in $folder."
    found="$(command -v legwork || :)"
    if [ -z "$found" ]; then
        echo "That folder is not on your PATH. Add this to the settings of your shell:"
        echo "  export PATH=\"$folder:\$PATH\""
    elif [ "$found" != "$folder/legwork" ]; then
        echo "But your PATH leads to another one first: $found"
    fi
    echo "Next: \`legwork demo\` shows it, \`legwork install opencode\` adds it to OpenCode."
}

main "$@"
