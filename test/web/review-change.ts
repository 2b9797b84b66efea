import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { HeldChange } from '../support/halo/scripted-home.ts';

const ATTEMPT = { story: 'US-001', attempt: 1 };

const CART = `import { round } from './money.ts';

/** A cart with the items of a customer. */
export class Cart {
  readonly items: Item[] = [];

  total(): number {
    return this.items.reduce((sum, item) => sum + item.price, 0);
  }
}
`;

/** A change with everything that a review shows. */
export const CHANGE: HeldChange = {
  title: 'Discounts for large orders',
  acceptance: [
    'An order above 100 EUR has a discount of 5 %.',
    'An empty cart has the total 0.',
    'The invoice names the discount.',
  ],
  protectedPaths: ['.github/workflows/ci.yml'],
  base: {
    'src/shop/cart.ts': CART,
    'src/shop/money.ts': 'export const round = (value: number) => Math.round(value * 100) / 100;\n',
    'test/shop/old-cart.test.ts': "it('has a total', () => {});\n",
    '.github/workflows/ci.yml': 'on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n',
    'package-lock.json': '{\n  "lockfileVersion": 3\n}\n',
  },
  files: {
    'src/shop/cart.ts': CART.replace('sum + item.price, 0);', 'sum + item.price * item.count, 0);').replace(
      '\n}\n',
      `

  /** Large orders have a discount. */
  discount(): number {
    const total = this.total();
    return total > 100 ? round(total * 0.05) : 0; // 5 %
  }
}
`,
    ),
    'test/shop/discount.test.ts':
      "import { Cart } from '../../src/shop/cart.ts';\n\nit('gives 5 % above 100 EUR', () => {\n  expect(new Cart().discount()).toBe(0);\n});\n",
    'test/shop/old-cart.test.ts': null,
    '.github/workflows/ci.yml': 'on: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n',
    'package-lock.json': '{\n  "lockfileVersion": 4\n}\n',
  },
  events: [
    { type: 'model.used', ...ATTEMPT, model: 'gpt-5', told: 'all', usage: usageOf(1.23), tokens: 1000 },
    { type: 'gate.ended', ...ATTEMPT, command: 'npm test', exitCode: 0, ms: 4200, log: 'gates/1.log' },
    { type: 'gate.ended', ...ATTEMPT, command: 'npm run lint', exitCode: 0, ms: 900, log: 'gates/2.log' },
    {
      type: 'tests.compared',
      ...ATTEMPT,
      before: 12,
      after: 12,
      removed: ['old-cart > has a total'],
      skipped: [],
      emptied: [],
    },
    {
      type: 'criteria.claimed',
      ...ATTEMPT,
      reported: true,
      criteria: [
        {
          n: 1,
          tests: [{ name: 'discount > gives 5 % above 100 EUR', found: 'ran' }],
          files: ['src/shop/cart.ts'],
        },
        { n: 2, tests: [{ name: 'cart > is empty', found: 'missing' }], files: [] },
      ],
    },
  ] satisfies JournalEntry[],
};

function usageOf(costUsd: number) {
  return { requests: 3, inputTokens: 1000, cachedTokens: 0, outputTokens: 200, costUsd };
}
