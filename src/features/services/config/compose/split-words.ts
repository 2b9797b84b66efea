/**
 * Splits a command line into words as a shell does, but without variables, patterns and operators, which compose files do not
 * have there either. Undefined if a quote is not closed.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let rest = line; rest !== '';) {
    const [part = '', single, double, escaped, plain, space] = PART.exec(rest) ?? [];
    if (part === '') return undefined;
    rest = rest.slice(part.length);
    const text = single ?? double?.replace(/\\([\\"$`\n])/g, '$1') ?? escaped ?? plain;
    if (text !== undefined) word = (word ?? '') + text;
    else if (space !== undefined && word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

const PART = /^(?:'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|(\s+))/;
