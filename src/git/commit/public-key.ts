const MAGIC = 'openssh-key-v1\0';

/** Returns the public key line of a private ssh key, read from the part of the file that is never encrypted. */
export function publicKeyOf(privateKey: string): string | undefined {
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([\sA-Za-z0-9+/=]+)-----END/.exec(privateKey)?.[1];
  if (body === undefined) return undefined;
  const bytes = Buffer.from(body, 'base64');
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined;
  try {
    let at = MAGIC.length;
    const next = () => {
      const start = at + 4;
      at = start + bytes.readUInt32BE(at);
      return bytes.subarray(start, at);
    };
    // Skip cipher, key derivation function and its options, and the number of keys, which is always 1.
    next();
    next();
    next();
    at += 4;
    const key = next();
    const type = key.toString('latin1', 4, 4 + key.readUInt32BE(0));
    return /^[a-z0-9@.-]+$/.test(type) ? `${type} ${key.toString('base64')}` : undefined;
  } catch {
    return undefined;
  }
}
