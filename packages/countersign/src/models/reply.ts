// Assembles a model's reply, whole or streamed, in the order of its beginnings.
import type { Metadata, Part } from '../core/messages/message.ts';
import { readInput } from './call-input.ts';
import { type Finish, finishOf } from './finish.ts';
import { urlOf } from './media.ts';
import type { ModelChunk, RequestedCall } from './model.ts';
import { keptPart, savable } from './provider-part.ts';
import type { ProviderData, ReplyPart, ToolCallPart } from './specification.ts';

export class ReplyAssembly {
  /** Undefined until the model said that it ended. */
  finish: Finish | undefined;
  /** Something was handed out to the listener. */
  emitted = false;

  readonly #emit: ((chunk: ModelChunk) => void) | undefined;
  readonly #places: Place[] = [];
  #open: OpenParts | undefined;

  constructor(emit?: (chunk: ModelChunk) => void) {
    this.#emit = emit;
  }

  /** A reply that comes whole has none. */
  get #streamed(): OpenParts {
    this.#open ??= { texts: new Map(), reasonings: new Map(), inputs: new Map() };
    return this.#open;
  }

  /** Takes the next part. Kinds that say nothing of the reply (`raw`, `ping`, response metadata …) are passed over. */
  take(part: ReplyPart): void {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        this.#places.push(passage(part.type, part.text, part.providerMetadata, part.citations));
        return;
      case 'text-start':
        this.#begin('text', this.#streamed.texts, part);
        return;
      case 'text-delta':
        this.#continue('text', this.#streamed.texts, part);
        return;
      case 'text-end':
        this.#end(this.#streamed.texts, part);
        return;
      case 'reasoning-start':
        this.#begin('reasoning', this.#streamed.reasonings, part);
        return;
      case 'reasoning-delta':
        this.#continue('reasoning', this.#streamed.reasonings, part);
        return;
      case 'reasoning-end':
        this.#end(this.#streamed.reasonings, part);
        return;
      case 'tool-input-start':
        this.#streamed.inputs.set(part.id, {
          name: part.toolName,
          silent: part.providerExecuted === true,
          place: this.#keepPlace(),
        });
        return;
      case 'tool-input-delta':
        this.#emitInput(part.id, this.#streamed.inputs.get(part.id), part.delta);
        return;
      case 'tool-call':
        this.#call(part);
        return;
      case 'file': {
        const media = { url: urlOf(part), contentType: part.mediaType };
        this.#say({ media, ...beside(savable('providerMetadata', part.providerMetadata)) });
        return;
      }
      case 'reasoning-file':
        this.#say(keptPart(part.type, { mediaType: part.mediaType, url: urlOf(part) }, part.providerMetadata));
        return;
      case 'custom':
        if (!ANNOUNCEMENTS.has(part.kind)) this.#keep(part);
        return;
      case 'tool-result':
        // A preliminary result is replaced by the next one.
        if (part.preliminary !== true) this.#keep(part);
        return;
      case 'source':
      case 'tool-approval-request':
        this.#keep(part);
        return;
      case 'finish':
        this.finish = finishOf(part.finishReason, part.usage);
    }
  }

  /** Returns the content so far: complete calls, and texts up to the last piece. */
  content(): readonly (Part | RequestedCall)[] {
    const parts: (Part | RequestedCall)[] = [];
    for (const place of this.#places) {
      const part = 'kind' in place ? passagePart(place) : place.part;
      if (part) parts.push(part);
    }
    return parts;
  }

  #begin(kind: Passage['kind'], open: Map<string, Passage>, part: { id: string; providerMetadata?: ProviderData }) {
    const begun = passage(kind, '', part.providerMetadata);
    open.set(part.id, begun);
    this.#places.push(begun);
    return begun;
  }

  #continue(
    kind: Passage['kind'],
    open: Map<string, Passage>,
    part: { id: string; delta: string; providerMetadata?: ProviderData },
  ) {
    const current = open.get(part.id) ?? this.#begin(kind, open, { id: part.id });
    current.text += part.delta;
    if (part.providerMetadata) mergeMetadata(current, part.providerMetadata);
    if (this.#emit && part.delta !== '') {
      this.emitted = true;
      this.#emit({ type: kind, text: part.delta });
    }
  }

  #end(
    open: Map<string, Passage>,
    part: { id: string; citations?: readonly unknown[]; providerMetadata?: ProviderData },
  ) {
    const current = open.get(part.id);
    if (!current) return;
    open.delete(part.id);
    if (part.providerMetadata) mergeMetadata(current, part.providerMetadata);
    if (part.citations) current.citations = part.citations;
  }

  #call(part: ToolCallPart) {
    const streamed = this.#open?.inputs.get(part.toolCallId);
    this.#open?.inputs.delete(part.toolCallId);
    const place = streamed?.place ?? this.#keepPlace();
    const { input, invalid } = readInput(part.input);
    if (part.providerExecuted) {
      // The provider runs it: it must never look like a call for us to run.
      const data = { toolCallId: part.toolCallId, toolName: part.toolName, input };
      place.part = keptPart(part.type, data, part.providerMetadata);
      return;
    }
    const { toolName: name, toolCallId: ref, providerMetadata } = part;
    const toolRequest = ref ? { name, ref, input } : { name, input };
    place.part =
      providerMetadata === undefined && invalid === undefined
        ? { toolRequest }
        : { toolRequest, ...beside(savable('providerMetadata', providerMetadata), savable('invalidInput', invalid)) };
    if (!streamed) this.#emitInput(ref, { name, silent: false, place }, part.input);
  }

  #emitInput(ref: string, call: StreamedCall | undefined, delta: string) {
    if (!this.#emit || !call || call.silent || !ref || !delta) return;
    this.emitted = true;
    this.#emit({ type: 'tool-input', ref, name: call.name, delta });
  }

  #keep({ type, providerMetadata, ...data }: Exclude<ReplyPart, { type: 'finish' }>) {
    this.#say(keptPart(type, data, providerMetadata));
  }

  #say(part: Part) {
    this.#places.push({ part });
  }

  #keepPlace(): PartPlace {
    const place: PartPlace = { part: undefined };
    this.#places.push(place);
    return place;
  }
}

