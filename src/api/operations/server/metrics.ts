import type { Operation } from '../operation.ts';

export const readMetricsOperation: Operation<object, Buffer> = {
  name: 'readMetrics',
  method: 'GET',
  path: '/metrics',
  access: 'read',
  everywhere: true,
  summary: 'Returns metrics of all runs in the text format of Prometheus; docs/monitoring.md describes them.',
  output: { kind: 'bytes', mediaType: 'text/plain; version=0.0.4; charset=utf-8' },
  async run(context) {
    const { readMetrics } = await import('../../metrics/read-metrics.ts');
    return Buffer.from(await readMetrics(context));
  },
};
