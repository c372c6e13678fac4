// The published shapes and limits of what an app sends to Slack.
import { z } from 'countersign';

const text = (most: number) =>
  z.union([
    z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most), emoji: z.boolean().optional() }),
    z.strictObject({ type: z.literal('mrkdwn'), text: z.string().min(1).max(most), verbatim: z.boolean().optional() }),
  ]);
const plain = (most: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most), emoji: z.boolean().optional() });

const confirm = z.strictObject({ title: plain(100), text: text(300), confirm: plain(30), deny: plain(30) });
const id = z.string().min(1).max(255);

const button = z.strictObject({
  type: z.literal('button'),
  action_id: id,
  text: plain(75),
  value: z.string().max(2_000).optional(),
  url: z.url().max(3_000).optional(),
  style: z.enum(['primary', 'danger']).optional(),
  confirm: confirm.optional(),
});

const option = z.strictObject({ text: plain(75), value: z.string().min(1).max(150) });
const element = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('plain_text_input'),
    action_id: id,
    multiline: z.boolean().optional(),
    initial_value: z.string().min(1).max(3_000).optional(),
  }),
  z.strictObject({
    type: z.literal('number_input'),
    action_id: id,
    is_decimal_allowed: z.boolean(),
    initial_value: z
      .string()
      .regex(/^-?\d+(\.\d+)?$/)
      .optional(),
  }),
  z.strictObject({ type: z.literal('datepicker'), action_id: id, initial_date: z.iso.date().optional() }),
  z.strictObject({
    type: z.literal('static_select'),
    action_id: id,
    options: z.array(option).min(1).max(100),
    initial_option: option.optional(),
  }),
]);

const block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), text: plain(150) }),
  z
    .strictObject({
      type: z.literal('section'),
      text: text(3_000).optional(),
      fields: z.array(text(2_000)).min(1).max(10).optional(),
    })
    .refine((given) => given.text ?? given.fields, 'a section needs a text or fields'),
  z.strictObject({ type: z.literal('context'), elements: z.array(text(3_000)).min(1).max(10) }),
  z.strictObject({ type: z.literal('actions'), elements: z.array(button).min(1).max(25) }),
  z.strictObject({
    type: z.literal('input'),
    block_id: id,
    label: plain(2_000),
    hint: plain(2_000).optional(),
    optional: z.boolean().optional(),
    element,
  }),
]);

const messageBlocks = z
  .array(block)
  .max(50)
  .refine((given) => given.every(({ type }) => type !== 'input'), 'inputs belong in views')
  .refine((given) => JSON.stringify(given).length <= 13_200, 'msg_blocks_too_long');

const message = {
  channel: z.string().regex(/^[A-Z\d]+$/),
  text: z.string().min(1).max(4_000),
  blocks: messageBlocks.optional(),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
};

const view = z.strictObject({
  type: z.literal('modal'),
  title: plain(24),
  submit: plain(24).optional(),
  close: plain(24).optional(),
  callback_id: id.optional(),
  private_metadata: z.string().max(3_000).optional(),
  blocks: z.array(block).min(1).max(100),
});

export const METHODS: Readonly<Record<string, z.ZodType>> = {
  'auth.test': z.strictObject({}),
  'chat.postMessage': z.strictObject({
    ...message,
    thread_ts: z.string().optional(),
    reply_broadcast: z.boolean().optional(),
  }),
  'chat.update': z.strictObject({ ...message, ts: z.string() }),
  'chat.postEphemeral': z.strictObject({ channel: message.channel, user: z.string(), text: message.text }),
  'views.open': z.strictObject({ trigger_id: z.string(), view }),
  'views.update': z.strictObject({ view_id: z.string(), view }),
};

export const ResponseUrlBody = z.strictObject({
  response_type: z.literal('ephemeral'),
  replace_original: z.literal(false),
  text: message.text,
});
