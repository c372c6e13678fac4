// Reads decisions from message parts: the one door of resumptions without a store, and of posts that carry parts.

import { defined, isObject, type Json, toJson } from '../json.ts';
import {
  isToolRequest,
  isToolResponse,
  type Metadata,
  type ToolRequestPart,
  type ToolResponsePart,
} from '../messages/message.ts';
import type { Made, PersonDecision } from './event.ts';
import { addressOf, type DecisionFault, Decisions, type Given } from './made.ts';

/** A decision as data: what `respond`, `restart`, `approve`, `reject` and `cancel` make, or an request itself. */
export type DecisionPart = ToolRequestPart | ToolResponsePart;

type Several<T> = T | readonly T[];

/** The decisions of one resumption: a list of decisions, or lists of them by their kind. */
export type Resume = readonly DecisionPart[] | ResumeLists | Decisions;

type ResumeLists = {
  readonly respond?: Several<DecisionPart>;
  readonly restart?: Several<DecisionPart>;
  readonly approve?: Several<DecisionPart>;
  readonly reject?: Several<DecisionPart>;
  readonly cancel?: Several<DecisionPart>;
  /** Kept on the tool message as `metadata.resumed`. */
  readonly metadata?: Metadata;
};

export const VERBS = ['respond', 'restart', 'approve', 'reject', 'cancel'] as const;
export type Verb = (typeof VERBS)[number];

/** Reads each form of a resumption. In a plain list each decision must say its kind; none is guessed. */
export function readResume(resume: Resume, toolResponses?: Several<DecisionPart>): Decisions {
  const reader = new Reader();
  if (resume instanceof Decisions) {
    reader.read('respond', toolResponses, 'toolResponses');
    return resume.with({ made: [...resume.made, ...reader.made], faults: [...resume.faults, ...reader.faults] });
  }
  if (isList(resume))
    for (const [index, part] of resume.entries()) reader.readOne(verbOf(part), part, `resume[${index}]`);
  else for (const verb of VERBS) reader.read(verb, resume[verb]);
  reader.read('respond', toolResponses, 'toolResponses');
  const { made, faults } = reader;
  return new Decisions(made, { faults, ...(!isList(resume) && { metadata: resume.metadata }) });
}

function isList(resume: readonly DecisionPart[] | ResumeLists): resume is readonly DecisionPart[] {
  return Array.isArray(resume);
}

class Reader {
  readonly made: Given[] = [];
  readonly faults: DecisionFault[] = [];

  read(verb: Verb, parts: Several<DecisionPart> | undefined, list: string = verb): void {
    if (parts === undefined) return;
    const all: readonly DecisionPart[] = Array.isArray(parts) ? parts : [parts as DecisionPart];
    for (let index = 0; index < all.length; index++)
      this.readOne(verb, all[index] as DecisionPart, `${list}[${index}]`);
  }

  readOne(verb: unknown, part: DecisionPart, where: string): void {
    const made = readPart(verb, part);
    if ('problem' in made) this.faults.push({ where, problem: made.problem });
    else this.made.push({ where, ...made });
  }
}

type Problem = { readonly problem: string };

function readPart(given: unknown, part: DecisionPart): Made | Problem {
  if (!isDecision(part)) return { problem: NOT_A_DECISION };
  const verb = VERBS.find((known) => known === given);
  if (!verb) return { problem: `${nameOf(part)} ${WITHOUT_KIND}` };
  const made = verbOf(part);
  if (made === undefined ? isToolResponse(part) && verb !== 'respond' : made !== verb)
    return { problem: `${nameOf(part)}: it is a decision to ${String(made ?? 'respond')}, listed under ${verb}` };
  const signed = signatureIn(verb, part);
  if ('problem' in signed) return signed;
  const on = addressOf(part);
  if (verb === 'reject' || verb === 'cancel')
    return { on, decision: { type: verb, ...defined({ reason: stringOf(saidIn(part).reason) }), ...signed } };
  if (verb === 'respond') {
    if (!isToolResponse(part)) return { problem: `${nameOf(part)} needs an answer: use respond(request, output)` };
    const output = toJson(part.toolResponse.output);
    if (!output.ok) return { problem: `the answer is not JSON: ${output.problem}` };
    return { on, decision: { type: verb, output: output.value, ...signed } };
  }
  if (!isToolRequest(part)) return { problem: `${nameOf(part)}: an answer cannot ${verb} it` };
  const metadata = part.metadata ?? {};
  const input = toJson(part.toolRequest.input);
  if (!input.ok) return { problem: `the edited input is not JSON: ${input.problem}` };
  const resumed = toJson('resumed' in metadata ? metadata.resumed : true);
  if (!resumed.ok) return { problem: `the resumed value is not JSON: ${resumed.problem}` };
  const isEdited = isEdit(metadata);
  const edit = isEdited ? { input: input.value } : {};
  const decision: PersonDecision =
    verb === 'approve'
      ? { type: verb, ...edit, ...signed }
      : { type: verb, resumed: resumed.value, ...edit, ...signed };
  // A decision is bound to the input it was made on: an edit must be declared, with the input it replaces.
  return { on, decision, shown: isEdited ? ((metadata.replacedInput ?? null) as Json) : input.value };
}

/** An request passed as a decision may carry an earlier edit, beside the request that was decided then. */
const isEdit = (metadata: Metadata): boolean => 'replacedInput' in metadata && !('resolvedInterrupt' in metadata);

function signatureIn(
  verb: Verb,
  part: DecisionPart,
): Pick<PersonDecision, 'by' | 'channel' | 'note' | 'metadata'> | Problem {
  const said = saidIn(part);
  const given = verb === 'respond' ? (part.metadata?.interruptResponse ?? true) : said.metadata;
  const metadata = given === undefined ? undefined : toJson(given);
  if (metadata?.ok === false) return { problem: `its metadata is not JSON: ${metadata.problem}` };
  const { by, channel, note } = said;
  if (by === undefined && channel === undefined && note === undefined && metadata === undefined) return UNSIGNED;
  return defined({ by: stringOf(by), channel: stringOf(channel), note: stringOf(note), metadata: metadata?.value });
}

const UNSIGNED = {};

const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** What this decision says of itself. An request passed as a decision may carry the note of an earlier one. */
function saidIn({ metadata }: DecisionPart): Metadata {
  const decision = metadata?.decision;
  return isObject(decision) && typeof decision.made === 'string' ? decision : {};
}

function verbOf(part: DecisionPart): unknown {
  if (!isDecision(part)) return undefined;
  return saidIn(part).made ?? ('interruptResponse' in (part.metadata ?? {}) ? 'respond' : undefined);
}

/** Untyped callers, and callers that pass on a request body, may give anything. */
function isDecision(part: unknown): boolean {
  if (!isObject(part) || !isObject(part.metadata ?? {})) return false;
  return isObject('toolRequest' in part ? part.toolRequest : part.toolResponse);
}

function nameOf(part: DecisionPart): string {
  const { name, ref } = isToolRequest(part) ? part.toolRequest : part.toolResponse;
  return `${name} (${ref})`;
}

const NOT_A_DECISION = 'not a decision: make one with respond, restart, approve, reject or cancel';
const WITHOUT_KIND =
  'does not say its kind: make a decision with approve, reject, respond, restart or cancel, or list it under its kind, as in { approve: [request] }';
