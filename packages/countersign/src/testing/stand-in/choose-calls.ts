// Chooses the tools that a message asks for, by the words of their names, descriptions and properties.
import { isObject } from '../../core/json.ts';
import type { ToolSpec } from '../../models/model.ts';
import { fillSchema } from './fill-schema.ts';
import { messageValues } from './message-values.ts';
import { actionsOf, stemOf, topicsOf, wordsOf } from './words.ts';

export type ChosenCall = { readonly tool: string; readonly input: unknown };

/** One call for each request in the message; none if no tool fits. */
export function chooseCalls(message: string, tools: readonly ToolSpec[]): readonly ChosenCall[] {
  return requestsIn(message, tools).map(({ tool, text }) => callOf(tool, text));
}

/** The call of the tool that fits best, or of the first one, for a model that must call one. */
export function forceCall(message: string, tools: readonly ToolSpec[]): readonly ChosenCall[] {
  const calls = chooseCalls(message, tools);
  const [first] = tools;
  return calls.length > 0 || first === undefined ? calls : [callOf(first, message)];
}

function callOf({ name, inputSchema }: ToolSpec, text: string): ChosenCall {
  const labels = propertyNames(inputSchema).flatMap(wordsOf);
  const said = messageValues(fromVerb(text, name), { labels, verb: wordsOf(name) });
  return { tool: name, input: fillSchema(inputSchema, said) };
}

/** `Ask the clerk to pay ACME` asks `pay` for `pay ACME`. */
function fromVerb(text: string, name: string): string {
  const verb = stemOf(wordsOf(name)[0] ?? '');
  const found = [...text.matchAll(/\p{L}+/gu)].find(([word]) => stemOf(word.toLowerCase()) === verb);
  return found === undefined ? text : text.slice(found.index);
}

const propertyNames = ({ properties }: ToolSpec['inputSchema']): readonly string[] =>
  isObject(properties) ? Object.keys(properties) : [];

type Request = { readonly tool: ToolSpec; readonly text: string };

/** Each clause is a request of its own if it names a tool, or new values for the tool before. */
function requestsIn(message: string, tools: readonly ToolSpec[]): readonly Request[] {
  const requests: Request[] = [];
  for (const clause of clausesOf(message)) {
    const last = requests.at(-1);
    const named = bestTool(clause, tools, last === undefined ? ANY_WORD : A_NAME);
    if (named && (named !== last?.tool || asksAgain(clause, named))) requests.push({ tool: named, text: clause });
    else if (last && repeats(clause, last.tool))
      requests.push({ tool: last.tool, text: `${firstWord(last.text)} ${clause}` });
    else if (last) requests.splice(-1, 1, { tool: last.tool, text: `${last.text} ${clause}` });
  }
  return requests;
}

/** Cuts at `and`, `then`, semicolons, commas and sentences, but not inside quotes or reported speech. */
function clausesOf(message: string): readonly string[] {
  const speech = message.search(/["“]|\b(?:that|saying)\s|:\s/i);
  const cut = speech < 0 ? message.length : speech;
  const parts = message.slice(0, cut).split(/(?<=[.!?;,])\s+(?:and\s+|then\s+)*|\s+(?:and(?:\s+then)?|then)\s+/i);
  const last = `${parts.at(-1) ?? ''}${message.slice(cut)}`;
  return [...parts.slice(0, -1), last].map((part) => part.trim().replace(POLITE, '')).filter((part) => part !== '');
}

const POLITE = /^(?:(?:please|kindly|can|could|would|will|you|i|want|need|like|to|hello|hi|hey|now)\b\W*)+/i;

/** `room 12` gives a value to `bookRoom`; `book room 12` asks for it again. */
function asksAgain(clause: string, { name }: ToolSpec): boolean {
  const [verb = ''] = wordsOf(name);
  const does = actionsOf(verb);
  return wordsOf(clause)[0] === verb || [...actionsOf(clause)].some((action) => does.has(action));
}

/** A name and an amount, or an e-mail address: another payment, another mail. */
function repeats(clause: string, { inputSchema }: ToolSpec): boolean {
  const { numbers, names, emails } = messageValues(`Again ${clause}`);
  const own = topicsOf(propertyNames(inputSchema).join(' '));
  const isLabelled = numbers.some(({ beside }) => beside.some((word) => own.has(word)));
  return emails.length > 0 || (numbers.length > 0 && names.length > 0 && !isLabelled);
}

const firstWord = (text: string): string => /^\s*\S+/.exec(text)?.[0].trim() ?? '';

/** The smallest scores that choose a tool: one word of its description, or one of its name. */
const ANY_WORD = 1;
const A_NAME = 4;

function bestTool(text: string, tools: readonly ToolSpec[], least: number): ToolSpec | undefined {
  let best: { readonly tool: ToolSpec; readonly score: number } | undefined;
  for (const tool of tools) {
    const score = scoreOf(text, tool);
    if (score >= least && score > (best?.score ?? 0)) best = { tool, score };
  }
  return best?.tool;
}

function scoreOf(text: string, { name, description, inputSchema }: ToolSpec): number {
  if (` ${wordsOf(text).join(' ')} `.includes(` ${wordsOf(name).join(' ')} `)) return 100 + name.length;
  const said = topicsOf(text);
  const actions = actionsOf(text);
  const does = actionsOf(wordsOf(name)[0] ?? '');
  // `Delete invoice 7` does not ask for `payInvoice`.
  if (actions.size > 0 && does.size > 0 && ![...does].some((action) => actions.has(action))) return 0;
  const inName = [...topicsOf(name)];
  const matched = inName.filter((word) => said.has(word)).length;
  const acts = [...does].some((action) => actions.has(action)) ? 1 : 0;
  const described = [...topicsOf(description)].filter((word) => said.has(word)).length;
  const filled = [...topicsOf(propertyNames(inputSchema).join(' '))].filter((word) => said.has(word)).length;
  return 4 * Math.max(matched, acts) + 0.5 * acts + matched / (inName.length || 1) + described + 0.5 * filled;
}
