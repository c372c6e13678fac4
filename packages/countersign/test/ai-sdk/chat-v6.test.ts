// The recipe and the gate with version 6 of the AI SDK, and its chat client without a framework.
import { vi } from 'vitest';
import { gateChat } from './gate-chat.ts';
import { PlainChat } from './plain-chat.ts';
import { recipeChat } from './recipe-chat.ts';

vi.mock('ai', () => import('ai-v6'));

recipeChat((options) => new PlainChat(options));
gateChat((options) => new PlainChat(options));
