import { z } from 'zod';
import { isRecord } from '../lib/guards.ts';
import { unitOf, type Quantity, type Unit } from './schema/units.ts';

/**
 * Settings with the names of this program: `max_wait`, a duration, is `maxWaitMs`, and `file_size`, a size, is `fileBytes`.
 * Names that users choose stay as they are.
 */
export type CamelCase<T> =
  T extends Quantity<Unit>
    ? number
    : T extends readonly (infer Entry)[]
      ? readonly CamelCase<Entry>[]
      : T extends object
        ? string extends keyof T
          ? { readonly [K in keyof T]: CamelCase<T[K]> }
          : { [K in keyof T as MemberName<K & string, T[K]>]: CamelCase<T[K]> }
        : T;

type MemberName<K extends string, V> =
  NonNullable<V> extends Quantity<'Bytes'>
    ? `${CamelName<K extends `${infer Stem}_size` ? Stem : K>}Bytes`
    : NonNullable<V> extends Quantity<'Ms'>
      ? `${CamelName<K>}Ms`
      : CamelName<K>;

type CamelName<K extends string> = K extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : K;

/** Renames the members of a value that `schema` has parsed; what is not set is left out. */
export function toCamelCase<T>(schema: z.ZodType<T>, value: T): CamelCase<T> {
  return rename(schema, value) as CamelCase<T>;
}

function rename(schema: z.core.$ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodOptional) return rename(schema.def.innerType, value);
  if (schema instanceof z.ZodPipe) return rename(schema.def.out, value);
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((entry) => rename(schema.def.element, entry));
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (schema instanceof z.ZodRecord) {
    const { valueType } = schema.def;
    return Object.fromEntries(members.map(([name, member]) => [name, rename(valueType, member)]));
  }
  if (!(schema instanceof z.ZodObject)) return value;
  const shape = schema.shape as z.core.$ZodShape;
  return Object.fromEntries(
    members.map(([name, member]) => {
      const own = shape[name] ?? z.unknown();
      return [memberName(name, own), rename(own, member)];
    }),
  );
}

/** The name of a member with its unit. */
export function memberName(name: string, schema: z.core.$ZodType | undefined): string {
  const unit = schema === undefined ? undefined : unitOf(schema);
  const stem = unit === 'Bytes' ? name.replace(/_size$/, '') : name;
  return stem.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) + (unit ?? '');
}
