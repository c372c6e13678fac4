// The command line: `countersign decide` against the server, with ann's token.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createWorkplace, type Finished } from '../cli/workplace.ts';
import { type Asked, type Decision, type Door, each, HIDDEN, OVERSIZED, type Reply, together } from './door.ts';

type AskedCli = Asked & { readonly id: string; readonly digest: string };

const flags = (decision: Decision) => [`--${decision}`, ...(decision === 'revise' ? ['Only half.'] : [])];

export const cli: Door<AskedCli> = {
  name: 'CLI',
  open: async (world) => {
    const place = createWorkplace();
    const ann = await world.tokenFor('ann');
    const replyOf = ({ code, stdout, stderr }: Finished): Reply => ({
      accepted: code === 0,
      // Every refusal has an exit code from 1 to 4 and a message; a stack is a crash.
      isFault: code === null || code > 4 || /^\s+at .+:\d+/m.test(stderr),
      text: `${code} ${stdout.slice(0, 200)} ${stderr.slice(0, 300)}`,
    });
    const command = (args: readonly string[], token = ann) =>
      place.countersign([...args, '--url', world.url], { COUNTERSIGN_TOKEN: token });
    const argsOf = ({ id, digest }: AskedCli, ...decision: readonly string[]) => [
      'decide',
      id,
      ...decision,
      '--digest',
      digest,
    ];
    const decide = async (asked: AskedCli, decision: Decision = 'approve', token?: string) =>
      replyOf(await command(argsOf(asked, ...flags(decision)), token));
    const process = (args: readonly string[]) => place.begin([...args, '--url', world.url], { COUNTERSIGN_TOKEN: ann });
    return {
      ask: async (payment) => {
        const { id, runId, digest } = await world.start(payment);
        return { ...payment, id, runId, digest };
      },
      decide,
      shown: async ({ runId }) => (await command(['show', runId])).stdout,
      close: async () => place.close(),
      hostile: {
        forged: (asked, { sent }) =>
          each(['none', `${ann}x`, ann.slice(0, -1)], sent, (token) => decide(asked, 'approve', token)),
        replayed: (asked, { sent }) => each([1, 2], sent, () => decide(asked)),
        outdated: async (asked, { change, sent }) => {
          await change();
          return each([asked], sent, (one) => decide(one));
        },
        "other person's": async (asked, { sent }) =>
          each([await world.tokenFor('eve')], sent, async (token) =>
            replyOf(await command([...argsOf(asked, '--approve'), '--by', 'ann'], token)),
          ),
        "other run's": async (asked, { other, sent }) => {
          const foreign = await other();
          return each(
            [
              { ...asked, digest: foreign.digest },
              { ...foreign, digest: asked.digest },
            ],
            sent,
            (one) => decide(one),
          );
        },
        'without rights': async (asked, { sent }) =>
          each(
            [await world.tokenFor('bob', { reach: 'all' }), await world.tokenFor('ann', { scopes: ['read'] })],
            sent,
            (token) => decide(asked, 'approve', token),
          ),
        oversized: (asked, { sent }) => {
          const file = join(place.folder, 'large.json');
          writeFileSync(file, JSON.stringify({ to: 'x'.repeat(OVERSIZED), amount: 1 }));
          return each([`@${file}`], sent, async (value) => replyOf(await command(argsOf(asked, '--edit', value))));
        },
        malformed: (asked, { sent }) =>
          each(
            [
              [],
              ['--approve', '--reject'],
              ['--edit', '{'],
              ['--edit', 'null'],
              ['--edit', '[]'],
              ['--respond', '1'],
              ['--approve', '--grant', '{'],
            ],
            sent,
            async (options) => replyOf(await command(argsOf(asked, ...options))),
          ),
        'duplicate keys': (asked, { sent }) =>
          each(
            [`{"to":"${asked.to}","amount":1,"amount":900}`, `{"to":"${asked.to}","Amount":900}`],
            sent,
            async (edit) => replyOf(await command(argsOf(asked, '--edit', edit))),
          ),
        'hidden characters': (asked, { sent }) =>
          each([`${asked.id}${HIDDEN}`, `${HIDDEN}${asked.id}`], sent, (id) => decide({ ...asked, id })),
        'wrong digest': (asked, { sent }) =>
          each(['0'.repeat(64), 'x', asked.digest.toUpperCase()], sent, (digest) => decide({ ...asked, digest })),
        'after the end': (asked, { sent }) => each([asked], sent, (one) => decide(one)),
        'two at once': (asked, { sent }) =>
          together(['approve', 'reject', 'revise'] as const, sent, async (decision) => {
            const started = process(argsOf(asked, ...flags(decision)));
            const code = await started.ended;
            return { accepted: code === 0, isFault: code === null || code > 4, text: `${code} ${started.output()}` };
          }),
        killed: async (asked, { sent }) => {
          sent();
          const started = process([...argsOf(asked, '--approve'), '--wait']);
          await expect.poll(async () => (await world.ai.runs.request(asked.id)).settlement).not.toBeNull();
          started.child.kill('SIGKILL');
          await started.ended;
          return each([asked], sent, (one) => decide(one));
        },
      },
    };
  },
};
