import type { Usage } from './agent.ts';

/** The price of a model, in USD per million tokens. */
export interface Price {
  input: number;
  /** Input read from the provider's cache. */
  cached: number;
  /** Input written to the provider's cache. */
  cacheWrite: number;
  output: number;
  /** Input tokens of one request above which input costs 2 times and output 1.5 times as much. */
  longAbove?: number;
}

/** When these prices were taken from the providers' price lists. */
export const PRICES_AS_OF = '2026-10-01';

/** Standard tier; the gateway does not allow requests for faster, more expensive tiers. */
const PRICES = new Map<string, readonly [input: number, cached: number, output: number, longAbove?: number]>(
  Object.entries({
    'gpt-5.5': [5, 0.5, 30, 272_000],
    'gpt-5.5-pro': [30, 30, 180, 272_000],
    'gpt-5.4': [2.5, 0.25, 15, 272_000],
    'gpt-5.4-pro': [30, 30, 180, 272_000],
    'gpt-5.4-mini': [0.75, 0.075, 4.5],
    'gpt-5.4-nano': [0.2, 0.02, 1.25],
    'gpt-5.3-codex': [1.75, 0.175, 14],
    'gpt-5.2': [1.75, 0.175, 14],
    'gpt-5.2-codex': [1.75, 0.175, 14],
    'gpt-5.1': [1.25, 0.125, 10],
    'gpt-5.1-codex': [1.25, 0.125, 10],
    'gpt-5.1-codex-max': [1.25, 0.125, 10],
    'gpt-5.1-codex-mini': [0.25, 0.025, 2],
    'gpt-5': [1.25, 0.125, 10],
    'gpt-5-codex': [1.25, 0.125, 10],
    'gpt-5-mini': [0.25, 0.025, 2],
    'gpt-5-nano': [0.05, 0.005, 0.4],
    'gpt-4.1': [2, 0.5, 8],
    'gpt-4.1-mini': [0.4, 0.1, 1.6],
    'gpt-4.1-nano': [0.1, 0.025, 0.4],
    'gpt-4o': [2.5, 1.25, 10],
    'gpt-4o-mini': [0.15, 0.075, 0.6],
    o3: [2, 0.5, 8],
    'o4-mini': [1.1, 0.275, 4.4],
    'claude-fable-5-1': [10, 1, 50],
    'claude-fable-5': [10, 1, 50],
    'claude-opus-5-5': [4, 0.2, 20],
    'claude-opus-5': [5, 0.5, 25],
    'claude-opus-4-8': [5, 0.5, 25],
    'claude-opus-4-7': [5, 0.5, 25],
    'claude-opus-4-6': [5, 0.5, 25],
    'claude-opus-4-5': [5, 0.5, 25],
    'claude-opus-4-1': [15, 1.5, 75],
    'claude-sonnet-5-5': [2, 0.2, 10],
    'claude-sonnet-5': [2, 0.2, 10],
    'claude-sonnet-4-6': [3, 0.3, 15],
    'claude-sonnet-4-5': [3, 0.3, 15, 200_000],
    'claude-haiku-5-5': [0.5, 0.05, 2.5],
    'claude-haiku-4-5': [1, 0.1, 5],
    'gemini-3.1-pro': [2, 0.2, 12, 200_000],
    'gemini-3-pro': [2, 0.2, 12, 200_000],
    'gemini-2.5-pro': [1.25, 0.31, 10, 200_000],
    'gemini-2.5-flash': [0.3, 0.075, 2.5],
    'gemini-2.5-flash-lite': [0.1, 0.025, 0.4],
  }),
);

/** The built-in price of a model; its name may end with a date, `-latest` or `-preview`. */
export function builtInPrice(model: string): Price | undefined {
  const known = PRICES.get(model) ?? PRICES.get(model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest|preview)$/, ''));
  if (known === undefined) return undefined;
  const [input, cached, output, longAbove] = known;
  // Only Anthropic charges extra for cache writes.
  const cacheWrite = model.startsWith('claude-') ? input * 1.25 : input;
  return { input, cached, cacheWrite, output, ...(longAbove === undefined ? {} : { longAbove }) };
}

/** The price of a request, given its input tokens. */
export function priceFor(price: Price, inputTokens: number): Price {
  if (price.longAbove === undefined || inputTokens <= price.longAbove) return price;
  const { input, cached, cacheWrite, output } = price;
  return { input: 2 * input, cached: 2 * cached, cacheWrite: 2 * cacheWrite, output: 1.5 * output };
}

/** The cost of tokens in millionths of a USD, rounded up: prices per million tokens are millionths per token. */
export function costOf(usage: Usage, price: Price): number {
  const { inputTokens, cachedTokens, cacheWriteTokens = 0, outputTokens } = usage;
  const { input, cached, cacheWrite, output } = priceFor(price, inputTokens);
  const fresh = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens);
  return roundUp(fresh * input + cachedTokens * cached + cacheWriteTokens * cacheWrite + outputTokens * output);
}

/** The highest price per token, whether or not the provider's cache is used. */
export function highestPrice({ input, cached, cacheWrite }: Price): number {
  return Math.max(input, cached, cacheWrite);
}

/** Removes floating-point noise before rounding up. */
function roundUp(amount: number): number {
  return Math.ceil(Number(amount.toFixed(6)));
}
