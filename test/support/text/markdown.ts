/** Fenced blocks of one language, in order. */
export function codeBlocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , block = '']) => block);
}

/** Targets of links that stay within the repository. */
export function linksOf(text: string): string[] {
  const prose = withoutCode(text);
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors that GitHub gives to the headings of a page. */
export function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  return [...text.replace(FENCED, '').matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
}

const FENCED = /^```[\s\S]*?^```$/gm;

/** Code may hold what looks like a link. A link whose text is code stays one. */
function withoutCode(text: string): string {
  return text.replace(FENCED, '').replace(/`[^`\n]*`/g, 'code');
}
