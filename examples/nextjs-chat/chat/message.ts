// The message type of this app, inferred from its tools. Only types reach the browser.
import type { UIMessage } from 'ai';
import type { ChatDataParts, InferTools } from 'countersign/ui';
import type { createTools } from '../server/tools.ts';

export type AppTools = InferTools<ReturnType<typeof createTools>>;

export type AppMessage = UIMessage<unknown, ChatDataParts, AppTools>;
