import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Users } from '../../src/api/access/users.ts';
import type { Role } from '../../src/core/access/access.ts';
import { registerWorker, type WorkerRegistration } from '../../src/store/process-registry.ts';
import { asked, attempted, created } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { casesAtLevel } from '../support/suite/level.ts';
import { skipFor } from '../support/skip.ts';

const OWNER = 'the-token-of-the-server';
const PRD = {
  path: 'prd.json',
  content: Buffer.from('{"userStories": [{"id": "A", "title": "Add"}]}').toString('base64'),
};

const WORKER = 'any-00000000000000aa';

/** Where each action is, and its request. `own`: on a run that the person submitted. */
const ACTIONS = {
  Approve: { screen: 'inbox', path: '/v1/runs/heldrun1/approve', body: { story: 'US-001' } },
  Reject: { screen: 'inbox', path: '/v1/runs/heldrun1/reject', body: { story: 'US-001' } },
  'Answer to US-001': { screen: 'inbox', path: '/v1/runs/asking01/answer', body: { story: 'US-001', text: 'Euro' } },
  Pause: { screen: 'run/others01', path: '/v1/runs/others01/pause', body: { now: false } },
  Cancel: { screen: 'run/others01', path: '/v1/runs/others01/cancel', body: {} },
  'Pause own': { screen: 'run/ownrun01', path: '/v1/runs/ownrun01/pause', body: { now: false } },
  'Cancel own': { screen: 'run/ownrun01', path: '/v1/runs/ownrun01/cancel', body: {} },
  Drain: { screen: '', path: `/v1/workers/${WORKER}/drain`, body: {} },
  Submit: {
    screen: 'submit',
    path: '/v1/runs',
    body: { prd: PRD, repos: ['https://git.example.com/shop.git'], set: [], allowDirty: false },
  },
} as const;
type Action = keyof typeof ACTIONS;
const NAMES = Object.keys(ACTIONS) as Action[];

const OWN: Action[] = ['Pause own', 'Cancel own'];
const OFFERED: Record<Role | 'owner', Action[]> = {
  viewer: [],
  submitter: [...OWN, 'Submit'],
  operator: Object.keys(ACTIONS) as Action[],
  admin: Object.keys(ACTIONS) as Action[],
  owner: Object.keys(ACTIONS) as Action[],
};

describe('the actions of a role', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = shareDashboard();
  let worker: WorkerRegistration;

  beforeAll(async () => {
    const { home } = dashboard;
    worker = await registerWorker(home.host.home, 'any', WORKER);
    await home.addHeldRun('heldrun1');
    await home.addRun([created('asking01', 1), { type: 'run.started' }, ...asked('US-001')]);
    for (const [runId, user] of [
      ['others01', 'zoe'],
      ['ownrun01', 'pat'],
    ] as const)
      await home.addRun([{ ...created(runId, 1), user }, { type: 'run.started' }, ...attempted('US-001')]);
  });
  afterAll(async () => {
    await worker.leave();
  });

  /** Signs pat in with this role, or the owner, instead of the person before. */
  async function signInAs(role: Role | 'owner', repositories: string[] | null = null): Promise<string> {
    await dashboard.page.context().clearCookies();
    const token = role === 'owner' ? OWNER : await tokenOf(role, repositories);
    await dashboard.signIn(token);
    return token;
  }

  async function tokenOf(role: Role, repositories: string[] | null): Promise<string> {
    const users = new Users(dashboard.home.host.home);
    const by = { by: 'owner', now: new Date() };
    if ((await users.find('pat')) === undefined) await users.add({ name: 'pat', role }, by);
    await users.change('pat', { role, repositories }, by);
    return (await users.createToken('pat', undefined, by)).token;
  }

  it('do not include draining for an operator of some repositories', async () => {
    const { page, served } = dashboard;
    const token = await signInAs('operator', ['/home/me/shop']);
    const table = page.getByRole('region', { name: 'Workers' });
    await table.getByText(`process ${process.pid}`).waitFor();
    expect(await table.getByRole('button').count()).toBe(0);
    const { status } = await fetch(`${served.url}${ACTIONS.Drain.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(status).toBe(403);
  });

  const ROLES = Object.entries(OFFERED) as [Role | 'owner', Action[]][];
  it.each(casesAtLevel(ROLES.slice(0, 3), ROLES.slice(3)))(
    'are on the screens of the role %s, and the server refuses the others',
    async (role, offered) => {
      const { page, show, served } = dashboard;
      const token = await signInAs(role);
      expect(await page.locator('.person').textContent()).toBe(role === 'owner' ? 'Owner' : `pat · ${role}`);
      const shown: Action[] = [];
      for (const screen of new Set(Object.values(ACTIONS).map((action) => action.screen))) {
        await show(screen, { '': 'Now', inbox: 'Inbox', submit: 'Submit' }[screen as string] ?? 'shop');
        if (screen === 'inbox') await page.getByText('Review the diff').first().waitFor();
        if (screen === '') await page.getByRole('region', { name: 'Workers' }).waitFor();
        for (const name of NAMES.filter((each) => ACTIONS[each].screen === screen)) {
          const label = name.replace(' own', '');
          const places = page.locator('main').getByRole('button', { name: new RegExp(`^${label}`) });
          if ((await places.or(page.getByLabel(label, { exact: true }).and(page.locator('textarea'))).count()) > 0)
            shown.push(name);
        }
      }
      expect(shown.sort()).toEqual([...offered].sort());
      for (const name of NAMES.filter((each) => !offered.includes(each))) {
        const { path, body } = ACTIONS[name];
        const { status } = await fetch(`${served.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect(status, name).toBe(403);
      }
    },
  );
});
