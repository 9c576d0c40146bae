#!/usr/bin/env python3
"""Takes single files out of a wheel.

usage: wheel_files.py WHEEL RECORD_SHA256 TARGET PATTERN...

Patterns are those of the shell (fnmatch), over names inside the wheel. A wheel's RECORD lists the SHA-256 of every
file in it; RECORD itself must have the hash given, so every file taken is pinned by that one number.
"""
import base64
import fnmatch
import hashlib
import os
import sys
import zipfile


def hashes_of(wheel, record_sha256):
    record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
    text = wheel.read(record)
    found = hashlib.sha256(text).hexdigest()
    if found != record_sha256:
        raise SystemExit(f"{record}: SHA-256 {record_sha256} expected, {found} found: not the wheel that was meant")
    hashes = {}
    for line in text.decode().splitlines():
        name, digest, _ = line.rsplit(",", 2)
        hashes[name] = digest
    return hashes


def take(wheel, entry, digest, target):
    place = os.path.join(target, entry.filename)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    sha256 = hashlib.sha256()
    with wheel.open(entry) as source, open(place, "wb") as copy:
        while data := source.read(1 << 20):
            sha256.update(data)
            copy.write(data)
    found = "sha256=" + base64.urlsafe_b64encode(sha256.digest()).rstrip(b"=").decode()
    if found != digest:
        raise SystemExit(f"{entry.filename}: {digest} expected, {found} found")
    os.chmod(place, 0o755 if ".so" in os.path.basename(place) else 0o644)


def main():
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    source, record_sha256, target, *patterns = sys.argv[1:]
    with zipfile.ZipFile(source) as wheel:
        hashes = hashes_of(wheel, record_sha256)
        entries = [e for e in wheel.infolist() if not e.is_dir()
                   and any(fnmatch.fnmatchcase(e.filename, p) for p in patterns)]
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(e.filename, pattern) for e in entries):
                raise SystemExit(f"{source}: nothing in it is called {pattern}")
        for entry in entries:
            take(wheel, entry, hashes[entry.filename], target)
        print(f"{len(entries)} files, {sum(e.file_size for e in entries) >> 20} MiB")


if __name__ == "__main__":
    main()
