#!/bin/sh
# Fetches public benchmarks into data/, where `amr eval NAME` looks for them. What, from where and with which checksum
# is in dataset_checksums.txt. Run again, it continues a transfer that was cut, and leaves alone what is there.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
table=${AMR_DATASET_TABLE:-$here/dataset_checksums.txt}
hub=${HF_ENDPOINT:-https://huggingface.co}
root=$here/../data
tries=5
failed=0

rows() { grep -v -e '^#' -e '^ *$' "$table"; }
names() { rows | awk '!seen[$1]++ { print $1 }'; }
say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; failed=1; }

usage() {
    say "Usage: download_datasets.sh [--to DIR] NAME... | all"
    say
    say "Fetches benchmarks into DIR (default: data/ of this checkout), each file checked against its checksum."
    say
    rows | awk '
        { if (!($1 in bytes)) order[++n] = $1; bytes[$1] += $3; tree[$1] = tree[$1] || $3 == "-" }
        END { for (i = 1; i <= n; i++) printf tree[order[i]] ? "  %-14s     many small files\n" : "  %-14s %8.1f MB\n",
              order[i], bytes[order[i]] / 1e6 }'
    say
    say "Their licences differ, and several forbid commercial use; the addresses in $(basename "$table") lead to them."
    say "HF_ENDPOINT names a mirror of Hugging Face, AMR_DATASET_TABLE another table of files."
}

size_of() { if [ -f "$1" ]; then wc -c <"$1" | tr -d ' '; else say 0; fi; }

# The checksum of a file, of the kind that another one is: git's of a blob, or SHA-256.
checksum_like() {
    case $1 in
    git:*) printf 'git:%s' "$({ printf 'blob %s\0' "$(size_of "$2")"; cat "$2"; } | sum_by 1)" ;;
    *) printf 'sha256:%s' "$(sum_by 256 <"$2")" ;;
    esac
}
sum_by() {
    if command -v "sha$1sum" >/dev/null; then "sha$1sum"; else shasum -a "$1"; fi | cut -d ' ' -f 1
}

# fetch FILE BYTES CHECKSUM URL: the bytes arrive in FILE.part, and get their name when they are right.
fetch() {
    file=$root/$1 part=$root/$1.part
    if [ -f "$file" ]; then
        if [ "$(checksum_like "$3" "$file")" = "$3" ]; then
            say "$file is there."
        else
            fail "$file is there but is not the file that is known; move it away and run this again."
        fi
        return
    fi
    mkdir -p "$(dirname "$file")"
    [ "$2" = - ] || [ "$(size_of "$part")" -le "$2" ] || rm -f "$part"
    if [ "$2" = - ] || [ "$(size_of "$part")" -lt "$2" ]; then
        transfer "$part" "$2" "$4" || { fail "$4 did not arrive whole; run this again to continue."; return; }
    fi
    arrived=$(checksum_like "$3" "$part")
    if [ "$arrived" != "$3" ]; then
        rm -f "$part"
        fail "$4 gave other bytes than are known ($arrived, not $3); they were removed."
        return
    fi
    mv "$part" "$file"
    say "$file has arrived."
}

# transfer PART BYTES URL: as often as the line is cut, from where it was.
transfer() {
    for _ in $(seq "$tries"); do
        code=0
        curl --fail --location --silent --show-error --connect-timeout 30 --speed-limit 1 --speed-time 60 \
            --continue-at - --output "$1" "$3" || code=$?
        case $code in
        0) return 0 ;;
        18 | 28 | 56 | 92) ;; # cut, or too long without a byte: go on
        22) # Where the size is not known, a refusal may mean that there is nothing left to give.
            if [ "$2" = - ] && [ -s "$1" ]; then rm -f "$1"; else return 1; fi ;;
        33) rm -f "$1" ;; # The server cannot continue, only begin.
        *) return 1 ;;
        esac
    done
    return 1
}

# fetch_tree FOLDER URL: every file that Hugging Face lists in a folder.
fetch_tree() {
    listing=$(curl --fail --location --silent --show-error --retry "$tries" "$2?recursive=true&limit=1000") || {
        fail "$2 could not be listed; run this again later."
        return
    }
    from=$(say "$2" | sed 's#/api/datasets/\(.*\)/tree/\([0-9a-f]*\)/.*#/datasets/\1/resolve/\2#')
    within=$(say "$2" | sed 's#.*/tree/[0-9a-f]*/##')
    say "$listing" | python3 -c '
import json, sys
for one in json.load(sys.stdin):
    if one["type"] == "file" and not one["path"].endswith(".DS_Store"):
        checksum = "sha256:" + one["lfs"]["oid"] if one.get("lfs") else "git:" + one["oid"]
        print(one["size"], checksum, one["path"][len(sys.argv[1]) + 1:])
' "$within" >"$list.tree" || { fail "$2 gave no list of files; run this again later."; return; }
    while read -r bytes checksum path; do
        fetch "$1/$path" "$bytes" "$checksum" "$from/$within/$path"
    done <"$list.tree"
}

wanted=
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --to)
        [ $# -gt 1 ] || { say "--to takes a folder." >&2; exit 2; }
        root=$2
        shift
        ;;
    all) wanted="$wanted $(names)" ;;
    *)
        if ! names | grep -qxF -e "$1"; then
            say "There is no data set $1; there are: $(names | tr '\n' ' ')and all." >&2
            exit 2
        fi
        wanted="$wanted $1"
        ;;
    esac
    shift
done
[ -n "$wanted" ] || { usage >&2; exit 2; }
command -v curl >/dev/null || { say "curl is needed; install it." >&2; exit 1; }
mkdir -p "$root"
root=$(cd "$root" && pwd)

list=$(mktemp)
trap 'rm -f "$list" "$list.tree"' EXIT
for name in $wanted; do
    rows | awk -v name="$name" '$1 == name' >"$list"
    while read -r _ path bytes checksum url; do
        url=$(say "$url" | sed "s#^https://huggingface.co#$hub#")
        if [ "$checksum" = tree ]; then fetch_tree "$path" "$url"; else fetch "$path" "$bytes" "$checksum" "$url"; fi
    done <"$list"
done
exit $failed
