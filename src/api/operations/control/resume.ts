import type { ControlResult } from '../../../core/run/control-result.ts';
import type { NewSettings } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { controlResultSchema, prdSchema, settingsSchema } from '../schemas.ts';
import { fromWirePrd, type WirePrd } from '../wire-prd.ts';

type Input = Omit<NewSettings, 'request'> & { runId: string; replan?: { prd?: WirePrd } | undefined };

export const resumeOperation: Operation<Input, ControlResult> = {
  name: 'resume',
  method: 'POST',
  path: '/v1/runs/{runId}/resume',
  access: 'control',
  inspects: true,
  summary: 'Continues a paused run. With `replan`, continues any run with the current PRD, or with the given one.',
  input: (z) =>
    z.strictObject({ replan: z.strictObject({ prd: prdSchema(z).optional() }).optional(), ...settingsSchema(z) }),
  example: { set: ['limits.idle=20m'] },
  output: { kind: 'json', schema: controlResultSchema },
  async run(context, { runId, replan, ...settings }) {
    const [{ openKeeper, openRequest, withWarnings }, { replanRun, resumeUnchanged }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/replan-run.ts'),
    ]);
    const keeper = openKeeper(context);
    const request = await openRequest(context, runId, settings);
    if (replan === undefined) {
      const owned = await context.claim(request.runId);
      return { ...(await withWarnings(context, await resumeUnchanged(keeper, request))), ...owned };
    }
    // The path of a PRD from another machine is not valid here: the run keeps its own.
    const sent = context.remote ? { remote: true as const } : {};
    return replanRun(keeper, request, replan.prd && { ...fromWirePrd(replan.prd), ...sent });
  },
};