/** Text or reasoning while it grows. */
type Passage = {
  readonly kind: 'text' | 'reasoning';
  text: string;
  metadata: Record<string, Record<string, unknown>> | undefined;
  citations: readonly unknown[] | undefined;
};

/** What streams in and has not ended, by its id. */
type OpenParts = {
  readonly texts: Map<string, Passage>;
  readonly reasonings: Map<string, Passage>;
  readonly inputs: Map<string, StreamedCall>;
};

/** Where a part stands; empty while the input of its call still streams. */
type PartPlace = { part: Part | RequestedCall | undefined };

type Place = Passage | PartPlace;

/** `silent`: the provider runs it, and its input is not reported. */
type StreamedCall = { readonly name: string; readonly silent: boolean; readonly place: PartPlace };

/** Custom parts with which a provider opens a stream: ids and first counts, nothing that was said. */
const ANNOUNCEMENTS: ReadonlySet<string> = new Set(['anthropic.message_start']);

function passage(
  kind: Passage['kind'],
  text: string,
  metadata: ProviderData | undefined,
  citations?: readonly unknown[],
): Passage {
  const begun: Passage = { kind, text, metadata: undefined, citations };
  if (metadata) mergeMetadata(begun, metadata);
  return begun;
}

/** Metadata arrives with the start, deltas and end, each time only the new keys: a signature, an item's id. */
function mergeMetadata(into: Passage, metadata: ProviderData): void {
  into.metadata ??= Object.create(null) as NonNullable<Passage['metadata']>;
  for (const provider of Object.keys(metadata)) {
    into.metadata[provider] ??= {};
    Object.assign(into.metadata[provider], metadata[provider]);
  }
}

/** Undefined if nothing was said. */
function passagePart({ kind, text, metadata, citations }: Passage): Part | undefined {
  if (text === '' && !metadata) return undefined;
  if (!metadata && !citations) return kind === 'text' ? { text } : { reasoning: text };
  const noted = beside(savable('providerMetadata', metadata), savable('citations', citations));
  return kind === 'text' ? { text, ...noted } : { reasoning: text, ...noted };
}

/** The metadata of a part, where there is any. */
function beside(...notes: readonly Metadata[]): { readonly metadata?: Metadata } {
  const metadata: Metadata = Object.assign({}, ...notes);
  for (const _key in metadata) return { metadata };
  return {};
}
