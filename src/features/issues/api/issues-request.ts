import type { Fields, Zod } from '../../../api/operations/operation.ts';
import { placeSchema, type SubmitOptions } from '../../../api/operations/schemas.ts';

/** Which issues a run gets, and where. */
export const issuesFields = (z: Zod) => ({
  source: z.string().min(1).max(1000).describe('`github:owner/repo`, `gitlab:group/project` or `gitea:owner/repo`.'),
  label: z.string().max(100).optional().describe('The label of the issues; default: `issues.label`.'),
  again: z.boolean().optional().describe('Include issues that a run works on or has done.'),
  repo: placeSchema(z),
});

/** A run whose stories are the open issues of a project. */
export type IssuesRequest = Fields<typeof issuesFields> & Omit<SubmitOptions, 'issues'>;
