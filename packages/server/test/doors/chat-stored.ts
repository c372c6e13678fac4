// The chat with a store: the record is the truth, and the client sends only decisions.
import { chatDoor } from './chat.ts';

export const chatStored = chatDoor('chat (stored)', 'stored', undefined);
