// Runs commands for a test process: see run-program.ts. Reads requests from stdin, writes results to stdout, each with its
// length before it. Exits with its parent.
import { spawnSync } from 'node:child_process';
import { readSync, writeSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';

for (let head = read(8); head !== undefined; head = read(8)) {
  const { program, args, options } = deserialize(read(Number(head.readBigUInt64LE())));
  const { status, signal, error, stdout, stderr } = spawnSync(program, args, options);
  const result = serialize({ status, signal, stdout, stderr, error: error?.message });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(result.length));
  write(length);
  write(result);
}

/** Returns undefined at the end of the input. */
function read(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const count = readSync(0, bytes, at, length - at, null);
    if (count === 0) return undefined;
    at += count;
  }
  return bytes;
}

function write(bytes) {
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
}
