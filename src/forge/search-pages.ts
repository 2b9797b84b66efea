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

const EventShape = z.looseObject({
  event: z.string().nullish(),
  state: z.string().nullish(),
  type: z.string().nullish(),
  created_at: z.string(),
});

/** Whether these pages of an issue's events say that it was reopened after `since`. */
export async function isReopenedSince(pages: AsyncIterable<unknown[] | undefined>, since: string): Promise<boolean> {
  for await (const page of pages) {
    const events = (page ?? []).flatMap((each) => EventShape.safeParse(each).data ?? []);
    const isLater = (at: string) => Date.parse(at) > Date.parse(since);
    if (events.some((each) => isReopening(each) && isLater(each.created_at))) return true;
  }
  return false;
}

/** GitHub has `event: reopened`, GitLab `state: reopened`, Gitea `type: reopen`. */
function isReopening({ event, state, type }: z.output<typeof EventShape>): boolean {
  return event === 'reopened' || state === 'reopened' || type === 'reopen';
}
