/**
 * Takes the place of `node:crypto` in the dashboard (`scripts/build.cjs`). Folding a journal computes the keys of its
 * stories, which name folders on the server; the dashboard uses none of them.
 */
export function createHash(): { update(text: string): { digest(): string } } {
  return {
    update: (text) => ({
      // Not a hash: nothing that has to be secret or short depends on it.
      digest: () => encodeText(text),
    }),
  };
}

/** Different texts have different codes. */
function encodeText(text: string): string {
  return [...text].map((character) => character.codePointAt(0)?.toString(16)).join('-');
}
