/** Shorter encodings would mask unrelated text. */
const MIN_ENCODED_LENGTH = 8;

/**
 * All encodings of a secret that may occur in text: plain, escaped for JSON (once and twice), URLs, XML, shells and command
 * lines, split as PowerShell colours it, hex, and base64 (both alphabets) at each of the three alignments. Longest first,
 * without duplicates.
 */
export function secretEncodings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const encoded = [0, 1, 2].flatMap((shift) => {
    const text = base64At(bytes, shift);
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const forms = [...escaped(secret), ...quoted(secret), ...shellParts(secret), hex, hex.toUpperCase(), ...encoded];
  const long = forms.filter((form) => form.length >= MIN_ENCODED_LENGTH);
  return [...new Set([secret, ...long])].filter((form) => form !== '').sort((a, b) => b.length - a.length);
}

/** Escapes of document formats. */
function escaped(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const uri = encodeURIComponent(secret.toWellFormed());
  const xml = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return [
    json,
    json.replaceAll('/', '\\/'),
    JSON.stringify(json).slice(1, -1),
    encodeURI(secret.toWellFormed()),
    uri,
    new URLSearchParams({ s: secret }).toString().slice(2),
    uri.replace(/%../g, (octet) => octet.toLowerCase()),
    uri.replace(/[!'()*~]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`),
    xml,
    ...['&#39;', '&#x27;', '&apos;'].map((mark) => xml.replaceAll('"', '&quot;').replaceAll("'", mark)),
    xml.replaceAll('"', '&#34;').replaceAll("'", '&#39;'),
  ];
}

/** Quoting of shells, command lines and workflow expressions. */
function quoted(secret: string): string[] {
  return [
    secret.replaceAll('"', '\\"'),
    secret.replace(/["\\$`]/g, '\\$&'),
    secret.replace(/[^\w@%+=:,./-]/g, '\\$&'),
    secret.replaceAll("'", `'\\''`),
    secret.replaceAll("'", `'"'"'`),
    secret.replaceAll("'", "\\'"),
    secret.replaceAll("'", "''"),
    secret.replace(/^"|"$/g, ''),
  ];
}

/** PowerShell colours the part of a command before or after its last ampersand. */
function shellParts(secret: string): string[] {
  const at = secret.lastIndexOf('&');
  return at < 0 ? [] : [secret.slice(0, at), secret.slice(0, at + 1), secret.slice(at), secret.slice(at + 1)];
}

/** The base64 characters that depend only on the secret, at an alignment. */
function base64At(secret: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), secret]).toString('base64');
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + secret.length) * 8) / 6));
}
