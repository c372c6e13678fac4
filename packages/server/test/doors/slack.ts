// Slack: a signed interaction. Slack gets its answer at once, and the person learns the outcome by a remark.
import { expect } from 'vitest';
import { noticeOn } from '../channels/notice.ts';
import { buttonIn, NEVER, type Receipt, type Signing, send } from '../channels/slack/local-slack.ts';
import { type Asked, type Door, each, HIDDEN, OVERSIZED, type Reply, WITH_THE_HOUSE } from './door.ts';

type AskedSlack = Asked & { readonly id: string; readonly receipt: Receipt; again?: () => Promise<Response> };

export const slack: Door<AskedSlack> = {
  name: 'Slack',
  open: async (world) => {
    const { slack: local, url } = world;
    const channel = local.channel({ channel: 'C1' });
    const payloadOf = ({ receipt }: AskedSlack, user = 'U1') => local.pressOf(receipt, 'approve', user) as any;
    /** What the person learned; nothing if Slack's request itself was refused, or is not for this app. */
    const told = async (status: number, before: number, isOver = () => false): Promise<Reply> => {
      if (status === 200) await expect.poll(() => local.remarks.length > before || isOver()).toBe(true);
      const text = local.remarks[before] ?? '';
      return {
        accepted: /decision is recorded|vote is recorded/.test(text) || isOver(),
        isFault: status >= 500,
        text: `${status} ${text}`,
      };
    };
    const press = async (payload: unknown, signing: Signing = {}): Promise<Reply> => {
      const before = local.remarks.length;
      return told((await send(url, payload, signing)).status, before);
    };
    /** A payload that the app does not understand gets an answer and no remark. */
    const ignored = async (payload: unknown): Promise<Reply> => {
      const { status } = await send(url, payload);
      return { accepted: false, isFault: status >= 500, text: String(status) };
    };
    /** Opens the form of this button for this person. */
    const askForm = async (asked: AskedSlack, button: 'reject' | 'revise', user: string) => {
      const views = local.views.size;
      await send(url, local.pressOf(asked.receipt, button, user));
      await expect.poll(() => local.views.size).toBeGreaterThan(views);
    };
    const withTarget = (asked: AskedSlack, change: (target: { i: string; d: string }) => object | string) => {
      const payload = payloadOf(asked);
      const [action] = payload.actions;
      const value = change(JSON.parse(action.value));
      return { ...payload, actions: [{ ...action, value: typeof value === 'string' ? value : JSON.stringify(value) }] };
    };
    return {
      ask: async (payment) => {
        const card = await world.start(payment);
        const receipt = (await channel.deliver(noticeOn(card, 'opened'), NEVER)) as unknown as Receipt;
        return { ...payment, id: card.id, runId: card.runId, receipt };
      },
      decide: async (asked, decision) => {
        if (decision === 'revise') await askForm(asked, 'revise', 'U1');
        const before = local.remarks.length;
        if (decision === 'revise')
          return told((await send(url, local.submissionOf('U1', { f0: { value: 'Only half.' } }))).status, before);
        const sent = await send(url, payloadOf(asked));
        asked.again = sent.again;
        // The process may be killed by the payment, before it can tell.
        return told(sent.status, before, () => world.paid(asked.to).length > 0);
      },
      shown: async ({ receipt }) => JSON.stringify(local.messageAt(receipt)),
      hostile: {
        forged: (asked, { sent }) =>
          each<Signing>(
            [
              { secret: 'another-secret' },
              { signature: '' },
              { signature: `v0=${'0'.repeat(64)}` },
              { at: Date.now() - 600_000 },
            ],
            sent,
            (signing) => press(payloadOf(asked), signing),
          ),
        replayed: ({ again }, { sent }) =>
          each([again, again], sent, async (repeat) => {
            const response = await repeat?.();
            return {
              accepted: response?.ok ?? false,
              isFault: (response?.status ?? 500) >= 500,
              text: String(response?.status),
            };
          }),
        outdated: async (asked, { change, sent }) => {
          await change();
          return each([asked], sent, (one) => press(payloadOf(one)));
        },
        "other person's": (asked, { sent }) => each(['U9', ''], sent, (user) => press(payloadOf(asked, user))),
        "other run's": async (asked, { other, sent }) => {
          const foreign = JSON.parse(buttonIn(local.messageAt((await other()).receipt), 'approve').value) as {
            i: string;
            d: string;
          };
          const payloads = [
            withTarget(asked, ({ i }) => ({ i, d: foreign.d })),
            withTarget(asked, ({ d }) => ({ i: foreign.i, d })),
          ];
          return each(payloads, sent, (payload) => press(payload));
        },
        'without rights': (asked, { sent }) => each(['U3'], sent, (user) => press(payloadOf(asked, user))),
        oversized: (asked, { sent }) =>
          each([asked], sent, (one) => press({ ...payloadOf(one), padding: 'x'.repeat(OVERSIZED) })),
        malformed: (asked, { sent }) =>
          each(
            [
              '',
              null,
              [],
              { type: 'block_actions' },
              { ...payloadOf(asked), actions: 'approve' },
              withTarget(asked, () => '{'),
              withTarget(asked, () => 'approve'),
            ],
            sent,
            ignored,
          ),
        'duplicate keys': (asked, { sent }) =>
          each(
            [
              withTarget(asked, ({ i, d }) => ({ I: i, D: d })),
              { ...payloadOf(asked), actions: undefined, Actions: payloadOf(asked).actions },
            ],
            sent,
            ignored,
          ),
        'hidden characters': (asked, { sent }) =>
          each(
            [
              withTarget(asked, ({ i, d }) => ({ i: `${i}${HIDDEN}`, d })),
              withTarget(asked, ({ i, d }) => ({ i, d: `${d}${HIDDEN}` })),
            ],
            sent,
            (payload) => press(payload),
          ),
        'wrong digest': (asked, { sent }) =>
          each(['0'.repeat(64), 'x'], sent, (d) => press(withTarget(asked, ({ i }) => ({ i, d })))),
        'after the end': (asked, { sent }) => each([asked], sent, (one) => press(payloadOf(one))),
        'two at once': async (asked, { sent }) => {
          // cleo fills in the form of a rejection while ann approves.
          await askForm(asked, 'reject', 'U2');
          const before = local.remarks.length;
          sent();
          const answers = await Promise.all([
            send(url, payloadOf(asked)),
            send(url, local.submissionOf('U2', { f0: { value: 'No.' } })),
          ]);
          await expect.poll(() => local.remarks.length).toBeGreaterThanOrEqual(before + 2);
          const remarks = local.remarks.slice(before);
          return answers.map(({ status }, index) => ({
            accepted: /is recorded\./.test(remarks[index] ?? ''),
            isFault: status >= 500,
            text: `${status} ${remarks[index]}`,
          }));
        },
        killed: WITH_THE_HOUSE,
      },
    };
  },
};
