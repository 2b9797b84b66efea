import { assertFilledIn } from '../../core/prd/prd-template.ts';
import type { Prd, PrdFile } from '../../core/prd/prd.ts';
import { parseDialectId } from '../../prd/dialect-registry.ts';
import { assertCriteria, parsePrd, parsePrdStrictly } from '../../prd/parse-prd.ts';

interface PrdRules {
  /** The id of a dialect, with the rules of its tool; undefined: detected, with the rules of halo. */
  as?: string | undefined;
  requireCriteria?: boolean | undefined;
}

/** Parses a PRD as a submit would, or more strictly. Throws PRD_INVALID, and USAGE if the dialect does not exist. */
export function validatePrd(file: PrdFile, { as, requireCriteria = false }: PrdRules): Prd {
  const { bytes, path } = file;
  const prd = as === undefined ? parsePrd(bytes, path) : parsePrdStrictly(bytes, path, parseDialectId(as));
  assertFilledIn(prd, path);
  if (requireCriteria) assertCriteria(file);
  return prd;
}
