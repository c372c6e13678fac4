// From filled template to messages: the text between marks, in its order.
import type { Message, Part, Role } from '../core/messages/message.ts';

/** A message, or the place where the template wants the history. */
export type Slot = Message | 'history';

export type Mark =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'role'; readonly role: Role }
  | { readonly type: 'history' }
  | { readonly type: 'media'; readonly url: string; readonly contentType?: string };

/** The rules are Dotprompt's: blank text is not a part, text after the history is the model's unless it names a role. */
export function slotsOf(marks: readonly Mark[], role: Role): readonly Slot[] {
  const slots: Slot[] = [];
  let current: { role: Role; content: Part[] } = { role, content: [] };

  function begin(role: Role): void {
    if (current.content.length > 0) slots.push({ role: current.role, content: trimmed(current.content) });
    current = { role, content: [] };
  }

  for (const mark of marks) {
    switch (mark.type) {
      case 'text':
        if (mark.text.trim() !== '') current.content.push({ text: mark.text });
        break;
      case 'media': {
        const { type: _type, ...media } = mark;
        current.content.push({ media });
        break;
      }
      case 'role':
        begin(mark.role);
        break;
      case 'history':
        begin('model');
        slots.push('history');
        break;
    }
  }
  begin(role);
  return slots;
}

/** Without the white space at both ends, which is there for the reader of the template. */
function trimmed(content: readonly Part[]): readonly Part[] {
  return content.map((part, index) => {
    if (!('text' in part)) return part;
    const text = index === 0 ? part.text.trimStart() : part.text;
    return { ...part, text: index === content.length - 1 ? text.trimEnd() : text };
  });
}
