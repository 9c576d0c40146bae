#!/usr/bin/env python3
"""Takes single files out of a wheel, from the network or a local copy, without fetching the rest of it.

usage: wheel_files.py URL_OR_FILE RECORD_SHA256 TARGET PATTERN...

Patterns are those of the shell (fnmatch), over names inside the wheel. A wheel's RECORD lists the SHA-256 of every
file in it; RECORD itself must have the hash given, so every file taken is pinned by that one number.
"""
import base64
import fnmatch
import hashlib
import io
import os
import sys
import urllib.request
import zipfile

READ_AHEAD_BYTES = 4 << 20


class RemoteFile(io.RawIOBase):
    """A file on a web server that answers range requests, read in large pieces."""

    def __init__(self, url):
        self.url = url
        self.at = 0
        self.piece = b""
        self.piece_at = 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
            self.size = int(answer.headers["content-length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=os.SEEK_SET):
        self.at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size}[whence]
        return self.at

    def fetch(self, begin, end):
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={begin}-{end - 1}"})
        for attempt in range(4):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    if answer.status != 206:
                        raise SystemExit(f"{self.url}: the server sends whole files only; fetch the wheel by hand")
                    data = answer.read()
                if len(data) == end - begin:
                    return data
            except OSError as error:
                if attempt == 3:
                    raise SystemExit(f"{self.url}: {error}") from error
        raise SystemExit(f"{self.url}: answers stay shorter than what was asked for")

    def read(self, size=-1):
        end = self.size if size < 0 else min(self.size, self.at + size)
        if end <= self.at:
            return b""
        if not (self.piece_at <= self.at and end <= self.piece_at + len(self.piece)):
            self.piece = self.fetch(self.at, min(self.size, max(end, self.at + READ_AHEAD_BYTES)))
            self.piece_at = self.at
        data = self.piece[self.at - self.piece_at : end - self.piece_at]
        self.at = end
        return data


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
    with zipfile.ZipFile(RemoteFile(source) if "://" in source else source) as wheel:
        hashes = hashes_of(wheel, record_sha256)
        entries = [e for e in wheel.infolist() if not e.is_dir()
                   and any(fnmatch.fnmatchcase(e.filename, p) for p in patterns)]
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(e.filename, pattern) for e in entries):
                raise SystemExit(f"{source}: nothing in it is called {pattern}")
        # In the order they lie in: neighbours come with one request.
        for entry in sorted(entries, key=lambda e: e.header_offset):
            take(wheel, entry, hashes[entry.filename], target)
        print(f"{len(entries)} files, {sum(e.file_size for e in entries) >> 20} MiB, "
              f"of which {sum(e.compress_size for e in entries) >> 20} MiB were fetched")


if __name__ == "__main__":
    main()
