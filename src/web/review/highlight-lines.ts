import { createLowlight } from 'lowlight';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import elixir from 'highlight.js/lib/languages/elixir';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import scss from 'highlight.js/lib/languages/scss';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import type { PatchHunk, PatchLine } from '../../core/review/read-patch.ts';

const GRAMMARS = {
  ...{
    bash,
    c,
    cpp,
    csharp,
    dockerfile,
    elixir,
    go,
    ini,
    java,
    javascript,
    json,
    kotlin,
    lua,
    makefile,
    markdown,
  },
  ...{ php, python, ruby, rust, scss, sql, swift, typescript, xml, yaml },
};
type Grammar = keyof typeof GRAMMARS;

/** Suffixes and names of files, in lower case. */
const FILES: Record<Grammar, string> = {
  bash: 'sh bash zsh ksh .bashrc .profile .envrc',
  c: 'c h',
  cpp: 'cc cpp cxx hh hpp hxx ino',
  csharp: 'cs',
  dockerfile: 'dockerfile containerfile',
  elixir: 'ex exs',
  go: 'go',
  ini: 'ini toml cfg conf properties .editorconfig .npmrc',
  java: 'java',
  javascript: 'js cjs mjs jsx',
  json: 'json jsonc json5 webmanifest',
  kotlin: 'kt kts',
  lua: 'lua',
  makefile: 'mk makefile',
  markdown: 'md markdown mdx',
  php: 'php',
  python: 'py pyi pyw',
  ruby: 'rb rake gemspec gemfile rakefile',
  rust: 'rs',
  scss: 'css scss less',
  sql: 'sql',
  swift: 'swift',
  typescript: 'ts cts mts tsx',
  xml: 'xml html htm svg xhtml vue svelte',
  yaml: 'yml yaml',
};
const BY_FILE = new Map(Object.entries(FILES).flatMap(([name, files]) => files.split(' ').map((file) => [file, name])));

/** The language of a file, if its name says so and halo can highlight it. */
function findLanguage(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return (
    BY_FILE.get(name) ?? BY_FILE.get(name.slice(name.lastIndexOf('.') + 1)) ?? BY_FILE.get(name.split('.')[0] ?? '')
  );
}

/** A part of a line. `kind` names its color. */
interface CodeToken {
  text: string;
  kind?: string;
}

/** Lines that are highlighted together; what is open after them, such as a comment, is forgotten. */
const LINES_AT_ONCE = 400;
/** Longer lines are not highlighted: people do not write them. */
const MAX_LINE = 400;
/** The rest of a file stays plain if so many lines of it took longer: it may be made to be slow. */
const MAX_MS = 250;

const lowlight = createLowlight(GRAMMARS);
// In pages and scripts, too: each style sheet is one of SCSS.
lowlight.registerAlias({ scss: 'css' });
const slow = new Set<string>();

const lineNumbers = new WeakMap<PatchHunk, Map<PatchLine, number>>();
const colored = new WeakMap<PatchHunk, Map<number, Map<PatchLine, CodeToken[]>>>();

/** The tokens of a line; one if halo does not know its language. Lines near to it are read with it, and kept. */
export function readTokens(path: string, hunk: PatchHunk, line: PatchLine): CodeToken[] {
  const numbers = lineNumbers.get(hunk) ?? new Map(hunk.lines.map((each, index) => [each, index]));
  lineNumbers.set(hunk, numbers);
  const parts = colored.get(hunk) ?? new Map<number, Map<PatchLine, CodeToken[]>>();
  colored.set(hunk, parts);
  const part = Math.floor((numbers.get(line) ?? 0) / LINES_AT_ONCE);
  const tokens =
    parts.get(part) ?? highlightLines(path, hunk.lines.slice(part * LINES_AT_ONCE).slice(0, LINES_AT_ONCE));
  parts.set(part, tokens);
  return tokens.get(line) ?? (line.text === '' ? [] : [{ text: line.text }]);
}

/** The lines before and after the change are read as two texts, so that strings and comments over lines have their color. */
function highlightLines(path: string, lines: readonly PatchLine[]): Map<PatchLine, CodeToken[]> {
  const language = findLanguage(path);
  const found = new Map<PatchLine, CodeToken[]>();
  if (language === undefined || slow.has(path)) return found;
  const begin = performance.now();
  for (const side of ['removed', 'added'] as const) {
    const read = lines.filter(({ kind }) => kind === 'same' || kind === side);
    if (side === 'removed' && !read.some(({ kind }) => kind === side)) continue;
    const texts = read.map(({ text }) => (text.length > MAX_LINE ? '' : text));
    const tokens = toLines(lowlight.highlight(language, texts.join('\n'), { prefix: '' }).children);
    for (const [index, line] of read.entries()) if (line.text.length <= MAX_LINE) found.set(line, tokens[index] ?? []);
  }
  if (performance.now() - begin > MAX_MS) slow.add(path);
  return found;
}

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

/** The tokens of each line of a tree. */
function toLines(nodes: readonly Node[]): CodeToken[][] {
  const lines: CodeToken[][] = [[]];
  const visit = (node: Node, kind: string | undefined): void => {
    if (node.type === 'element') {
      const names = node.properties.className;
      const inner = (Array.isArray(names) ? KINDS[String(names[0])] : undefined) ?? kind;
      for (const child of node.children) visit(child, inner);
    } else if (node.type === 'text') {
      for (const [index, text] of node.value.split('\n').entries()) {
        if (index > 0) lines.push([]);
        if (text !== '') lines.at(-1)?.push(kind === undefined ? { text } : { text, kind });
      }
    }
  };
  for (const node of nodes) visit(node, undefined);
  return lines;
}

/** The colors of the scopes of highlight.js. */
const KINDS: Record<string, string> = {
  ...named('keyword', 'keyword', 'selector-tag', 'template-tag', 'operator_'),
  ...named('string', 'string', 'regexp', 'char', 'link', 'template-variable', 'code'),
  ...named('number', 'number', 'literal', 'symbol', 'bullet'),
  ...named('comment', 'comment', 'quote', 'doctag'),
  ...named('name', 'title', 'section', 'name', 'selector-id', 'selector-class', 'selector-pseudo'),
  ...named('type', 'type', 'built_in', 'class'),
  ...named('attribute', 'attr', 'attribute', 'property', 'variable', 'selector-attr', 'meta'),
};

function named(kind: string, ...scopes: string[]): Record<string, string> {
  return Object.fromEntries(scopes.map((scope) => [scope, kind]));
}

/** Splits the tokens of a line where its changed part begins and ends. */
export function markChanged(
  tokens: readonly CodeToken[],
  part: { from: number; to: number } | undefined,
): (CodeToken & { isChanged: boolean })[] {
  const marked: (CodeToken & { isChanged: boolean })[] = [];
  let at = 0;
  for (const token of tokens) {
    const end = at + token.text.length;
    const cuts = part === undefined ? [] : [part.from, part.to].filter((cut) => cut > at && cut < end);
    for (const [index, from] of [at, ...cuts].entries()) {
      const text = token.text.slice(from - at, (cuts[index] ?? end) - at);
      if (text === '') continue;
      marked.push({ ...token, text, isChanged: part !== undefined && from >= part.from && from < part.to });
    }
    at = end;
  }
  return marked;
}
