/** Shorter encodings would hide what is no secret. */
const SHORTEST = 8;

/**
 * The secret as it may turn up in text: itself, escaped for JSON (once and twice), URLs, XML, shells and command lines,
 * in the parts in which PowerShell colours it, in hex, and in base64 (both alphabets) at each of the three places at
 * which it can begin in a longer text. Longest first, each once.
 */
export function secretForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const encoded = [0, 1, 2].flatMap((shift) => {
    const text = base64At(bytes, shift);
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const forms = [...escaped(secret), ...quoted(secret), ...shellParts(secret), hex, hex.toUpperCase(), ...encoded];
  const long = forms.filter((form) => form.length >= SHORTEST);
  return [...new Set([secret, ...long])].filter((form) => form !== '').sort((a, b) => b.length - a.length);
}

/** As documents write it. */
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

/** As shells, command lines and workflow expressions write it. */
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

/** PowerShell puts colours around the part of a command before, or behind, its last ampersand. */
function shellParts(secret: string): string[] {
  const at = secret.lastIndexOf('&');
  return at < 0 ? [] : [secret.slice(0, at), secret.slice(0, at + 1), secret.slice(at), secret.slice(at + 1)];
}

/** The characters that stand for the secret alone, whatever is before and behind it. */
function base64At(secret: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), secret]).toString('base64');
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + secret.length) * 8) / 6));
}
