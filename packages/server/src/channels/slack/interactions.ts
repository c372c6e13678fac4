// What people press and send in Slack. Slack gets its answer at once; the work follows, and its outcome is told to the person.
import { z } from '@hono/zod-openapi';
import { ConflictError, type DecideResult, type DecisionInput, UsageError } from 'countersign';
import type { Person } from '../../identity/person.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { votesText } from '../../text/votes-text.ts';
import type { ChannelHost } from '../server-channel.ts';
import { answerTo, commandIn, type SlackCommand } from './command.ts';
import {
  CALLBACK,
  type FormVerb,
  formFor,
  formView,
  type Remembered,
  readView,
  textView,
  ViewStateShape,
} from './modal.ts';
import { type Target, targetIn } from './target.ts';
import { type Place, type Remark, tell } from './tell.ts';
import type { WebApi } from './web-api.ts';

/** The id of the person behind a Slack user. */
export type People = (slackUserId: string) => string | undefined | Promise<string | undefined>;

/** Answers an interaction whose signature was checked. `after` gets the work that is left. */
export type Interactions = (body: string, host: ChannelHost, after: (work: Promise<void>) => void) => Response;

export function interactions(api: WebApi, people: People): Interactions {
  return (body, host, after) => {
    const hand: Hand = { api, people, host };
    const command = commandIn(body);
    if (command) {
      after(commanded(command, hand));
      return DONE();
    }
    const given = payloadIn(body);
    if (given?.type === 'block_actions') {
      const press = pressIn(given);
      if (press) after(pressed(press, hand));
      return DONE();
    }
    if (given?.type !== 'view_submission' || given.view.callback_id !== CALLBACK) return DONE();
    const remembered = JSON.parse(given.view.private_metadata) as Remembered;
    const read = readView(remembered, given.view.state.values);
    if ('problems' in read) return Response.json({ response_action: 'errors', errors: read.problems });
    const place = { ...remembered.place, user: given.user.id };
    after(decided({ place, target: remembered.target }, hand, read.decision));
    return DONE();
  };
}

/** An empty answer closes the view. */
const DONE = (): Response => new Response(null, { status: 200 });

type Hand = { readonly api: WebApi; readonly people: People; readonly host: ChannelHost };

const UserShape = z.looseObject({ id: z.string() });
const PayloadShape = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('block_actions'),
    user: UserShape,
    trigger_id: z.string(),
    response_url: z.string().optional(),
    channel: UserShape.optional(),
    actions: z.array(z.looseObject({ action_id: z.string(), value: z.string().optional() })),
  }),
  z.looseObject({
    type: z.literal('view_submission'),
    user: UserShape,
    view: z.looseObject({
      callback_id: z.string(),
      private_metadata: z.string(),
      state: z.looseObject({ values: ViewStateShape }),
    }),
  }),
]);

type Payload = z.infer<typeof PayloadShape>;

/** Undefined for what this channel does not use, such as shortcuts. */
function payloadIn(body: string): Payload | undefined {
  try {
    return PayloadShape.parse(JSON.parse(new URLSearchParams(body).get('payload') ?? ''));
  } catch {
    // Slack signed it, so there is nothing to refuse: it is just not for us.
    return undefined;
  }
}

type Asked = { readonly place: Place; readonly target: Target };
type Pressed = Asked & { readonly verb: 'approve' | FormVerb; readonly triggerId: string };

const VERBS = ['approve', 'edit', 'respond', 'revise', 'reject'] as const;

function pressIn({ actions: [action], user, channel, response_url, trigger_id }: Payload & { type: 'block_actions' }) {
  const verb = VERBS.find((one) => one === action?.action_id);
  const target = targetIn(action?.value);
  if (verb === undefined || target === undefined) return undefined;
  const place: Place = {
    user: user.id,
    ...(channel && { channel: channel.id }),
    ...(response_url !== undefined && { responseUrl: response_url }),
  };
  return { verb, target, place, triggerId: trigger_id } satisfies Pressed;
}

async function pressed(press: Pressed, hand: Hand): Promise<void> {
  const { verb } = press;
  if (verb === 'approve') return decided(press, hand, { type: 'approve' });
  await reporting(press, hand, async (person) => {
    if (verb === 'reject' || verb === 'revise') {
      await hand.api('views.open', { trigger_id: press.triggerId, view: viewFor(verb, press, undefined, hand) });
      return undefined;
    }
    // Slack lets an app open a view within three seconds of the press. The store may take longer.
    const opened = await hand.api('views.open', { trigger_id: press.triggerId, view: textView(verb, 'Loading …') });
    const { id: viewId = '' } = opened.view as { readonly id?: string };
    const view = await askedView({ ...press, verb }, person, hand).catch((error: unknown) =>
      textView(verb, reasonFor(error, press, hand).text, pageOf(press, hand)),
    );
    await hand.api('views.update', { view_id: viewId, view });
    return undefined;
  });
}

