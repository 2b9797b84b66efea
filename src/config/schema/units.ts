import { z } from 'zod';

/** The unit of an amount, which ends the name of its setting in the configuration of a run. */
export type Unit = 'Ms' | 'Bytes';

declare const UNIT: unique symbol;
/** A number with its unit, which only types know. */
export type Quantity<U extends Unit> = number & { readonly [UNIT]: U };

/** What a schema says about its values. */
interface ValueFacts {
  unit?: Unit;
  /** A path on this machine; a relative one is resolved against the folder of the source that sets it. */
  isPath?: true;
}

/** Refined copies of a schema have its facts, too. */
const valueFacts = z.registry<ValueFacts>();

export function withFacts<S extends z.ZodType>(schema: S, facts: ValueFacts): S {
  valueFacts.add(schema, facts);
  return schema;
}

export function unitOf(schema: z.core.$ZodType): Unit | undefined {
  return valueFacts.get(plain(schema))?.unit;
}

/** Whether values are paths on this machine, or lists of them. */
export function holdsPaths(schema: z.core.$ZodType): boolean {
  const inner = plain(schema);
  return valueFacts.get(inner instanceof z.ZodArray ? inner.def.element : inner)?.isPath === true;
}

function plain(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? schema.def.innerType : schema;
}
