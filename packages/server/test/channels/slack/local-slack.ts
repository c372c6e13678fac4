// A local Slack: it speaks the Web API, refuses what the published limits forbid, and sends signed interactions.
import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SlackOptions, slack } from '@countersign/server';
import type { Notice } from 'countersign';
import type { NoticeType } from 'countersign/request';
import { expect, onTestFinished, vi } from 'vitest';
import { startServer } from '../../server.ts';
import { noticeOn } from '../notice.ts';
import { METHODS, ResponseUrlBody } from './block-kit.ts';

export const SECRET = 'the-signing-secret-of-the-app';
const TOKEN = 'xoxb-token';
export const NEVER = { signal: new AbortController().signal };

export type Receipt = { readonly channel: string; readonly ts: string };

type Refusal = { readonly status?: number; readonly error?: string; readonly retryAfter?: string };

export type LocalSlack = Awaited<ReturnType<typeof openSlack>>;

/** `onEnd` gets what closes it; by default, the end of the test. */
export async function openSlack(onEnd: (close: () => void) => void = onTestFinished) {
  const messages = new Map<string, any>();
  const views = new Map<string, any>();
  /** What single people were told. */
  const remarks: string[] = [];
  const calls: { readonly method: string; readonly body: any }[] = [];
  const problems: string[] = [];
  const refusals = new Map<string, Refusal[]>();
  let count = 0;

  const perform = (method: string, body: any): Record<string, unknown> => {
    switch (method) {
      case 'chat.postMessage': {
        // A message to a user arrives in the conversation with them.
        const channel = body.channel.startsWith('U') ? `D${body.channel}` : body.channel;
        const ts = `1700000000.${String(++count).padStart(6, '0')}`;
        messages.set(`${channel}|${ts}`, body);
        return { channel, ts };
      }
      case 'chat.update': {
        const key = `${body.channel}|${body.ts}`;
        if (!messages.has(key)) return { ok: false, error: 'message_not_found' };
        messages.set(key, body);
        return { channel: body.channel, ts: body.ts };
      }
      case 'chat.postEphemeral':
        remarks.push(body.text);
        return {};
      case 'views.open':
      case 'views.update': {
        const viewId = body.view_id ?? `V${++count}`;
        views.set(viewId, body.view);
        return { view: { id: viewId } };
      }
      default:
        return {};
    }
  };

  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request));
    const [, kind, method = ''] = (request.url ?? '').split('/');
    const answer = (status: number, said: unknown, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(said));
    if (kind === 'response') {
      if (method === 'gone') return answer(404, {});
      const read = ResponseUrlBody.safeParse(body);
      if (!read.success) problems.push(read.error.message);
      remarks.push(body.text);
      return answer(200, { ok: true });
    }
    calls.push({ method, body });
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return answer(200, { ok: false, error: 'invalid_auth' });
    const refusal = refusals.get(method)?.shift();
    if (refusal) {
      const { status = 200, error, retryAfter } = refusal;
      return answer(status, { ok: false, error }, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
    }
    const read = METHODS[method]?.safeParse(body);
    if (!read?.success) {
      problems.push(`${method}: ${read?.error.message ?? 'unknown method'}`);
      return answer(200, { ok: false, error: 'invalid_blocks' });
    }
    return answer(200, { ok: true, ...perform(method, body) });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onEnd(() => {
    server.close();
    expect(problems).toEqual([]);
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const messageAt = ({ channel, ts }: Receipt) => messages.get(`${channel}|${ts}`);
  return {
    base,
    messages,
    views,
    remarks,
    calls,
    messageAt,
    refuse: (method: string, ...next: Refusal[]) => refusals.set(method, next),
    channel: (options: Partial<SlackOptions> = {}) =>
      slack({ token: TOKEN, signingSecret: SECRET, api: `${base}/api`, ...options }),
    /** What Slack sends when this user presses the button of a message. */
    pressOf: (receipt: Receipt, actionId: string, user: string, responseUrl = `${base}/response/1`) => ({
      type: 'block_actions',
      user: { id: user },
      trigger_id: randomUUID(),
      response_url: responseUrl,
      channel: { id: receipt.channel },
      message: messageAt(receipt),
      actions: [{ type: 'button', ...buttonIn(messageAt(receipt), actionId) }],
    }),
    /** What Slack sends when this user submits the newest view. */
    submissionOf: (user: string, entered: Record<string, object>) => {
      const [id, view] = [...views].at(-1) as [string, any];
      const values = Object.fromEntries(
        view.blocks.map(({ block_id, element }: any) => [
          block_id,
          { [element.action_id]: { type: element.type, ...startOf(element), ...entered[block_id] } },
        ]),
      );
      return { type: 'view_submission', user: { id: user }, view: { id, ...view, state: { values } } };
    },
  };
}

/** Slack reports inputs that nobody changed, too. */
function startOf({ type, initial_value, initial_date, initial_option }: any) {
  if (type === 'datepicker') return { selected_date: initial_date ?? null };
  if (type === 'static_select') return { selected_option: initial_option ?? null };
  return { value: initial_value ?? null };
}

export function buttonIn(message: any, actionId: string): any {
  const found = buttonsOf(message).find(({ action_id }) => action_id === actionId);
  if (!found) throw new Error(`The message has no button ${actionId}.`);
  return found;
}

export const buttonsOf = ({ blocks }: any): any[] =>
  blocks.flatMap(({ type, elements }: any) => (type === 'actions' ? elements : []));

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

export type Signing = { readonly secret?: string; readonly at?: number; readonly signature?: string };

/** Sends an interaction as Slack does. */
export async function send(url: string, payload: unknown, signing: Signing = {}) {
  return post(`${url}/channels/slack/interactions`, { payload: JSON.stringify(payload) }, signing);
}

/** Sends a slash command as Slack does. */
export async function command(url: string, { base }: LocalSlack, text: string, user: string, signing: Signing = {}) {
  const given = { command: '/countersign', text, user_id: user, response_url: `${base}/response/1` };
  return post(`${url}/channels/slack`, given, signing);
}

async function post(address: string, fields: Readonly<Record<string, string>>, signing: Signing) {
  const { secret = SECRET, at = Date.now() } = signing;
  const body = new URLSearchParams(fields).toString();
  const timestamp = String(Math.floor(at / 1_000));
  const made = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': signing.signature ?? made,
  };
  const again = () => fetch(address, { method: 'POST', headers, body });
  const response = await again();
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), again };
}

