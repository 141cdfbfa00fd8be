#!/usr/bin/env python3
"""Reads a journal by docs/journal_format.md and nothing else; only the standard library.

    tests/journal_reader.py DIR                 the records, as `reeve journal cat` prints them
    tests/journal_reader.py DIR --snapshot      what the newest snapshot says of itself, and its bytes

Chunks compressed with zstd are handed to the `zstd` program: the library has no decompressor.
"""

import re
import struct
import subprocess
import sys
from pathlib import Path

TABLE = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def crc32c(*pieces):
    crc = 0xFFFFFFFF
    for piece in pieces:
        for byte in piece:
            crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Damaged(Exception):
    pass


class Refused(Exception):
    pass


class Segment:
    def __init__(self, path):
        self.path = path
        self.data = path.read_bytes()
        magic, version, crc = struct.unpack_from("<8sII", self.data)
        if magic != b"ReeveSeg" or crc != crc32c(self.data[:12], self.data[16:64]):
            raise Damaged(f"{path}: header")
        if version != 1:
            raise Refused(f"{path}: version {version}")
        self.id = self.data[16:32]
        self.number, self.sequence, self.group, size = struct.unpack_from("<QQQQ", self.data, 32)
        if size != len(self.data) or int(path.name[8:]) != self.number:
            raise Damaged(f"{path}: size or number")

    def record(self, at):
        """(sequence, group, engine, wall, last, digest, payload, size), None for nothing, or 'bad'."""
        data = self.data
        head = data[at : at + 48]
        if not any(head):
            return None
        if len(head) < 48:
            return "bad"
        place = self.id + struct.pack("<QQ", self.number, at)
        length, crc, sequence, group, engine, wall, kind, flags, zero, head_crc = struct.unpack(
            "<IIQQqqBBHI", head
        )
        if head_crc != crc32c(place, head[:4], head[8:44]):
            return "bad"
        size = 48 + (length + 7) // 8 * 8 + 8
        if at + size > len(data):
            return "bad"
        if crc != crc32c(place, head[:4], head[8:44], data[at + 44 : at + size]):
            return "bad"
        padding = data[at + 48 + length : at + size - 8]
        if kind != 1 or flags & ~1 or zero or any(padding):
            raise Refused(f"{self.path} at {at}: a newer version wrote it")
        payload = data[at + 48 : at + 48 + length]
        digest = struct.unpack_from("<Q", data, at + size - 8)[0]
        return (sequence, group, engine, wall, flags & 1, digest, payload, size)

    def groups(self, limit):
        """Whole groups, before `limit` if there is one."""
        at, sequence, group = 4096, self.sequence, self.group
        records = []
        while limit is None or sequence < limit:
            record = self.record(at)
            if record is None or record == "bad":
                break
            if record[:2] != (sequence, group):
                raise Damaged(f"{self.path} at {at}: out of order")
            records.append(record)
            at += record[7]
            sequence += 1
            if record[4]:
                yield records
                records = []
                group += 1
        if limit is not None:
            if sequence != limit or records:
                raise Damaged(f"{self.path} at {at}: ends too early")
            return
        if not any(self.data[at:]) and not records:
            return
        for later in range(at, len(self.data) - 47, 8):
            found = self.record(later)
            if found not in (None, "bad") and found[1] > group:
                raise Damaged(f"{self.path} at {at}: a later group follows at {later}")
        print(f"torn tail in {self.path}", file=sys.stderr)


def visible(payload):
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x5C else f"\\x{byte:02x}" for byte in payload
    )


def show_records(directory):
    paths = sorted(path for path in directory.iterdir() if re.fullmatch(r"segment-\d{12}", path.name))
    segments = [Segment(path) for path in paths]
    if len({segment.id for segment in segments}) > 1:
        raise Damaged("segments of two journals")
    for i, segment in enumerate(segments):
        limit = segments[i + 1].sequence if i + 1 < len(segments) else None
        for group in segment.groups(limit):
            for sequence, number, engine, wall, _, digest, payload, _ in group:
                print(f"{sequence} {number} {engine} {wall} input {digest:016x} {len(payload)} "
                      f"{visible(payload)}")


def show_snapshot(directory):
    path = max(path for path in directory.iterdir() if re.fullmatch(r"snapshot-\d{20}", path.name))
    data = path.read_bytes()
    magic, version, crc = struct.unpack_from("<8sII", data)
    if magic != b"ReeveSnp" or crc != crc32c(data[:12], data[16:64]):
        raise Damaged(f"{path}: header")
    if version != 1:
        raise Refused(f"{path}: version {version}")
    identity = data[16:40]  # journal id and sequence
    sequence, engine, wall = struct.unpack_from("<Qqq", data, 32)
    at, number, content = 64, 0, b""
    while True:
        stored, raw, crc, kind, index = struct.unpack_from("<IIIBxxxQ", data, at)
        head, body = data[at : at + 24], data[at + 24 : at + 24 + stored]
        if crc != crc32c(identity, head[:8], head[12:], body) or index != number:
            raise Damaged(f"{path} at {at}: chunk")
        at += 24 + stored
        if kind == 3:
            break
        if kind not in (1, 2):
            raise Refused(f"{path} at {at}: chunk of kind {kind}")
        if kind == 2:
            body = subprocess.run(["zstd", "-dcq"], input=body, capture_output=True, check=True).stdout
        if len(body) != raw:
            raise Damaged(f"{path} at {at}: size")
        content += body
        number += 1
    chunks, total, digest, _, _ = struct.unpack("<QQQQQ", body)
    if (chunks, total) != (number, len(content)) or at != len(data):
        raise Damaged(f"{path}: end")
    print(f"{sequence} {engine} {wall} {digest:016x} {len(content)} {visible(content)}")


def main():
    directory = Path(sys.argv[1])
    try:
        if "--snapshot" in sys.argv[2:]:
            show_snapshot(directory)
        else:
            show_records(directory)
    except (Damaged, Refused) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
