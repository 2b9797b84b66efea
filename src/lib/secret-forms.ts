/** Shorter encodings would hide what is no secret. */
const SHORTEST = 8;

/**
 * The secret as it may turn up in text: itself, escaped for JSON and URLs, in hex, and in base64 (both alphabets) at
 * each of the three places at which it can begin in a longer text. Longest first, each once.
 */
export function secretForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const encoded = [0, 1, 2].flatMap((shift) => {
    const text = base64At(bytes, shift);
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const forms = [JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), hex, hex.toUpperCase(), ...encoded];
  const long = forms.filter((form) => form.length >= SHORTEST);
  return [...new Set([secret, ...long])].filter((form) => form !== '').sort((a, b) => b.length - a.length);
}

/** The characters that stand for the secret alone, whatever is before and behind it. */
function base64At(secret: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), secret]).toString('base64');
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + secret.length) * 8) / 6));
}
