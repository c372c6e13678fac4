// The messages of a chat as a browser shows them, with the parts that changed since they were last sent.
import { isToolRequest, type Part } from '../../core/messages/message.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import {
  type AssistantMessage,
  type ShownCall,
  type ShownMessage,
  type ShownPart,
  type ShownText,
  shownCall,
  shownFile,
} from './shown-part.ts';
import { toolCallIdAt } from './ui-message.ts';

export class Transcript {
  readonly messages: ShownMessage[] = [];
  /** The parts that changed since they were last sent, with the index of their step. */
  readonly changed = new Map<ShownPart, number>();
  readonly #calls = new Map<string, ShownCall>();
  /** The step of the current message that a part belongs to. */
  readonly #stepOf = new Map<ShownPart, number>();
  /** The latest user message under each id. */
  readonly #userMessages = new Map<string, { id: string }>();
  readonly #newMessageId: () => string;
  #current: AssistantMessage | undefined;
  /** The last step belongs to a reply that is not recorded yet. */
  #isLive = false;

  constructor(newMessageId: () => string) {
    this.#newMessageId = newMessageId;
  }

  /** The message that the model is writing, or wrote last, since the user spoke. */
  get current(): AssistantMessage | undefined {
    return this.#current;
  }

  call(id: string | undefined): ShownCall | undefined {
    return id === undefined ? undefined : this.#calls.get(id);
  }

  /** The calls inside a call of the last step, at any depth. */
  callsInside(id: string): readonly ShownCall[] {
    return this.#lastStep().filter((part) => part.type === 'tool' && part.id.startsWith(`${id}/`)) as ShownCall[];
  }

  /** The user spoke: the model's next reply starts a new message. */
  endMessage(): void {
    this.#current = undefined;
    this.#stepOf.clear();
    // A stream carries one message; changes of the one before are not sent.
    this.changed.clear();
  }

  addUser(id: string, content: readonly Part[], replacedId: string): ShownMessage {
    // Pages treat messages with one id as the same, so the version before an edit gets another id.
    const edited = this.#userMessages.get(id);
    if (edited) edited.id = replacedId;
    const shown = { role: 'user' as const, id, content };
    this.#userMessages.set(id, shown);
    return shown;
  }

  /** A message of the model that was recorded as a whole, outside of any reply. */
  addAssistant(id: string, content: readonly Part[]): ShownMessage {
    const step: ShownPart[] = [];
    this.#complete(step, content);
    return { role: 'assistant', id, steps: [step] };
  }

  /** Adds a recorded reply. Text that was shown live is not repeated. */
  addReply(content: readonly Part[]): void {
    if (!this.#isLive) this.#beginStep();
    this.#isLive = false;
    this.#complete(this.#lastStep(), content);
  }

  /** Adds a chunk of a reply that the model is writing. `isKnownRef`: whether a ref was used before in the run. */
  addLive(chunk: Chunk, isKnownRef: (ref: string) => boolean): void {
    if (chunk.type !== 'text' && chunk.type !== 'reasoning' && chunk.type !== 'tool-input') return;
    if (!this.#isLive) this.#beginStep();
    this.#isLive = true;
    const step = this.#lastStep();
    if (chunk.type !== 'tool-input') {
      const part = this.#openText(step, chunk.type);
      return this.#addText(part, chunk.type === 'text' ? chunk.text : chunk.reasoning);
    }
    // A ref that was used before is replaced by one of ours, which only the record has.
    if (isKnownRef(chunk.ref)) return;
    this.#closeText(step);
    const id = toolCallIdAt([], chunk.ref);
    const call = this.#calls.get(id) ?? this.#add(shownCall(id, chunk.name, null, 'input-streaming'), step);
    call.inputText += chunk.delta;
    this.markChanged(call);
  }

  ensureCall(id: string, name: string, input: ShownCall['input']): ShownCall {
    if (!this.#current) this.#beginStep();
    return this.#calls.get(id) ?? this.#add(shownCall(id, name, input, 'input'), this.#lastStep());
  }

  change(call: ShownCall, change: Partial<Pick<ShownCall, 'input' | 'status' | 'approvalId'>>): void {
    Object.assign(call, change);
    this.markChanged(call);
  }

  markChanged(part: ShownPart): void {
    if (!this.changed.has(part)) this.changed.set(part, this.#stepOf.get(part) ?? -1);
  }

  #addText(part: ShownText, text: string): void {
    part.added = this.changed.has(part) ? part.added + text : text;
    part.text += text;
    this.markChanged(part);
  }

  #complete(step: ShownPart[], content: readonly Part[]): void {
    const shown = { text: textIn(step, 'text'), reasoning: textIn(step, 'reasoning') };
    const addText = (type: ShownText['type'], text: string) => {
      const known = knownLength(shown[type], text);
      shown[type] = shown[type].slice(known);
      if (known === text.length) return;
      const part = this.#openText(step, type);
      this.#addText(part, text.slice(known));
    };
    for (const part of content) {
      if ('text' in part) addText('text', part.text);
      else if ('reasoning' in part) addText('reasoning', part.reasoning);
      else if ('media' in part) this.#add(shownFile(part.media), step);
      else if (isToolRequest(part)) {
        const { ref, name, input } = part.toolRequest;
        this.#closeText(step);
        const id = toolCallIdAt([], ref);
        const call = this.#calls.get(id) ?? this.#add(shownCall(id, name, input, 'input'), step);
        this.change(call, { input, status: { state: 'input' } });
      }
    }
    this.#closeText(step);
    for (const part of step)
      if (part.type === 'tool' && part.status.state === 'input-streaming')
        this.change(part, { status: { state: 'error', text: 'The model did not complete this call.' } });
  }

  #beginStep(): void {
    if (!this.#current) {
      this.#current = { role: 'assistant', id: this.#newMessageId(), steps: [] };
      this.messages.push(this.#current);
    }
    this.#current.steps.push([]);
  }

  #lastStep(): ShownPart[] {
    return this.#current?.steps.at(-1) ?? [];
  }

  #openText(step: ShownPart[], type: ShownText['type']): ShownText {
    const last = step.at(-1);
    if (last?.type === type && !last.done) return last;
    return this.#add(
      { type, id: `${this.#current?.steps.length ?? 0}.${step.length}`, text: '', added: '', done: false },
      step,
    );
  }

  #closeText(step: readonly ShownPart[]): void {
    const last = step.at(-1);
    if (!last || last.type === 'file' || last.type === 'tool' || last.done) return;
    last.done = true;
    this.markChanged(last);
  }

  #add<P extends ShownPart>(part: P, step: ShownPart[]): P {
    this.#closeText(step);
    step.push(part);
    if (this.#current?.steps.at(-1) === step) this.#stepOf.set(part, this.#current.steps.length - 1);
    if (part.type === 'tool') this.#calls.set(part.id, part);
    this.markChanged(part);
    return part;
  }
}

function textIn(step: readonly ShownPart[], type: ShownText['type']): string {
  return step.map((part) => (part.type === type ? part.text : '')).join('');
}

/** How much of `text` was shown: all of it, everything that was shown, or nothing. */
function knownLength(shown: string, text: string): number {
  if (shown.startsWith(text)) return text.length;
  return text.startsWith(shown) ? shown.length : 0;
}
