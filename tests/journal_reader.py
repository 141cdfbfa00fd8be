#!/usr/bin/env python3
"""Reads a journal by docs/journal_format.md and nothing else; only the standard library.

    tests/journal_reader.py DIR                 the records, as `reeve journal cat` prints them
    tests/journal_reader.py DIR --snapshot      what the newest snapshot says of itself, and its bytes
    tests/journal_reader.py DIR --state         the chunks of the state in it (docs/value_format.md)

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
        self.torn = False
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
        self.torn = True
        print(f"torn tail in {self.path}", file=sys.stderr)


def visible(payload):
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x5C else f"\\x{byte:02x}" for byte in payload
    )


def named(directory, pattern):
    return sorted(path for path in directory.iterdir() if re.fullmatch(pattern, path.name))


class Snapshot:
    def __init__(self, path):
        data = path.read_bytes()
        magic, version, crc = struct.unpack_from("<8sII", data)
        if magic != b"ReeveSnp" or crc != crc32c(data[:12], data[16:64]):
            raise Damaged(f"{path}: header")
        if version != 1 or any(data[56:64]):
            raise Refused(f"{path}: version {version}")
        self.id = data[16:32]
        identity = data[16:40]  # journal id and sequence
        self.sequence, self.engine, self.wall = struct.unpack_from("<Qqq", data, 32)
        if int(path.name[9:]) != self.sequence:
            raise Damaged(f"{path}: sequence")
        at, number, self.content = 64, 0, b""
        while True:
            if at + 24 > len(data):
                raise Damaged(f"{path} at {at}: no end")
            stored, raw, crc, kind, zero, index = struct.unpack_from("<IIIB3sQ", data, at)
            head, body = data[at : at + 24], data[at + 24 : at + 24 + stored]
            if crc != crc32c(identity, head[:8], head[12:], body) or index != number:
                raise Damaged(f"{path} at {at}: chunk")
            if kind not in (1, 2, 3) or any(zero) or (kind == 3 and raw):
                raise Refused(f"{path} at {at}: chunk of kind {kind}")
            at += 24 + stored
            if kind == 3:
                break
            if kind == 2:
                zstd = ["zstd", "-dcq"]
                body = subprocess.run(zstd, input=body, capture_output=True, check=True).stdout
            if len(body) != raw or not raw or not stored:
                raise Damaged(f"{path} at {at}: size")
            self.content += body
            number += 1
        if len(body) != 40:
            raise Damaged(f"{path}: end")
        chunks, total, self.digest, self.durable, _ = struct.unpack("<QQQQQ", body)
        if (chunks, total) != (number, len(self.content)) or at != len(data):
            raise Damaged(f"{path}: end")


def newest_snapshot(directory):
    """The newest whole one, or None."""
    for path in reversed(named(directory, r"snapshot-\d{20}")):
        try:
            return Snapshot(path)
        except Damaged as error:
            print(f"passed over: {error}", file=sys.stderr)
    return None


def clean_mark(directory):
    """(journal id, next sequence, next group) of a clean stop, or None."""
    path = directory / "clean"
    data = path.read_bytes() if path.exists() else b""
    if len(data) != 48 or data[:8] != b"ReeveEnd":
        return None
    version, crc = struct.unpack_from("<II", data, 8)
    if crc != crc32c(data[:12], data[16:48]):
        return None
    if version != 1:
        raise Refused(f"{path}: version {version}")
    return (data[16:32], *struct.unpack_from("<QQ", data, 32))


def show_records(directory):
    segments = [Segment(path) for path in named(directory, r"segment-\d{12}")]
    base = newest_snapshot(directory)
    clean = clean_mark(directory)
    if base and not segments:
        raise Damaged("a snapshot and no segment")
    ids = {segment.id for segment in segments} | ({base.id} if base else set())
    if clean:
        ids.add(clean[0])
    if len(ids) > 1:
        raise Damaged("files of two journals")
    first = base.sequence + 1 if base else 1
    if segments and segments[0].sequence > first:
        raise Damaged(f"record {first} is missing")
    end = (1, 1)
    for i, segment in enumerate(segments):
        limit = segments[i + 1].sequence if i + 1 < len(segments) else None
        end = (segment.sequence, segment.group)
        try:
            for group in segment.groups(limit):
                for sequence, number, engine, wall, _, digest, payload, _ in group:
                    print(f"{sequence} {number} {engine} {wall} input {digest:016x} {len(payload)} "
                          f"{visible(payload)}")
                    end = (sequence + 1, number + 1)
        except Damaged as error:
            if limit is None or limit > first:
                raise
            print(f"not needed any more: {error}", file=sys.stderr)
    if base and base.durable > base.sequence and base.durable >= end[0]:
        raise Damaged(f"record {base.durable} was durable and is missing")
    if clean and end[0] >= first and (clean[1:] != end or segments[-1].torn):
        raise Damaged(f"ends before {end} and was stopped before {clean[1:]}")


def show_snapshot(directory):
    found = newest_snapshot(directory)
    if not found:
        raise Damaged("no snapshot")
    print(f"{found.sequence} {found.engine} {found.wall} {found.digest:016x} {len(found.content)} "
          f"{visible(found.content)}")


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def frames(content):
    at = 0
    while at < len(content):
        if at + 4 > len(content):
            raise Damaged("the state ends inside a length")
        length = struct.unpack_from("<I", content, at)[0]
        if at + 4 + length > len(content):
            raise Damaged("the state ends inside a frame")
        yield content[at + 4 : at + 4 + length]
        at += 4 + length


def show_state(directory):
    found = newest_snapshot(directory)
    chunks = list(frames(found.content)) if found else []
    if len(chunks) < 2:
        raise Damaged("no state")
    kind, at = varint(chunks[0], 0)
    version, at = varint(chunks[0], at)
    if kind != 0 or chunks[0][at:] != b"reeve state":
        raise Damaged("no header of a state")
    if version != 1:
        raise Refused(f"a state in format {version}")
    print(f"header format {version}")
    last = -1
    for chunk in chunks[1:-1]:
        kind, at = varint(chunk, 0)
        part, at = varint(chunk, at)
        if kind != 1 or part < last:
            raise Damaged("chunks of a state out of order")
        last = part
        print(f"part {part} {len(chunk) - at}")
    kind, at = varint(chunks[-1], 0)
    digest, at = varint(chunks[-1], at)
    if kind != 2 or at != len(chunks[-1]) or digest != found.digest:
        raise Damaged("the end of the state")
    print(f"end {digest:016x}")


def main():
    directory = Path(sys.argv[1])
    try:
        if "--snapshot" in sys.argv[2:]:
            show_snapshot(directory)
        elif "--state" in sys.argv[2:]:
            show_state(directory)
        else:
            show_records(directory)
    except (Damaged, Refused) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
