/**
 * The result of parsing the first bytes of a connection. Own code instead of a library, because a tunnel needs these
 * three outcomes without consuming the stream.
 */
export type ClientHello =
  | { kind: 'more' }
  /** A TLS ClientHello; `name` is its SNI, undefined when it has none. */
  | { kind: 'tls'; name: string | undefined }
  | { kind: 'other' };

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const MAX_BYTES = 65_536;

/** Parses the start of a TLS stream (RFC 8446 §4.1.2, RFC 6066 §3). The ClientHello may span several records. */
export function parseClientHello(bytes: Buffer): ClientHello {
  if (bytes.length === 0) return { kind: 'more' };
  const message = joinRecords(bytes);
  if (message === undefined || (message.length > 0 && message[0] !== CLIENT_HELLO)) return { kind: 'other' };
  if (message.length < 4 || message.length < 4 + message.readUIntBE(1, 3)) {
    return bytes.length > MAX_BYTES ? { kind: 'other' } : { kind: 'more' };
  }
  try {
    return { kind: 'tls', name: findServerName(message.subarray(4, 4 + message.readUIntBE(1, 3))) };
  } catch {
    return { kind: 'other' };
  }
}

/** Joins the handshake records received so far. Returns undefined when the bytes are not a handshake. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const wrong = bytes[at] !== HANDSHAKE_RECORD || (at + 1 < bytes.length && bytes[at + 1] !== 3);
    // Other records may follow the ClientHello but not interrupt it; parsing stops at them.
    if (wrong) return at === 0 ? undefined : Buffer.concat(parts);
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return undefined;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(parts);
}

/** Throws RangeError when the ClientHello is shorter than its length fields claim. */
function findServerName(hello: Buffer): string | undefined {
  let at = 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at === hello.length) return undefined;
  const end = at + 2 + hello.readUInt16BE(at);
  at += 2;
  const names: string[] = [];
  while (at < end) {
    const type = hello.readUInt16BE(at);
    const length = hello.readUInt16BE(at + 2);
    if (type === SERVER_NAME) names.push(readNameList(slice(hello, at + 4, length)));
    at += 4 + length;
  }
  if (names.length > 1) throw new RangeError('two lists of server names');
  return names[0];
}

function readNameList(list: Buffer): string {
  const length = list.readUInt16BE(3);
  // Exactly one name, of type host_name, the only defined type.
  if (list.readUInt16BE(0) !== list.length - 2 || list[2] !== 0 || length !== list.length - 5) {
    throw new RangeError('not one server name');
  }
  return slice(list, 5, length).toString('latin1');
}

function slice(bytes: Buffer, at: number, length: number): Buffer {
  if (at + length > bytes.length) throw new RangeError('beyond the end');
  return bytes.subarray(at, at + length);
}
