import { z } from 'zod';

const CommentShape = z.looseObject({ body: z.string().nullish(), created_at: z.string().optional() });

/**
 * Whether a comment in these pages contains a text. `since` (ISO 8601): the pages begin with the newest comment, and
 * no page after an older one is read. Undefined: there are more pages than halo reads.
 */
export async function findComment(
  pages: AsyncIterable<unknown[] | undefined>,
  text: string,
  since?: string,
): Promise<boolean | undefined> {
  for await (const page of pages) {
    if (page === undefined) return undefined;
    const comments = page.map((each) => CommentShape.parse(each));
    if (comments.some(({ body }) => body?.includes(text))) return true;
    const oldest = Date.parse(comments.at(-1)?.created_at ?? '');
    if (since !== undefined && oldest < Date.parse(since)) return false;
  }
  return false;
}
