// The recipe and the gate with version 7 of the AI SDK, and the `Chat` of its React package.
import { Chat } from '@ai-sdk/react';
import { gateChat } from './gate-chat.ts';
import { recipeChat } from './recipe-chat.ts';

recipeChat((options) => new Chat(options));
gateChat((options) => new Chat(options));
