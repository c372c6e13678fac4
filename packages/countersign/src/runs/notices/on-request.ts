// Hooks of a program, as a channel that gets every notice.
import type { NoticeType } from '../../core/request/notice.ts';
import type { Channel, Delivering, Notice } from './channel.ts';

/** Called with what happens to requests: at least once each, usually exactly once. An error is retried. */
export type RequestHooks = {
  readonly [Type in NoticeType]?: (notice: Notice, delivering: Delivering) => unknown;
};

export function hooksChannel(name: string, hooks: RequestHooks): Channel {
  return {
    name,
    all: true,
    async deliver(notice, delivering) {
      await hooks[notice.type]?.(notice, delivering);
    },
  };
}