const PEOPLE: Readonly<Record<string, string>> = { U1: 'ann', U2: 'ben' };

/** A server with the channel, and a request of ann's run that is shown in Slack. */
export async function shownRequest(
  prompt: string,
  { server = {}, ...options }: Partial<SlackOptions> & { readonly server?: Parameters<typeof startServer>[0] } = {},
) {
  const local = await openSlack();
  const channel = local.channel({ channel: 'C1', people: (user) => PEOPLE[user], ...options });
  const { ai, url, paid } = await startServer({
    mayRead: () => true,
    instance: { policyFor: () => ({ deciders: { people: Object.values(PEOPLE) } }) },
    ...server,
    // The tests deliver by hand what the outbox would.
    channels: [{ ...channel, deliver: async () => undefined, update: async () => undefined }],
  });
  const run = await ai.agents.get('teller')?.start(prompt, { by: 'ann' });
  const runId = run?.id ?? '';
  const [id = ''] = (await ai.runs.wait(runId)).pending;
  const card = () => ai.runs.request(id);
  const notice = async (type: NoticeType = 'opened', changes: Partial<Notice> = {}) => ({
    ...noticeOn(await card(), type),
    ...changes,
  });
  const receipt = (await channel.deliver(await notice(), NEVER)) as unknown as Receipt;
  return {
    local,
    channel,
    ai,
    url,
    paid,
    runId,
    id,
    card,
    notice,
    receipt,
    press: (actionId: string, user = 'U1', signing?: Signing) =>
      send(url, local.pressOf(receipt, actionId, user), signing),
    submit: (entered: Record<string, object>, user = 'U1') => send(url, local.submissionOf(user, entered)),
    /** Waits until Slack has opened the form. */
    form: () =>
      vi.waitFor(() => {
        const view = [...local.views.values()].at(-1);
        expect(view?.submit).toBeDefined();
        return view;
      }),
    told: (text: string) => vi.waitFor(() => expect(local.remarks.join('\n')).toContain(text)),
  };
}
