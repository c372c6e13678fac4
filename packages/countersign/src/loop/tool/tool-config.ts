// Checks the options of a tool where it is defined. What protects must be clear: nothing is guessed or dropped.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import {
  aBoolean,
  aFunction,
  anything,
  aTimerMs,
  checkOptions,
  type OptionKind,
  type OptionTable,
  oneOf,
} from '../../core/options.ts';
import { ASK_OPTIONS, aDurationMs, askOptionsOf, askProblem } from './ask-options.ts';
import type { InterruptConfig, ToolConfig } from './definition.ts';
import { aDuration } from './time-options.ts';
import { aTitleOption } from './title.ts';

const COMMON = {
  name: anything,
  description: anything,
  inputSchema: anything,
  outputSchema: anything,
  inputJsonSchema: anything,
  outputJsonSchema: anything,
  ...ASK_OPTIONS,
  title: aTitleOption,
  notice: oneOf('title-only'),
  metadata: anything,
};

/** An undefined rule may be one that was not found: left out, it would let every call run unasked. */
const anApprovalRule: OptionKind = {
  is: 'true, false, options such as { message } or { policy }, or a function',
  fits: (value) => typeof value === 'boolean' || typeof value === 'function' || isApproval(value),
  neverUndefined: true,
};

/** Options always ask. An empty object, or a policy that is undefined, may be one that was not found. */
const isApproval = (value: unknown): boolean =>
  isObject(value) &&
  !('policy' in value && value.policy === undefined) &&
  Object.values(value).some((option) => option !== undefined);

const aTextOrFunction: OptionKind = {
  is: 'a text, or a function that returns one',
  fits: (value) => typeof value === 'function' || (typeof value === 'string' && value !== ''),
};

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Options that mean nothing without a body. */
const ABOUT_THE_BODY = {
  needsApproval: anApprovalRule,
  recallFor: aDuration,
  undo: aFunction,
  idempotent: aBoolean,
  commits: aBoolean,
  verify: aFunction,
  howToCheck: aTextOrFunction,
  settlesWithin: aDurationMs,
  reason: aBoolean,
  commentsForModel: aBoolean,
  preview: aFunction,
  previewWithin: aTimerMs,
  onPreviewChange: oneOf('ask', 'run', 'reject'),
  outcome: aFunction,
  trust: oneOf('trusted', 'untrusted'),
  sensitive: {
    is: 'a list of fields, such as ["iban", ["order", "address"]]',
    fits: (value) => Array.isArray(value) && value.every((field) => [field].flat().every(isName)),
  } satisfies OptionKind,
};

export const TOOL_OPTIONS: OptionTable<ToolConfig> = { ...COMMON, ...ABOUT_THE_BODY };
export const QUESTION_OPTIONS: OptionTable<InterruptConfig> = { ...COMMON, requestMetadata: anything };

export function checkToolConfig(
  config: unknown,
  body: unknown,
  table: typeof TOOL_OPTIONS | typeof QUESTION_OPTIONS,
): void {
  const options = isObject(config) ? config : {};
  const { name } = options;
  checkName('tool', name);
  const invalid = (message: string) => new UsageError('invalid-options', { name }, message);
  // The AI SDK takes the body as `execute`; a list of similar names would not say where it goes.
  if ('execute' in options)
    throw invalid(`The tool ${name} has no option execute. Pass the function after the options: tool({ … }, body).`);
  checkOptions(`the tool ${name}`, options, table);
  const { needsApproval: asked } = options;
  const problem = isObject(asked) ? askProblem(askOptionsOf(asked)) : undefined;
  if (problem !== undefined) throw invalid(`Invalid needsApproval of the tool ${name}: ${problem}.`);
  if (body !== undefined && typeof body !== 'function')
    throw invalid(`The body of the tool ${name} must be a function, not ${typeof body}.`);
  const idle = body === undefined ? Object.keys(ABOUT_THE_BODY).find((option) => isSet(options[option])) : undefined;
  if (idle !== undefined)
    throw invalid(
      `The tool ${name} has ${idle}, but no body. Pass the body after the options, or remove ${idle} to make it a question.`,
    );
  const said = [options.reversibility, isObject(asked) ? asked.reversibility : undefined];
  if (options.undo && said.some((one) => one !== undefined && one !== 'reversible'))
    throw invalid(`The tool ${name} has undo, so it is reversible. Remove its reversibility, or undo.`);
  for (const [option, needed] of Object.entries(NEEDED_WITH))
    if (isSet(options[option]) && !isSet(options[needed]))
      throw invalid(`The tool ${name} has ${option}, but no ${needed}. Add ${needed}, or remove ${option}.`);
}

/** Options that mean nothing without another. */
const NEEDED_WITH = { settlesWithin: 'verify', previewWithin: 'preview', onPreviewChange: 'preview' };

const isSet = (value: unknown): boolean => value !== undefined && value !== false;

/** Throws if models would not accept the name. */
export function checkName(of: 'tool' | 'agent' | 'gate', name: unknown): void {
  if (typeof name === 'string' && /^[\w-]{1,128}$/.test(name)) return;
  const owner = of === 'agent' ? 'an agent' : `a ${of}`;
  const message = `The name of ${owner} must be 1 to 128 letters, digits, "_" or "-", not ${JSON.stringify(name)}.`;
  throw new UsageError('invalid-options', { name }, message);
}
