import type { Breach, SourceFile } from './architecture.ts';

/** A string or template that is the second argument of `new HaloError`. */
const MESSAGE =
  /new HaloError\(\s*(?:'[A-Z_]+'|[^,()]+),\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`)(?=,|\s*\))/g;

/** The place that a message is about: a path with line and column, or an option. */
const PLACE = /^(?:\$\{[^}]*\}(?::\$\{[^}]*\})*|-c): /;

/** A capital, a value, a quoted text, or the name of a program, a table or an option. */
const START = /^(?:[A-Z$"“'’]|\\?`|\[|--?|(?:halo|git|npm|docker) )/;

/** A full stop or question mark, what closes a sentence, the output of another program after a colon, or another message. */
const END = /(?:[.?]|\$\{closeSentence\([^{}]*\)\}|: \$\{[^{}]*\}|\$\{\w+\.message\})$/;

/** Error messages that are not sentences: `<place>: <Sentence case>.`; nested templates are not read. */
export function findUnstyledErrors(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    readMessages(text)
      .filter((message) => !isSentence(message))
      .map((message) => `${path}: ${message}`),
  );
}

/** The messages of a source that are literals. */
export function readMessages(text: string): string[] {
  const literals = [...text.matchAll(MESSAGE)].map(([, literal = '']) => literal.slice(1, -1));
  return literals.filter((message) => !/\$\{[^}]*$/.test(message));
}

function isSentence(message: string): boolean {
  return START.test(message.replace(PLACE, '')) && END.test(message);
}