async function askedView(press: Pressed & { readonly verb: FormVerb }, person: Person, hand: Hand) {
  const { verb, target } = press;
  const card = await hand.host.request(target.requestId, person);
  if (!card?.mayDecide) return textView(verb, NOT_YOURS);
  const url = pageOf(press, hand);
  if (card.status !== 'pending') return textView(verb, OVER, url);
  if (card.digest !== target.digest) return textView(verb, CHANGED, url);
  return viewFor(verb, press, card, hand);
}

function viewFor(
  verb: FormVerb,
  { target, place }: Asked,
  card: Parameters<typeof formFor>[1] | undefined,
  hand: Hand,
) {
  const form = formFor(verb, card ?? { inputSchema: null, answerSchema: null, input: null });
  const view = form && formView({ verb, target, place, form });
  return (
    view ?? textView(verb, 'Slack cannot show this form. Open the request to fill it in.', pageOf({ target }, hand))
  );
}

const pageOf = ({ target }: Pick<Asked, 'target'>, { host }: Hand): string =>
  `${host.publicUrl}/requests/${encodeURIComponent(target.requestId)}`;

/** Records a decision, and tells the person how it went. */
const decided = (asked: Asked, hand: Hand, decision: DecisionInput): Promise<void> =>
  reporting(asked, hand, async (person) => {
    const { requestId, digest } = asked.target;
    return { text: outcomeOf(await hand.host.decide(requestId, person, { decision, digest }), person) };
  });

/** Does something as the person who pressed. Whatever fails, that person learns of it. */
async function reporting(
  asked: Asked,
  hand: Hand,
  act: (person: Person) => Promise<Remark | undefined>,
): Promise<void> {
  const { api, host } = hand;
  const remark = await personAt(asked.place, hand)
    .then((person) => (person ? act(person) : { text: UNKNOWN }))
    .catch((error: unknown) => reasonFor(error, asked, hand));
  if (!remark) return;
  await tell(api, asked.place, remark).catch((error: unknown) => host.log('warn', 'slack-remark', { error }));
}

/** Does what a person wrote, and answers them. */
async function commanded({ place, text }: SlackCommand, hand: Hand): Promise<void> {
  const said = await personAt(place, hand)
    .then((person) => (person ? answerTo(text, person, hand.host) : UNKNOWN))
    .catch((error: unknown) => {
      hand.host.log('error', 'slack-command', { error });
      return 'Something failed. Look in the inbox whether it was recorded.';
    });
  await tell(hand.api, place, { text: said }).catch((error: unknown) =>
    hand.host.log('warn', 'slack-remark', { error }),
  );
}

async function personAt({ user }: Place, { people, host }: Hand): Promise<Person | undefined> {
  const id = await people(user);
  return id === undefined ? undefined : host.personOf(id);
}

const UNKNOWN = 'Your Slack account is not connected to a person here. Nothing was recorded.';
const NOT_YOURS = 'You cannot decide this request.';
const OVER = 'This request is already over.';
const CHANGED = 'This request has changed since the message was sent. Nothing was recorded.';

function outcomeOf(result: DecideResult, { id }: Person): string {
  if (result.status === 'waiting') return `Your vote is recorded: ${votesText(votesIn(result))}.`;
  const { by } = result;
  // The same decision of someone else was first.
  return by === id ? 'Your decision is recorded.' : `${visibleLine(by ?? 'Someone')} has decided this already.`;
}

const votesIn = ({ votes, missing }: DecideResult & { readonly status: 'waiting' }) => ({
  votes: votes.map(({ decision }) => ({ type: (decision as { readonly type: 'approve' }).type, isEdit: false })),
  missing,
});

/** What the person learns of an error. Unexpected ones are logged. */
function reasonFor(error: unknown, { target }: Asked, hand: Hand): Remark {
  const url = pageOf({ target }, hand);
  if (error instanceof UsageError || error instanceof ConflictError)
    switch (error.code) {
      case 'outdated-card':
        return { text: CHANGED, url };
      case 'already-decided':
        return { text: `${OVER} Your decision was not recorded.`, url };
      case 'not-allowed':
      case 'unknown-request':
      case 'unknown-run':
        return { text: `${NOT_YOURS} Nothing was recorded.` };
      default:
        return { text: `Nothing was recorded. ${visibleLine(error.message)}`, url };
    }
  hand.host.log('error', 'slack-interaction', { error, requestId: target.requestId });
  return { text: 'Something failed. Open the request to see whether your decision was recorded.', url };
}
