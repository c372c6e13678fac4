// A request of a real run on a real server, links to it, and visits to their pages.
import { type PolicyConfig, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { Access } from '../../src/access.ts';
import { decisionLinks } from '../../src/links/decision-links.ts';
import { createLinkTokens, type DecisionLink } from '../../src/links/token.ts';
import { type Answer, startServer } from '../server.ts';

export type LinkedOptions = Parameters<typeof startServer>[0] & {
  readonly input?: object;
  readonly inputSchema?: z.ZodType;
  readonly policy?: PolicyConfig;
  readonly title?: string;
  readonly message?: string;
  /** What the tool waits for. */
  readonly onPay?: () => unknown;
  /** Asks a question instead: the schema of its answer. */
  readonly asks?: z.ZodType;
};

const INPUT = { to: 'ACME', amount: 1250.5 };
const SCHEMA = z.object({ to: z.string(), amount: z.number().max(5000) });

/** The run of carl waits for ann, or for the people of `policy`. `ran` are the inputs that the tool ran with. */
export async function linkedRequest(options: LinkedOptions = {}) {
  const {
    input = INPUT,
    inputSchema = SCHEMA,
    policy = { deciders: { people: ['ann'] } },
    asks,
    onPay,
    ...rest
  } = options;
  const { title, message, instance, ...serving } = rest;
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: asks ? 'askPerson' : 'pay', input }] },
  );
  const server = await startServer({ ...serving, instance: { model, ...instance } });
  const { ai, url } = server;
  const ran: unknown[] = [];
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema,
      ...(title !== undefined && { title }),
      needsApproval: () => ({ policy, ...(message !== undefined && { message }) }),
    },
    async (given) => {
      ran.push(given);
      await onPay?.();
      return 'paid';
    },
  );
  const ask = ai.defineInterrupt({
    name: 'askPerson',
    description: 'Asks.',
    inputSchema: z.any(),
    outputSchema: asks ?? z.any(),
  });
  ai.defineAgent({ name: 'treasurer', tools: [pay, ask] });
  const run = await ai.agents.get('treasurer')?.start('go', { by: asks ? 'ann' : 'carl' });
  const [id = ''] = (await ai.runs.wait(run?.id ?? '')).pending;

  const log = () => undefined;
  const links = decisionLinks({ ai, access: new Access(ai, {}, log) } as never, { publicUrl: url, ...pick(serving) });
  const request = () => ai.runs.request(id);
  const link = async (person = 'ann', contact = {}) => links.make(await request(), { person, contact }, 'mail');
  /** A link with other content under the secret of the server. */
  const signed = async (changes: Partial<DecisionLink> = {}, notes = ai.runs.notes) => {
    const { digest } = await request();
    const whole = {
      requestId: id,
      person: 'ann',
      digest,
      expiresAt: Date.now() + 60_000,
      channel: 'mail',
      ...changes,
    };
    return `${url}/decide/${await createLinkTokens(notes).sign(whole)}`;
  };
  /** Waits until the run pauses again or ends. */
  const settled = () => ai.runs.wait(run?.id ?? '');
  return { ...server, id, runId: run?.id ?? '', ran, links, link, signed, request, settled };
}

const pick = ({ links, linkSecret }: LinkedOptions) => ({
  ...(links && { links }),
  ...(linkSecret !== undefined && { linkSecret }),
});

/** Opens the page of a link. */
export async function open(
  link: string | undefined,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return answerOf(await fetch(String(link), { method, headers, redirect: 'manual' }));
}

/** Sends a form of the page, without confirming it. */
export async function send(
  link: string | undefined,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = new URLSearchParams(fields);
  const response = await fetch(String(link), { method: 'POST', headers, body, redirect: 'manual' });
  // As a browser does: the page after a decision is a page of its own.
  if (response.status === 303) return open(new URL(response.headers.get('location') ?? '', link).href, headers);
  return answerOf(response);
}

/** Decides as a person would: opens the page, sends its form, and confirms it. */
export async function decide(
  link: string | undefined,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const page = await open(link, headers);
  const digest = digestIn(page);
  await send(link, { digest, ...fields }, headers);
  return send(link, { digest, ...fields, confirmed: 'yes' }, headers);
}

/** The digest in the forms of the page; empty if it has none. */
export const digestIn = ({ body }: Answer): string => /name="digest" value="([^"]+)"/.exec(body)?.[1] ?? '';

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: await response.text() };
}
