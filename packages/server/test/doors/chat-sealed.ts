// The chat without a store: what goes out is sealed, and what comes back is checked.
import { chatDoor } from './chat.ts';
import { notApplicable } from './door.ts';

export const chatSealed = chatDoor('chat (sealed)', 'sealed', {
  replayed: notApplicable(
    'a seal has no memory, as docs/guides/securing-the-chat.md says: only a store makes a decision single-use',
  ),
  outdated: notApplicable('the server keeps no request that could change; a changed message is a forged one'),
  'after the end': notApplicable('the server keeps no run that could end; a seal ends by its time'),
  'two at once': notApplicable(
    'a seal has no memory, as docs/guides/securing-the-chat.md says: only a store makes a decision single-use',
  ),
  killed: notApplicable('the server keeps nothing that a restart could continue; what was posted is answered or lost'),
});
