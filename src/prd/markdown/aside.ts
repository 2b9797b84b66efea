import { toOneLine } from '../../lib/one-line.ts';
import type { Findings } from '../findings.ts';
import { addWarning } from '../json/object-reader.ts';
import { STRUCK } from '../struck.ts';
import { asideHeading, type Headings } from './sections.ts';

/** Whether a story that is not done is left out, which is said. */
export function tellWhyAside(
  { headings, isDropped }: { headings: Headings; isDropped: boolean },
  id: string,
  findings: Findings,
): boolean {
  const heading = asideHeading(headings);
  if (heading === undefined && !isDropped) return false;
  addWarning({ findings }, id, isDropped ? STRUCK : `below "${toOneLine(heading ?? '')}", so it is skipped`);
  return true;
}
