import type { AnyOperation, CallOperation, Operation, Unnamed } from './operations/operation.ts';
import { controlOperations } from './operations/control.ts';
import { logOperations } from './operations/logs.ts';
import { notifyOperations } from '../features/notifications/api/operations.ts';
import { prdOperations } from './operations/prds.ts';
import { evidenceOperations } from '../features/evidence/api/operations.ts';
import { reportOperations } from '../features/reports/api/operations.ts';
import { runOperations } from './operations/runs.ts';
import { descriptionOperations, serverOperations } from './operations/server.ts';
import { submitOperations } from './operations/submit.ts';
import { telemetryOperations } from '../features/telemetry/api/operations.ts';
import { modelOperations } from '../features/models/api/operations.ts';
import { issueOperations } from '../features/issues/api/operations.ts';
import { engineOperations } from '../features/engines/api/operations.ts';
import { pullOperations } from '../features/pulls/api/operations.ts';
import { retentionOperations } from '../features/retention/api/operations.ts';
import { userOperations } from '../features/people/api/operations.ts';

/** Every operation by its name, in the order of the reference. */
export const OPERATIONS = named({
  ...prdOperations,
  ...submitOperations,
  ...issueOperations,
  ...runOperations,
  ...logOperations,
  ...controlOperations,
  ...evidenceOperations,
  ...pullOperations,
  ...reportOperations,
  ...serverOperations,
  ...engineOperations,
  ...modelOperations,
  ...retentionOperations,
  ...notifyOperations,
  ...userOperations,
  ...telemetryOperations,
  ...descriptionOperations,
});

/** The same as a list. */
export const ALL_OPERATIONS: readonly AnyOperation[] = Object.values(OPERATIONS);

type Table = typeof OPERATIONS;

/** The operations as methods, which differ in nothing else from those of the table. */
export type OperationMethods = { [Name in keyof Table]: Method<Table[Name]> };

type Method<O> =
  O extends Operation<infer Input, infer Result>
    ? (
        ...args: Record<never, never> extends Input
          ? [input?: Input, signal?: AbortSignal]
          : [input: Input, signal?: AbortSignal]
      ) => Promise<Result>
    : never;

/** What the call of an operation takes, and what it returns. */
export type InputOf<Name extends keyof Table> = Table[Name] extends Operation<infer Input, unknown> ? Input : never;
export type ResultOf<Name extends keyof Table> = Awaited<ReturnType<OperationMethods[Name]>>;

/** Everything that users can do: in this process (api/local.ts) or over HTTP (api/http/http-client.ts). */
export interface Operations extends OperationMethods {
  close(): Promise<void>;
}

/** Calls operations by their names. `submitter` is added to submits without a user. */
export function bindOperations(call: CallOperation, submitter?: { user: string }): OperationMethods {
  const methods = ALL_OPERATIONS.map((operation) => {
    const added = operation.submits === true ? submitter : {};
    const method = (input: object = {}, signal?: AbortSignal) =>
      call(operation as Operation<object, unknown>, { ...added, ...input }, signal);
    return [operation.name, method];
  });
  return Object.fromEntries(methods) as OperationMethods;
}

function named<T extends Record<string, Unnamed>>(table: T): { [Name in keyof T]: T[Name] & { name: string } } {
  const entries = Object.entries(table).map(([name, operation]) => [name, { ...operation, name }]);
  return Object.fromEntries(entries) as { [Name in keyof T]: T[Name] & { name: string } };
}
