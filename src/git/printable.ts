/** Text of unknown origin for a message: control and invisible characters escaped, at most `max` characters. */
export function printable(text: string, max = 200): string {
  const escaped = text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );
  return escaped.length <= max ? escaped : `${escaped.slice(0, max)}…`;
}
