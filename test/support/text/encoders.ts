/** Ways in which programs write a secret, made without halo's own list of them. */
export const ENCODERS: [name: string, encode: (text: string) => string][] = [
  ['as it is', (text) => text],
  ['base64', (text) => Buffer.from(text).toString('base64')],
  ['base64, one byte later', (text) => Buffer.from(`.${text}`).toString('base64')],
  ['base64, two bytes later', (text) => Buffer.from(`..${text}`).toString('base64')],
  ['base64 for URLs', (text) => Buffer.from(text).toString('base64url')],
  ['base64 of an echo', (text) => Buffer.from(`${text}\n`).toString('base64')],
  ['hex', (text) => Buffer.from(text).toString('hex')],
  ['hex in capitals', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['JSON', (text) => JSON.stringify(text)],
  ['JSON in JSON', (text) => JSON.stringify(JSON.stringify(text))],
  ['a URL', encodeURIComponent],
  ['a URL as forms write it', (text) => new URLSearchParams({ text }).toString().slice(5)],
  ['XML', (text) => entities(text, { '"': 'quot', "'": 'apos' })],
  ['HTML', (text) => entities(text, { '"': '#34', "'": '#39' })],
  ['a command line', (text) => `"${text.replaceAll('"', '\\"')}"`],
  ['a shell', (text) => `'${text.replaceAll("'", `'\\''`)}'`],
  ['a shell, with double quotes', (text) => `"${text.replace(/["\\$`]/g, '\\$&')}"`],
  ['a workflow expression', (text) => `'${text.replaceAll("'", "''")}'`],
];

function entities(text: string, quotes: Record<string, string>): string {
  const names: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', ...quotes };
  return text.replace(/[&<>"']/g, (mark) => `&${names[mark] ?? ''};`);
}

/** The middle of a text: what is at its ends may be shared with the text beside it. */
export function coreOf(encoded: string): string {
  return encoded.slice(4, -4);
}
