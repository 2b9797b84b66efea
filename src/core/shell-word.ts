import { hasHidden } from './text/hidden-characters.ts';

/** A word that a shell reads as one argument; what no terminal should see is spelled out, as bash and zsh read it. */
export function shellWord(text: string): string {
  if (/^[\w.@%+=:,/-]+$/.test(text)) return text;
  if (!hasHidden(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const spelled = text.replace(/[\\']|[^\p{L}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `$'${spelled}'`;
}
