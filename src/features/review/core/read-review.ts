import * as z from 'zod';
import type { AgentReview, JudgedCriterion, ReviewFinding } from '../../../core/review/agent-review.ts';
import type { Patch } from '../../../core/review/read-patch.ts';
import { safeText } from '../../../core/text/safe-text.ts';

const MAX_FINDINGS = 50;
const MAX_TEXT = 1000;
const MAX_CRITERIA = 1000;

const Count = z.int().min(1).max(10_000_000);

const Finding = z.object({
  path: z.string().max(4096).nullish(),
  line: Count.nullish(),
  severity: z.enum(['blocking', 'note']),
  criterion: Count.nullish(),
  text: z.string().trim().min(1).max(MAX_TEXT),
});

const Answer = z.object({
  findings: z.array(Finding).max(MAX_FINDINGS),
  judged: z.array(z.object({ n: Count, met: z.enum(['yes', 'no', 'unclear']) })).max(MAX_CRITERIA),
});

/** What the answer is checked against. */
interface Reviewed {
  /** The number of acceptance criteria. */
  criteria: number;
  patch: Pick<Patch, 'files'>;
}

type ReadReview = Pick<AgentReview, 'findings' | 'criteria'> | { fault: string };

/**
 * Reads the answer of a reviewer, which must judge each criterion once. A criterion that is not met is a blocking finding, also
 * if the reviewer names none. Places that the diff does not show are left out, never the finding.
 */
export function readReview(answer: unknown, { criteria, patch }: Reviewed): ReadReview {
  const parsed = Answer.safeParse(answer);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { fault: `its answer breaks the agreed shape at "${issue?.path.map(String).join('.') ?? ''}"` };
  }
  const { findings, judged } = parsed.data;
  const missing = Array.from({ length: criteria }, (_, index) => index + 1).filter(
    (n) => judged.filter((each) => each.n === n).length !== 1,
  );
  if (missing.length > 0) return { fault: `its answer does not judge criterion ${missing.join(', ')} once` };
  if (judged.length > criteria) return { fault: `its answer judges more criteria than the ${criteria} of the story` };
  const found = findings.map((each) => placeFinding(each, { criteria, patch }));
  return { findings: [...found, ...findUnnamed(judged, found)], criteria: judged.toSorted((a, b) => a.n - b.n) };
}

function placeFinding(
  { path, line, severity, criterion, text }: z.infer<typeof Finding>,
  { criteria, patch }: Reviewed,
): ReviewFinding {
  const file = patch.files.find((each) => each.path === path);
  const isShown = file?.hunks.some(({ lines }) => lines.some((each) => each.new === line)) === true;
  return {
    ...(file && { path: file.path }),
    ...(isShown && typeof line === 'number' && { line }),
    severity,
    ...(typeof criterion === 'number' && criterion <= criteria && { criterion }),
    text: safeText(text),
  };
}

/** Criteria that are not met, and that no blocking finding names. */
function findUnnamed(judged: readonly JudgedCriterion[], found: readonly ReviewFinding[]): ReviewFinding[] {
  return judged
    .filter(({ met }) => met === 'no')
    .filter(({ n }) => !found.some(({ severity, criterion }) => severity === 'blocking' && criterion === n))
    .map(({ n }) => ({ severity: 'blocking', criterion: n, text: `Criterion ${n} is not met.` }));
}
